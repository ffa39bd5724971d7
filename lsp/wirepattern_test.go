package lsp

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A pattern is JSON in which
//
//	"…"         is any value, and … in a text any piece of it
//	"$name"     binds a value when it is met first, and is that value from then on
//	{…}         is an object that may have more members; "!name" may not be there
//	["…", …]    is a list that holds these, and may hold more, in any order;
//	            without the "…" it holds these alone, in any order
//
// $ws is the URI of the folder, $root its path, $state, $config and $dir the URIs of
// the state, the user's configuration and what holds them all,
// "$servers" the configuration of the fake servers.

var variable = regexp.MustCompile(`\$[a-z][A-Za-z0-9]*`)

// fill puts bound values into a line: into a text, or in the place of one.
func (w *wire) fill(line string) string {
	line = regexp.MustCompile(`"\$[a-z][A-Za-z0-9]*"`).ReplaceAllStringFunc(line, func(quoted string) string {
		if v, ok := w.vars[quoted[2:len(quoted)-1]]; ok {
			return show(v)
		}
		return quoted
	})
	return variable.ReplaceAllStringFunc(line, func(name string) string {
		if v, ok := w.vars[name[1:]].(string); ok {
			quoted := show(v)
			return quoted[1 : len(quoted)-1]
		}
		return name
	})
}

// decode reads a pattern, with what is bound by now.
func (w *wire) decode(line string) (v any) {
	if err := json.Unmarshal([]byte(w.fill(line)), &v); err != nil {
		w.t.Fatalf("%s: %v", line, err)
	}
	return v
}

// matches binds what the pattern binds, if it matches.
func (w *wire) matches(want, got any) bool {
	bound := map[string]any{}
	if !matches(want, got, bound) {
		return false
	}
	maps.Copy(w.vars, bound)
	return true
}

func matches(want, got any, bound map[string]any) bool {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for key, w := range want {
			name, absent := strings.CutPrefix(key, "!")
			value, has := got[name]
			if absent == has || has && !matches(w, value, bound) {
				return false
			}
		}
		return true
	case []any:
		got, ok := got.([]any)
		return ok && matchesList(want, got, bound)
	case string:
		if name, ok := strings.CutPrefix(want, "$"); ok && variable.FindString(want) == want {
			if before, met := bound[name]; met {
				return show(before) == show(got)
			}
			bound[name] = got
			return true
		}
		text, ok := got.(string)
		return want == "…" || ok && glob(want, text)
	}
	return want == got
}

func matchesList(want, got []any, bound map[string]any) bool {
	rest, open := slices.Clone(got), false
	for _, w := range want { // the order of a batch's answers is free
		if w == "…" {
			open = true
			continue
		}
		i := slices.IndexFunc(rest, func(g any) bool {
			tried := maps.Clone(bound) // what does not match binds nothing
			if !matches(w, g, tried) {
				return false
			}
			maps.Copy(bound, tried)
			return true
		})
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return open || len(rest) == 0
}

// glob matches a text in which … is any piece.
func glob(want, text string) bool {
	parts := strings.Split(want, "…")
	if len(parts) == 1 {
		return want == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(text, first) || len(text) < len(first)+len(last) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

func show(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{`{"a":"…"}`, `{"a":5,"b":1}`, true},
		{`{"a":"…"}`, `{"b":1}`, false},
		{`{"!a":0,"b":1}`, `{"b":1}`, true},
		{`{"!a":0}`, `{"a":0}`, false},
		{`"a…c…e"`, `"abcde"`, true},
		{`"a…c…e"`, `"abde"`, false},
		{`"aa…aa"`, `"aaa"`, false},
		{`"…"`, `null`, true},
		{`[1,2]`, `[2,1]`, true},
		{`[1]`, `[2,1]`, false},
		{`["…",1]`, `[2,1]`, true},
		{`["…"]`, `[]`, true},
		{`["…",1,1]`, `[2,1]`, false},
		{`{"a":"$x","b":"$x"}`, `{"a":1,"b":1}`, true},
		{`{"a":"$x","b":"$x"}`, `{"a":1,"b":2}`, false},
		{`["…",{"a":"$x","b":2}]`, `[{"a":1,"b":1},{"a":2,"b":2}]`, true},
		{`null`, `null`, true},
		{`null`, `false`, false},
		{`{}`, `[]`, false},
	} {
		if got := matches(decodeAs[any](t, []byte(c.want)), decodeAs[any](t, []byte(c.got)), map[string]any{}); got != c.ok {
			t.Errorf("%s for %s: %v", c.want, c.got, got)
		}
	}
}
