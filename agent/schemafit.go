package agent

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// fitter mends the parts of one schema.
type fitter struct {
	root    map[string]any
	anchors map[string]any    // schemas by "#" and their $anchor, or by their $id
	defs    map[string]any    // what stands in $defs because a reference leads there
	moved   map[string]string // likewise: its name there, by the reference
	parts   int
}

func newFitter(root map[string]any) *fitter {
	f := &fitter{root: root, anchors: map[string]any{}, defs: map[string]any{}, moved: map[string]string{}}
	f.findAnchors(root, 0)
	return f
}

// findAnchors notes what references can name but by its place.
func (f *fitter) findAnchors(v any, level int) {
	if level > 2*maxSchemaLevel {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			f.findAnchors(item, level+1)
		}
	case map[string]any:
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := v[key].(string); ok {
				f.anchors["#"+name] = v
			}
		}
		if id, ok := v["$id"].(string); ok {
			f.anchors[strings.TrimSuffix(id, "#")] = v
		}
		for _, item := range v {
			f.findAnchors(item, level+1)
		}
	}
}

// top returns a copy of the root's keywords; a root that refers to a definition
// has those of it as well.
func (f *fitter) top() map[string]any {
	top := maps.Clone(f.root)
	for range 10 { // more would be a circle
		target, ok := f.target(top)
		if !ok {
			return top
		}
		for _, key := range refKeys {
			delete(top, key)
		}
		for key, value := range target {
			if _, has := top[key]; !has {
				top[key] = value
			}
		}
	}
	for _, key := range refKeys {
		delete(top, key)
	}
	return top
}

// refKeys are the keywords that refer. The dynamic ones count as plain: in a
// schema that stands alone they lead to the same place.
//
//nolint:gochecknoglobals // a constant table
var refKeys = []string{"$ref", "$dynamicRef", "$recursiveRef"}

// refOf is what a schema refers to.
func refOf(schema map[string]any) (ref string, ok bool) {
	for _, key := range refKeys {
		if ref, ok := schema[key].(string); ok {
			return ref, true
		}
	}
	return "", false
}

// target is the object that a schema refers to, within its document.
func (f *fitter) target(schema map[string]any) (map[string]any, bool) {
	ref, ok := refOf(schema)
	if !ok {
		return nil, false
	}
	v, ok := f.lookup(ref)
	m, isMap := v.(map[string]any)
	return m, ok && isMap
}

// lookup finds what a reference names within the document: by anchor, $id, or
// JSON pointer (RFC 6901).
func (f *fitter) lookup(ref string) (any, bool) {
	if v, ok := f.anchors[ref]; ok && ref != "#" {
		return v, true
	}
	base, fragment, _ := strings.Cut(ref, "#")
	var at any = f.root
	if base != "" {
		v, ok := f.anchors[base]
		if !ok {
			return nil, false
		}
		at = v
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, false
	}
	if fragment == "" {
		return at, true
	}
	if fragment[0] != '/' {
		v, ok := f.anchors["#"+fragment]
		return v, ok
	}
	for token := range strings.SplitSeq(fragment[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[token]
			if !ok {
				return nil, false
			}
			at = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// refer gives a reference as it can stand in the mended schema: to the root, or
// into $defs, where what it names is put. ok is false for one that leads
// nowhere, or out of the document.
func (f *fitter) refer(ref string) (string, bool) {
	if name, ok := f.moved[ref]; ok {
		return "#/$defs/" + name, true
	}
	v, ok := f.lookup(ref)
	if !ok {
		return "", false
	}
	if ref == "" || ref == "#" || strings.TrimSuffix(ref, "#") == f.root["$id"] {
		return "#", true
	}
	name := f.freeName(ref[strings.LastIndexAny(ref, "/#")+1:])
	f.moved[ref] = name // before it is looked into: it may refer to itself
	f.defs[name] = map[string]any{}
	f.defs[name] = f.clean(v, 1)
	return "#/$defs/" + name, true
}

// freeName makes of the end of a reference a name in $defs that no other has.
func (f *fitter) freeName(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	name = shorten(cleanName(name))
	free := name
	for i := 2; f.defs[free] != nil; i++ {
		free = fmt.Sprintf("%.60s_%d", name, i)
	}
	return free
}

// addDefinitions puts into a schema the definitions that are referred to.
func (f *fitter) addDefinitions(out map[string]any) {
	delete(out, "definitions")
	delete(out, "$defs")
	if len(f.defs) > 0 {
		out["$defs"] = f.defs
	}
}

// What the keywords of a schema hold. Others are passed on where they are plain.
//
//nolint:gochecknoglobals // constant tables
var (
	schemaKeys   = []string{"items", "contains", "not", "if", "then", "else", "propertyNames", "contentSchema", "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems"}
	schemaLists  = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	schemaMaps   = []string{"properties", "patternProperties", "dependentSchemas"}
	switchKeys   = []string{"additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems"} // true and false say it best
	droppedKeys  = []string{"$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$comment", "$vocabulary", "$defs", "definitions", "$ref", "$dynamicRef", "$recursiveRef"}
	schemaTypes  = []string{"null", "boolean", "object", "array", "number", "string", "integer"}
	listKeywords = []string{"required", "enum", "examples"}
	dataKeywords = []string{"type", "const", "default", "dependentRequired"} // beside lists: whatever stands there is no schema
)

// clean mends one schema and those in it. What is no schema takes anything.
func (f *fitter) clean(v any, level int) any {
	schema, ok := v.(map[string]any)
	if f.parts++; !ok || level > maxSchemaLevel || f.parts > maxSchemaParts {
		if v == false {
			return map[string]any{"not": map[string]any{}}
		}
		return map[string]any{}
	}
	out := make(map[string]any, len(schema))
	for key, value := range schema {
		words, isText := value.(string)
		switch {
		case slices.Contains(droppedKeys, key):
		case isText && (key == "description" || key == "title"):
			out[key] = visible(words)
		case hasNoParts(value) || takesParts(key):
			out[key] = value
		}
	}
	mendItems(out)
	for _, key := range schemaMaps {
		f.cleanMap(out, key, level)
	}
	for _, key := range schemaLists {
		if list, ok := out[key].([]any); ok && len(list) > 0 {
			out[key] = f.cleanList(list, level)
		} else {
			delete(out, key)
		}
	}
	for _, key := range schemaKeys {
		value, has := out[key]
		if _, isBool := value.(bool); has && !(isBool && slices.Contains(switchKeys, key)) {
			out[key] = f.clean(value, level+1)
		}
	}
	mendType(out)
	for _, key := range listKeywords {
		if list, ok := out[key].([]any); !ok || len(list) == 0 {
			delete(out, key)
		}
	}
	if ref, ok := refOf(schema); ok {
		f.cleanRef(out, ref)
	}
	return out
}

// hasNoParts reports whether a value has no parts, in which something could be taken
// for a schema.
func hasNoParts(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// takesParts reports whether the value of a keyword may have parts.
func takesParts(key string) bool {
	for _, keys := range [][]string{schemaKeys, schemaLists, schemaMaps, listKeywords, dataKeywords} {
		if slices.Contains(keys, key) {
			return true
		}
	}
	return false
}

func (f *fitter) cleanMap(out map[string]any, key string, level int) {
	given, ok := out[key].(map[string]any)
	if !ok {
		delete(out, key)
		return
	}
	fit := make(map[string]any, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) { // in one order: it decides the names in $defs
		fit[name] = f.clean(given[name], level+1)
	}
	out[key] = fit
}

func (f *fitter) cleanList(list []any, level int) []any {
	fit := make([]any, len(list))
	for i := range list {
		fit[i] = f.clean(list[i], level+1)
	}
	return fit
}

// cleanRef puts a reference into a schema, or says what it would have led to.
func (f *fitter) cleanRef(out map[string]any, ref string) {
	if to, ok := f.refer(ref); ok {
		out["$ref"] = to
		return
	}
	said, _ := out["description"].(string)
	out["description"] = strings.TrimSpace(said + " (defined by " + oneLine(ref, 200) + ", which is not read)")
}

// mendItems gives a list its items, which OpenAI wants, and writes a tuple of
// older drafts as 2020-12 has it.
func mendItems(out map[string]any) {
	if tuple, ok := out["items"].([]any); ok {
		delete(out, "items")
		if len(tuple) > 0 {
			out["prefixItems"] = tuple
			if rest, ok := out["additionalItems"]; ok {
				out["items"] = rest
			}
		}
		delete(out, "additionalItems")
	}
	is := out["type"] == "array"
	if list, ok := out["type"].([]any); ok {
		is = slices.Contains(list, any("array"))
	}
	if _, has := out["items"]; is && !has {
		out["items"] = map[string]any{}
	}
}

// mendType leaves types that there are: a text, or a list of several.
func mendType(out map[string]any) {
	known := func(v any) bool { s, ok := v.(string); return ok && slices.Contains(schemaTypes, s) }
	list, isList := out["type"].([]any)
	if isList {
		list = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return !known(v) })
	}
	switch {
	case isList && len(list) > 1:
		out["type"] = list
	case isList && len(list) == 1:
		out["type"] = list[0]
	case !known(out["type"]):
		delete(out, "type")
	}
}
