package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// emptySchema takes any object.
const emptySchema = `{"properties":{},"type":"object"}`

// fitSchema returns a server's inputSchema as providers take it: of type
// object, with properties, without $schema, and without the combinators at the
// top that OpenAI refuses, whose properties move up. Local definitions stay,
// so that references into them hold (github/copilot-cli#1876). A schema that
// cannot be mended takes any object.
func fitSchema(raw json.RawMessage) json.RawMessage {
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil || top == nil {
		return json.RawMessage(emptySchema)
	}
	g := gatherer{root: top, properties: map[string]json.RawMessage{}, left: 200}
	g.gather(top, true)
	for _, key := range []string{"$schema", "$id", "$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "then", "else"} {
		delete(top, key)
	}
	top["type"] = json.RawMessage(`"object"`)
	top["properties"] = marshal(g.properties)
	delete(top, "required")
	required := slices.DeleteFunc(g.required, func(name string) bool { _, ok := g.properties[name]; return !ok })
	if len(required) > 0 {
		slices.Sort(required)
		top["required"] = marshal(slices.Compact(required))
	}
	return marshal(top)
}

// gatherer collects what the parts of a schema say about an object.
type gatherer struct {
	root       map[string]json.RawMessage
	properties map[string]json.RawMessage
	required   []string
	left       int // parts still to be looked at: a definition may refer to itself
}

// gather takes the properties of a schema, of what it refers to and of its
// branches. What a branch of anyOf or oneOf requires is not always required.
func (g *gatherer) gather(schema map[string]json.RawMessage, always bool) {
	if g.left--; g.left < 0 {
		return
	}
	var own map[string]json.RawMessage
	_ = json.Unmarshal(schema["properties"], &own) // null, a list …: no properties
	for name, p := range own {
		if !bytes.HasPrefix(bytes.TrimSpace(p), []byte("{")) {
			p = json.RawMessage("{}") // true, null: anything
		}
		if _, ok := g.properties[name]; !ok {
			g.properties[name] = p
		}
	}
	var names []string
	if always && json.Unmarshal(schema["required"], &names) == nil {
		g.required = append(g.required, names...)
	}
	if target := deref(g.root, schema); target != nil {
		g.gather(target, always)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		var branches []map[string]json.RawMessage
		_ = json.Unmarshal(schema[key], &branches)
		for _, branch := range branches {
			g.gather(branch, always && key == "allOf")
		}
	}
}

// deref returns the local definition that a schema's $ref names, nil if none.
func deref(root, schema map[string]json.RawMessage) map[string]json.RawMessage {
	var ref string
	if json.Unmarshal(schema["$ref"], &ref) != nil {
		return nil
	}
	for _, holder := range []string{"$defs", "definitions"} {
		name, ok := strings.CutPrefix(ref, "#/"+holder+"/")
		if !ok {
			continue
		}
		var defs map[string]json.RawMessage
		_ = json.Unmarshal(root[holder], &defs)
		var target map[string]json.RawMessage
		_ = json.Unmarshal(defs[name], &target)
		return target
	}
	return nil
}

// marshal encodes what always can be, without escapes for HTML: it is for a
// model to read.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a value of our own that is no JSON
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
