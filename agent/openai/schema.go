package openai

import (
	"bytes"
	"encoding/json"
	"strings"
)

// anyObject is the schema of a tool that says nothing about its arguments.
const anyObject = `{"type":"object","properties":{}}`

// schema makes sure that a tool's parameters are an object schema with
// properties; without them some providers refuse the whole request.
func schema(raw json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return json.RawMessage(anyObject)
	}
	properties := isObject(m["properties"])
	if string(m["type"]) == `"object"` && properties {
		return raw
	}
	m["type"] = json.RawMessage(`"object"`)
	if !properties {
		m["properties"] = json.RawMessage(`{}`)
	}
	return encoded(m)
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }

func encoded(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(anyObject)
	}
	return out
}

// plainTools gives the tools of a request with schemas of the few words that
// every provider's grammar knows.
func plainTools(raw json.RawMessage) json.RawMessage {
	var tools []struct {
		Type     json.RawMessage            `json:"type"`
		Function map[string]json.RawMessage `json:"function"`
	}
	if json.Unmarshal(raw, &tools) != nil {
		return raw
	}
	for _, t := range tools {
		var root map[string]json.RawMessage
		_ = json.Unmarshal(t.Function["parameters"], &root) // no object: it says nothing
		p := plainer{root: root, left: maxParts}
		t.Function["parameters"] = schema(p.plain(t.Function["parameters"], 0))
	}
	return encoded(tools)
}

// The bounds of a plain schema: a definition may refer to itself.
const (
	maxParts = 500
	maxDepth = 10
)

// plainer takes out of a schema what some provider refuses: everything but
// types, descriptions, enumerations, properties, items and alternatives.
// References into the same document are replaced by what they mean.
type plainer struct {
	root map[string]json.RawMessage
	left int
}

// plain gives a part in plain words; {}, which takes anything, for one that
// has none.
func (p *plainer) plain(raw json.RawMessage, depth int) json.RawMessage {
	var in map[string]json.RawMessage
	if p.left--; p.left < 0 || depth > maxDepth || json.Unmarshal(raw, &in) != nil {
		return json.RawMessage(`{}`)
	}
	if target, ok := p.resolve(text(in["$ref"])); ok {
		return p.plain(target, depth+1)
	}
	out := map[string]json.RawMessage{}
	if t := plainType(in["type"]); t != nil {
		out["type"] = t
	}
	if d := text(in["description"]); d != "" {
		out["description"] = in["description"]
	}
	if values := list(in["enum"]); len(values) > 0 {
		out["enum"] = in["enum"]
	} else if value, ok := in["const"]; ok {
		out["enum"] = encoded([]json.RawMessage{value})
	}
	if isObject(in["properties"]) {
		p.properties(in, out, depth+1)
	}
	if isObject(in["items"]) {
		out["items"] = p.plain(in["items"], depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if ways := list(in[key]); len(ways) > 0 {
			for i := range ways {
				ways[i] = p.plain(ways[i], depth+1)
			}
			out["anyOf"] = encoded(ways)
		}
	}
	for _, part := range list(in["allOf"]) { // what one says first counts
		var more map[string]json.RawMessage
		_ = json.Unmarshal(p.plain(part, depth+1), &more) // our own
		for key, value := range more {
			if _, has := out[key]; !has {
				out[key] = value
			}
		}
	}
	return encoded(out)
}

// properties copies the properties, and which of them are required.
func (p *plainer) properties(in, out map[string]json.RawMessage, depth int) {
	var properties map[string]json.RawMessage
	if json.Unmarshal(in["properties"], &properties) != nil {
		return
	}
	for name, part := range properties {
		properties[name] = p.plain(part, depth)
	}
	out["properties"] = encoded(properties)
	var required []string
	for _, raw := range list(in["required"]) {
		if _, there := properties[text(raw)]; there {
			required = append(required, text(raw))
		}
	}
	if len(required) > 0 {
		out["required"] = encoded(required)
	}
}

// resolve follows a reference such as #/$defs/name.
func (p *plainer) resolve(ref string) (json.RawMessage, bool) {
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil, false
	}
	at := p.root
	steps := strings.Split(path, "/")
	for i, step := range steps {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next, there := at[step]
		if !there {
			return nil, false
		}
		if i == len(steps)-1 {
			return next, true
		}
		at = nil
		if json.Unmarshal(next, &at) != nil {
			return nil, false
		}
	}
	return nil, false
}

// plainType is a type that JSON Schema knows, or several.
func plainType(raw json.RawMessage) json.RawMessage {
	known := func(s string) bool {
		switch s {
		case "object", "array", "string", "number", "integer", "boolean", "null":
			return true
		}
		return false
	}
	if known(text(raw)) {
		return raw
	}
	types := list(raw)
	for _, t := range types {
		if !known(text(t)) {
			return nil
		}
	}
	if len(types) == 0 {
		return nil
	}
	return raw
}

// list is a JSON list, or none.
func list(raw json.RawMessage) (out []json.RawMessage) {
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}
