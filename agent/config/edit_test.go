package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

func TestEdited(t *testing.T) {
	for name, c := range map[string]struct{ before, path, after string }{
		"nothing":                 {"", "a.b", "{\n  \"a\": {\n    \"b\": \"v\"\n  }\n}\n"},
		"white space and a mark":  {"\ufeff \n", "a", "\ufeff{\n  \"a\": \"v\"\n}\n"},
		"an empty object":         {"{}", "a", "{\n  \"a\": \"v\"\n}"},
		"only comments":           {"{\n  // say more\n}\n", "a", "{\n  // say more\n  \"a\": \"v\"\n}\n"},
		"a comment on one line":   {"{/* x */}", "a", "{/* x */\n  \"a\": \"v\"\n}"},
		"replaced":                {"{\"a\": /* why */ \"old\" // because\n}", "a", "{\"a\": /* why */ \"v\" // because\n}"},
		"replaced, another type":  {"{\"a\": 5}", "a", "{\"a\": \"v\"}"},
		"replaced, null":          {"{\"a\": null}", "a", "{\"a\": \"v\"}"},
		"the last of two":         {`{"a": "x", "a": "y"}`, "a", `{"a": "x", "a": "v"}`},
		"behind the last":         {"{\n\t\"x\": 1\n}\n", "a.b", "{\n\t\"x\": 1,\n\t\"a\": {\n\t\t\"b\": \"v\"\n\t}\n}\n"},
		"a comment at the end":    {"{\n  \"x\": 1 // one\n}", "a", "{\n  \"x\": 1, // one\n  \"a\": \"v\"\n}"},
		"a trailing comma":        {"{\n  \"x\": 1, // one\n  // \"y\": 2\n}", "a", "{\n  \"x\": 1, // one\n  // \"y\": 2\n  \"a\": \"v\",\n}"},
		"a comment in the middle": {"{\n  \"x\": 1 /* a */, /* b */ }", "a", "{\n  \"x\": 1 /* a */, /* b */\n  \"a\": \"v\", \n}"},
		"one line":                {`{"x": {"y": 1}}`, "x.a.b", `{"x": {"y": 1, "a": {"b": "v"}}}`},
		"one line, comma":         {`{"x": 1,}`, "a", `{"x": 1, "a": "v",}`},
		"line ends of Windows":    {"{\r\n    \"x\": {\r\n        \"y\": 1\r\n    }\r\n}\r\n", "x.a", "{\r\n    \"x\": {\r\n        \"y\": 1,\r\n        \"a\": \"v\"\r\n    }\r\n}\r\n"},
		"an object set to null":   {"{\n  \"a\": null\n}", "a.b", "{\n  \"a\": {\n    \"b\": \"v\"\n  }\n}"},
		"a spelled-out key":       {`{"\u0061": "x"}`, "a", `{"\u0061": "v"}`},
		"an empty one below":      {"{\n  \"a\": {}\n}", "a.b", "{\n  \"a\": {\n    \"b\": \"v\"\n  }\n}"},
	} {
		got, err := edited("f", []byte(c.before), strings.Split(c.path, "."), "v")
		if err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%q, want\n%q", name, err, got, c.after)
		}
	}
	for before, want := range map[string]string{
		"{\n  \"a\": [1,\n}":     "f:3:1: is no JSON",
		`{"a": "text"}`:          "f:1:7: a: must be an object, not a text",
		`["a"]`:                  "must be an object, not a list",
		`{"a": {"b": {}}}`:       "f:1:13: a.b: must be a text, not an object",
		"// all of it\n":         "is no JSON",
		strings.Repeat("[", 500): "nested deeper",
	} {
		got, err := edited("f", []byte(before), []string{"a", "b"}, "v")
		if e, ok := errors.AsType[*FileError](err); !ok || got != nil || !strings.Contains(e.Error(), want) {
			t.Errorf("%q: %v, want %q", before, err, want)
		}
	}
	_, err := edited("f", []byte("{\n \"a\": [1,\n}"), []string{"b"}, "v")
	if e, ok := errors.AsType[*FileError](err); !ok || e.Problem.Line != 3 {
		t.Errorf("the place of the fault: %+v", err)
	}
}

// FuzzEdited: whatever a document holds, a member that is set can be read, and
// every byte of the document is still there, in order.
func FuzzEdited(f *testing.F) {
	for _, s := range []string{
		"", "{}", "{\n}", "{// a\n}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":\"x\",},/**/}", "\ufeff{\"x\":[{}]}", "{\r\n\t\"x\": 1 // c\r\n}", "{\"a\":null}", "null", " /* x */ {\"a\" : {\n} } // end",
		"{\"a\": {\"c\": 1} /* */ , // x\n}", "{\"a\":{\"b\":\"x\"},\"a\":{}}",
	} {
		f.Add([]byte(s))
	}
	path := []string{"a", "b"}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := edited("f", text, path, "value // \" \u2028")
		if err != nil {
			if _, ok := errors.AsType[*FileError](err); !ok {
				t.Fatal(err)
			}
			return
		}
		d := &document{problem: func(p Problem) { t.Fatalf("%q became %q: %v", text, got, p) }}
		root, _ := d.parse(got)
		a, _ := root.member("a")
		b, ok := a.member("b")
		if s, isText := b.text(); !ok || !isText || s != "value // \" \u2028" {
			t.Fatalf("%q became %q", text, got)
		}
		old, replaced := part(t, text, path)
		switch rest := got; {
		case replaced: // the same but for the value
			from, to := old.StartOffset, old.EndOffset
			if body := bytes.TrimPrefix(text, bom); !bytes.HasPrefix(bytes.TrimPrefix(got, bom), body[:from]) || !bytes.HasSuffix(got, body[to:]) {
				t.Fatalf("%q became %q", text, got)
			}
		default:
			for i, c := range bytes.TrimSpace(text) {
				at := bytes.IndexByte(rest, c)
				if at < 0 {
					t.Fatalf("%q became %q: byte %d is lost", text, got, i)
				}
				rest = rest[at+1:]
			}
		}
		if before, after := others(t, text), others(t, got); !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q: other members changed: %v, %v", text, got, before, after)
		}
		again, err := edited("f", got, path, "value // \" \u2028")
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("the same once more: %v\n%q\n%q", err, got, again)
		}
	})
}

// part is the value that stands at a path, or a null on the way to it.
func part(t *testing.T, text []byte, path []string) (*hujson.Value, bool) {
	t.Helper()
	d := &document{problem: func(Problem) {}}
	n, ok := d.parse(text)
	if !ok {
		return nil, false // blank
	}
	for _, key := range path {
		if n.value.Value.Kind() != '{' {
			break
		}
		if n, ok = n.member(key); !ok {
			return nil, false
		}
	}
	return n.value, true
}

// others is what a document says beside a.b.
func others(t *testing.T, text []byte) map[string]any {
	t.Helper()
	all := map[string]any{}
	if text = bytes.TrimPrefix(text, bom); len(bytes.TrimSpace(text)) > 0 {
		plain, err := hujson.Standardize(bytes.Clone(text))
		if err == nil {
			err = json.Unmarshal(plain, &all)
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	if all == nil { // it was null
		return map[string]any{}
	}
	if a, ok := all["a"].(map[string]any); ok {
		if delete(a, "b"); len(a) > 0 {
			return all
		}
	}
	delete(all, "a")
	return all
}
