package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// emptySchema takes any object.
const emptySchema = `{"properties":{},"type":"object"}`

// Bounds on a schema as a model gets it.
const (
	maxSchemaText  = 32 << 10 // bytes; it is shortened beyond
	maxSchemaRead  = 1 << 20  // bytes of a server's
	maxSchemaLevel = 40       // schemas in each other
	maxSchemaParts = 2000     // schemas that are looked at in one
	maxRuleText    = 400      // bytes, of what is told in words
)

// combinators are the keywords that providers refuse at the top of a schema, or
// may: OpenAI oneOf, anyOf, allOf, enum and not.
//
//nolint:gochecknoglobals // a constant table
var combinators = []string{"allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "then", "else", "dependentSchemas"}

// fitted is a server's inputSchema as providers take it.
type fitted struct {
	schema json.RawMessage
	rule   string            // what the tool's description has to say beside
	names  map[string]string // the server's names of the arguments that are called otherwise in schema; nil: none is
}

// fitSchema mends a server's inputSchema. It is of type object with properties,
// and its combinators, of which there may be none at the top, move their
// properties up; what of them is lost is said in words. Local references stay,
// or lead to $defs (github/copilot-cli#1876); nothing is fetched. A schema that
// cannot be mended takes any object: arguments are held against the server's
// own schema in any case, by [mcp.Manager.CheckArguments].
func fitSchema(raw json.RawMessage) fitted {
	root, ok := readSchema(raw)
	if !ok {
		return fitted{schema: json.RawMessage(emptySchema)}
	}
	f := newFitter(root)
	top := f.top()
	g := gatherer{f: f, base: map[string][]any{}, other: map[string][]any{}}
	g.gather(top, true)
	fit := fitted{rule: ruleOf(top)}
	for _, key := range combinators {
		delete(top, key)
	}
	properties := g.properties()
	fit.names = rename(properties, g.required)
	top["properties"], top["type"] = properties, "object"
	out := f.clean(top, 0).(map[string]any) // what was a map stays one
	delete(out, "required")
	delete(out, "$ref") // to what is no schema
	required := slices.DeleteFunc(g.required, func(name string) bool { _, ok := properties[name]; return !ok })
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = slices.Compact(required)
	}
	f.addDefinitions(out)
	if f.parts > maxSchemaParts {
		out["description"] = "Shortened by agentls: the whole schema has too many parts. An error says what does not fit."
	}
	fit.schema = shortened(out)
	return fit
}

// rename gives arguments names that Anthropic takes, which refuses the whole
// request for a $filter of OData.
func rename(properties map[string]any, required []string) (names map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if validArgument(name) {
			continue
		}
		clean := shorten(cleanName(name))
		for i := 2; properties[clean] != nil; i++ {
			clean = fmt.Sprintf("%.60s_%d", shorten(cleanName(name)), i)
		}
		properties[clean] = properties[name]
		delete(properties, name)
		if names == nil {
			names = map[string]string{}
		}
		names[clean] = name
		for i := range required {
			if required[i] == name {
				required[i] = clean
			}
		}
	}
	return names
}

func validArgument(name string) bool { return validName(strings.ReplaceAll(name, ".", "_")) }

// readSchema decodes a schema that is an object; numbers stay as they are.
func readSchema(raw json.RawMessage) (root map[string]any, ok bool) {
	if len(raw) > maxSchemaRead {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return root, d.Decode(&root) == nil && root != nil
}

// ruleOf words what the combinators of a schema ask beyond the properties that
// move up; "" for nothing.
func ruleOf(top map[string]any) string {
	rule := map[string]any{}
	for _, key := range combinators {
		v, ok := top[key]
		if list, isList := v.([]any); key == "allOf" && isList && !slices.ContainsFunc(list, asksMore) {
			continue
		}
		if ok {
			rule[key] = bare(v, 0)
		}
	}
	if len(rule) == 0 {
		return ""
	}
	if text := marshal(rule); len(text) <= maxRuleText {
		return "The arguments must also match this JSON Schema: " + string(text)
	}
	return "Not all combinations of the arguments are taken: an error says which are."
}

// asksMore reports whether a part of allOf asks for more than moves up.
func asksMore(part any) bool {
	m, ok := part.(map[string]any)
	for key := range m {
		if !slices.Contains([]string{"properties", "required", "type", "title", "description", "$ref", "additionalProperties"}, key) {
			return true
		}
	}
	return !ok
}

// bare leaves out of a schema what is told elsewhere: words for people, and
// types of properties.
func bare(v any, level int) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = bare(v[i], level+1)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if _, text := value.(string); text && (key == "title" || key == "description" || key == "type" || key == "format") {
				continue
			}
			if level < maxSchemaLevel {
				out[key] = bare(value, level+1)
			}
		}
		if p, ok := out["properties"].(map[string]any); ok {
			maps.DeleteFunc(p, func(_ string, v any) bool { m, ok := v.(map[string]any); return ok && len(m) == 0 })
			if len(p) == 0 {
				delete(out, "properties")
			}
		}
		return out
	}
	return v
}

// gatherer collects what the parts of a schema say about an object.
type gatherer struct {
	f           *fitter
	base, other map[string][]any // properties by name: what always counts of them, and what may
	required    []string
	parts       int // that were looked at: a definition may refer to itself
}

// gather takes the properties of a schema, of what it refers to and of its
// branches. What one branch of several requires is not always required.
func (g *gatherer) gather(schema map[string]any, always bool) {
	if g.parts++; g.parts > maxSchemaParts/10 {
		return
	}
	own, _ := schema["properties"].(map[string]any) // null, a list …: no properties
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if always {
			g.base[name] = appendNew(g.base[name], own[name])
		} else {
			g.other[name] = appendNew(g.other[name], own[name])
		}
		if p, ok := own[name].(map[string]any); ok && always && p["required"] == true { // as in draft 3
			g.required = append(g.required, name)
		}
	}
	if always {
		g.required = append(g.required, stringsOf(schema["required"])...)
	}
	if target, ok := g.f.target(schema); ok {
		g.gather(target, always)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		for _, branch := range list {
			if b, ok := branch.(map[string]any); ok {
				g.gather(b, always && (key == "allOf" || len(list) == 1))
			}
		}
	}
	for _, key := range []string{"then", "else"} {
		if b, ok := schema[key].(map[string]any); ok {
			g.gather(b, false)
		}
	}
	dependent, _ := schema["dependentSchemas"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(dependent)) {
		if b, ok := dependent[name].(map[string]any); ok {
			g.gather(b, false)
		}
	}
}

// properties puts together what was gathered of each: all that always counts,
// else one of what may.
func (g *gatherer) properties() map[string]any {
	out := map[string]any{}
	for name, all := range g.base {
		out[name] = together("allOf", all)
	}
	for name, some := range g.other {
		if _, ok := out[name]; !ok {
			out[name] = together("anyOf", some)
		}
	}
	return out
}

func together(key string, schemas []any) any {
	if len(schemas) == 1 {
		return schemas[0]
	}
	return map[string]any{key: schemas}
}

func appendNew(list []any, v any) []any {
	if slices.ContainsFunc(list, func(o any) bool { return reflect.DeepEqual(o, v) }) {
		return list
	}
	return append(list, v)
}

func stringsOf(v any) (out []string) {
	list, _ := v.([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
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
