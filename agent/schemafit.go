package agent

import (
	"maps"
	"slices"
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
		case isText && key != "const" && key != "default" && key != "pattern":
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
