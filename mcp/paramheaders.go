package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// paramSchema is what x-mcp-header needs of a schema (2026-07-28, transports,
// "Custom Headers from Tool Parameters").
type paramSchema struct {
	Type       json.RawMessage         `json:"type,omitempty"`
	Header     json.RawMessage         `json:"x-mcp-header,omitempty"`
	Properties map[string]*paramSchema `json:"properties,omitempty"`
}

// paramHeaders looks in a page of tools/list for parameters that have to be
// sent as headers as well. It returns the page without the tools that name
// them wrongly, which must not be used over HTTP, and what mcp-go needs to
// know to send the headers: nothing else, or its decoder loses the page. had
// holds the tools that it knows headers of, because it forgets none by itself.
func paramHeaders(page json.RawMessage, had map[string]bool, problem func(string)) (rest, forClient json.RawMessage) {
	type tool struct {
		Name   string       `json:"name"`
		Schema *paramSchema `json:"inputSchema"`
	}
	known, kept, dropped := []tool{}, []json.RawMessage{}, false
	items, _, _ := parsePage(page, "tools")
	for _, item := range items {
		var t tool
		named := bytes.Contains(item, []byte("x-mcp-header"))
		if !named && len(had) == 0 || json.Unmarshal(item, &t) != nil || t.Schema == nil || !named && !had[t.Name] {
			kept = append(kept, item)
			continue
		}
		t.Schema.Type = json.RawMessage(`"object"`)
		schema, err := json.Marshal(t.Schema)
		if err == nil {
			err = mcpgo.ValidateParamHeaderAnnotations(&mcpgo.Tool{Name: t.Name, RawInputSchema: schema})
		}
		if err != nil {
			dropped = true
			problem(fmt.Sprintf("the tool %q is left out: it names headers wrongly: %v", clip(t.Name, 100), err))
			continue
		}
		had[t.Name] = true
		known, kept = append(known, t), append(kept, item)
	}
	rest = page
	var fields map[string]json.RawMessage
	if dropped && json.Unmarshal(page, &fields) == nil {
		fields["tools"], _ = json.Marshal(kept)
		rest, _ = json.Marshal(fields)
	}
	forClient, err := json.Marshal(map[string]any{"tools": known})
	if err != nil {
		forClient = json.RawMessage(`{}`)
	}
	return rest, forClient
}
