package main

import (
	"context"
	"encoding/json"
	"strings"

	"agentls/mcp"
)

// answer is the person: one who agrees to whatever the suite's server asks.
func (h *host) answer(ctx context.Context, r mcp.Request) {
	switch {
	case r.Kind == mcp.RequestLogin:
		h.open(ctx, r)
	case r.Kind == mcp.RequestElicit && r.Elicit.Mode == "form":
		content, err := filledIn(r.Elicit.Schema)
		h.tolerate(err)
		r.Reply(mcp.RequestAnswer{Accept: err == nil, Content: content})
	default:
		r.Reply(mcp.RequestAnswer{})
	}
}

// property is one field of a form (2025-11-25, elicitation, "Requested Schema").
type property struct {
	Type    string          `json:"type"`
	Default json.RawMessage `json:"default"`
	Enum    json.RawMessage `json:"enum"`
	OneOf   json.RawMessage `json:"oneOf"`
	Minimum json.RawMessage `json:"minimum"`
	Least   int             `json:"minLength"`
}

// filledIn fills in a form as a person does who leaves the defaults as they
// are and gives what has to be given.
func filledIn(schema json.RawMessage) (json.RawMessage, error) {
	var form struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return nil, err
	}
	content := map[string]json.RawMessage{}
	for name, p := range form.Properties {
		if p.Default != nil {
			content[name] = p.Default
		}
	}
	for _, name := range form.Required {
		if content[name] == nil {
			content[name] = form.Properties[name].least()
		}
	}
	return json.Marshal(content)
}

// least is a value that a field takes.
func (p property) least() json.RawMessage {
	var choices []json.RawMessage
	var titled []struct{ Const json.RawMessage }
	switch {
	case json.Unmarshal(p.Enum, &choices) == nil && len(choices) > 0:
		return choices[0]
	case json.Unmarshal(p.OneOf, &titled) == nil && len(titled) > 0:
		return titled[0].Const
	}
	switch p.Type {
	case "boolean":
		return json.RawMessage("true")
	case "integer", "number":
		if p.Minimum != nil {
			return p.Minimum
		}
		return json.RawMessage("1")
	case "array":
		return json.RawMessage("[]")
	}
	text, _ := json.Marshal(strings.Repeat("x", max(1, p.Least)))
	return text
}
