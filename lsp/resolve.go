package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"agentls/mcp"
)

// prepareResolve documents a completion item, from the cache. Whatever the
// client sent comes back, also what we do not know.
func prepareResolve(s *Server, _ context.Context, params []byte) (func(context.Context) (any, error), error) {
	var item map[string]json.RawMessage
	if err := json.Unmarshal(params, &item); err != nil || item == nil {
		return nil, &paramsError{"params must be a completion item"}
	}
	return func(context.Context) (any, error) {
		var data resolvable
		if json.Unmarshal(item["data"], &data) != nil || data.Server == "" {
			return json.RawMessage(params), nil //nolint:nilerr // an item of somebody else
		}
		list, err := s.o.Manager.Resources(data.Server)
		if err != nil {
			return json.RawMessage(params), nil //nolint:nilerr // the server is gone, the item is still right
		}
		for _, r := range list.Resources {
			if r.URI != data.URI {
				continue
			}
			doc, err := protocol.Marshal(&protocol.MarkupContent{Kind: protocol.MarkupKindPlainText, Value: describeResource(r, list.Stale)})
			if err != nil {
				return nil, err
			}
			item["documentation"] = doc
		}
		return item, nil
	}, nil
}

// describeResource says what is known of a resource without reading it.
func describeResource(r mcp.Resource, stale bool) string {
	var parts []string
	if r.MIMEType != "" {
		parts = append(parts, clean(r.MIMEType))
	}
	if r.Size != nil {
		parts = append(parts, byteCount(*r.Size))
	}
	if r.Modified != "" {
		parts = append(parts, "modified "+clean(r.Modified))
	}
	if r.Stale || stale {
		parts = append(parts, "changed since it was listed")
	}
	text := clean(r.URI)
	if len(parts) > 0 {
		text += "\n" + strings.Join(parts, " · ")
	}
	if r.Description != "" {
		text += "\n\n" + clean(r.Description)
	}
	return text
}

func byteCount(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
