package agent

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
)

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

// cleanRef puts a reference into a schema, or says what it would have led to.
func (f *fitter) cleanRef(out map[string]any, ref string) {
	if to, ok := f.refer(ref); ok {
		out["$ref"] = to
		return
	}
	said, _ := out["description"].(string)
	out["description"] = strings.TrimSpace(said + " (defined by " + oneLine(ref, 200) + ", which is not read)")
}
