package lsp

import (
	"context"
	"encoding/json"

	"go.lsp.dev/protocol"
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
		r, stale, ok := s.o.Manager.Resource(data.Server, data.URI)
		if !ok {
			return json.RawMessage(params), nil // it is gone, the item is still right
		}
		m := newMarkup(s.peer.documentationFormat())
		s.describe(m, r, stale, -1)
		doc, err := protocol.Marshal(m.content())
		if err != nil {
			return nil, err
		}
		item["documentation"] = doc
		return item, nil
	}, nil
}

// documentationFormat is what the client takes in a completion's popup.
func (p peer) documentationFormat() []protocol.MarkupKind {
	if item := p.completion().CompletionItem; item != nil {
		return item.DocumentationFormat
	}
	return nil
}
