package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// editor-code-assistant/eca#340, github/copilot-cli#1876, open-webui/computer#87
func TestFitSchema(t *testing.T) {
	const must = "The arguments must also match this JSON Schema: "
	for _, c := range []struct{ name, in, want, rule string }{
		{
			"as given", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false,"description":"d"}`,
			`{"additionalProperties":false,"description":"d","properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, "",
		},
		{"nothing", ``, emptySchema, ""},
		{"null", `null`, emptySchema, ""},
		{"list", `[]`, emptySchema, ""},
		{"broken", `{"type"`, emptySchema, ""},
		{"empty type", `{"type":""}`, emptySchema, ""},
		{"type list", `{"type":["object","null"],"properties":null,"required":null}`, emptySchema, ""},
		{"properties list", `{"type":"object","properties":[]}`, emptySchema, ""},
		{
			"$schema goes, $defs stay", `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x","type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`,
			`{"$defs":{"A":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/A"}},"type":"object"}`, "",
		},
		{"required that is not there", `{"type":"object","properties":{"a":{}},"required":["b","a","a"]}`, `{"properties":{"a":{}},"required":["a"],"type":"object"}`, ""},
		{"boolean schemas", `{"properties":{"a":true,"b":null,"c":false,"d":{"type":"object","additionalProperties":true}}}`, `{"properties":{"a":{},"b":{},"c":{"not":{}},"d":{"additionalProperties":true,"type":"object"}},"type":"object"}`, ""},
		{
			"anyOf at the top", `{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}}}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`, must + `{"anyOf":[{"required":["a"]},{}]}`,
		},
		{
			"one of two is required", `{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"properties":{"a":{},"b":{}},"type":"object"}`, must + `{"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
		},
		{
			"a discriminated union", `{"oneOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"]},{"properties":{"kind":{"const":"b"}},"required":["kind"]}]}`,
			`{"properties":{"kind":{"anyOf":[{"const":"a"},{"const":"b"}]},"x":{"type":"integer"}},"type":"object"}`,
			must + `{"oneOf":[{"properties":{"kind":{"const":"a"}},"required":["kind","x"]},{"properties":{"kind":{"const":"b"}},"required":["kind"]}]}`,
		},
		{
			"if, then, else", `{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]},"then":{"required":["b"],"properties":{"b":{"type":"integer"}}}}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"type":"object"}`, must + `{"if":{"required":["a"]},"then":{"required":["b"]}}`,
		},
		{
			"a rule that is too long to tell", `{"type":"object","anyOf":[` + strings.Repeat(`{"required":["abcdefghijklmnopqrstuvwxyz"]},`, 20) + `{}]}`,
			emptySchema, "Not all combinations of the arguments are taken: an error says which are.",
		},
		{
			"allOf with a reference", `{"allOf":[{"$ref":"#/definitions/A"},{"required":["a"]}],"definitions":{"A":{"properties":{"a":{"type":"string"}}}}}`,
			`{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, "",
		},
		{
			"allOf says more of a property", `{"properties":{"a":{"type":"string"}},"allOf":[{"properties":{"a":{"maxLength":3}}}]}`,
			`{"properties":{"a":{"allOf":[{"type":"string"},{"maxLength":3}]}},"type":"object"}`, "",
		},
		{
			"nested combinators stay", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"not":{"const":""}}}}`,
			`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"not":{"const":""}}},"type":"object"}`, "",
		},
		{"HTML stays", `{"type":"object","properties":{"a":{"description":"<b> & c"}}}`, `{"properties":{"a":{"description":"<b> & c"}},"type":"object"}`, ""},
		{
			"what nobody sees", `{"properties":{"a":{"description":"An\u200b a\udb40\udc41\u202e","title":"\u0007A","x-note":"b\udb40\udd01\u3164","enum":["\u200b"],"default":"\u200b"}}}`,
			"{\"properties\":{\"a\":{\"default\":\"\u200b\",\"description\":\"An a\",\"enum\":[\"\u200b\"],\"title\":\"A\",\"x-note\":\"b\"}},\"type\":\"object\"}", "",
		},
		{"numbers stay", `{"properties":{"a":{"maximum":9007199254740993,"minimum":1e400}}}`, `{"properties":{"a":{"maximum":9007199254740993,"minimum":1e400}},"type":"object"}`, ""},
		{
			"a reference into properties", `{"properties":{"a":{"type":"object","properties":{"x":{"type":"string"}}},"b":{"$ref":"#/properties/a/properties/x"}}}`,
			`{"$defs":{"x":{"type":"string"}},"properties":{"a":{"properties":{"x":{"type":"string"}},"type":"object"},"b":{"$ref":"#/$defs/x"}},"type":"object"}`, "",
		},
		{
			"a reference into a branch", `{"oneOf":[{"properties":{"a":{"$ref":"#/oneOf/0/$defs/b~1c"}},"$defs":{"b/c":{"type":"string"}}}]}`,
			`{"$defs":{"b_1c":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/b_1c"}},"type":"object"}`, must + `{"oneOf":[{"$defs":{"b/c":{}},"properties":{"a":{"$ref":"#/oneOf/0/$defs/b~1c"}}}]}`,
		},
		{
			"a recursive definition", `{"properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"properties":{"next":{"$ref":"#/$defs/N"}}},"unused":{}}}`,
			`{"$defs":{"N":{"properties":{"next":{"$ref":"#/$defs/N"}}}},"properties":{"n":{"$ref":"#/$defs/N"}},"type":"object"}`, "",
		},
		{"a recursive root", `{"properties":{"next":{"$ref":"#"}}}`, `{"properties":{"next":{"$ref":"#"}},"type":"object"}`, ""},
		{"a root that is its own reference", `{"$ref":"#","properties":{"a":{}}}`, `{"properties":{"a":{}},"type":"object"}`, ""},
		{
			"a root that refers to a definition", `{"$ref":"#/definitions/A","definitions":{"A":{"type":"object","properties":{"a":{"$ref":"#/definitions/B"}},"required":["a"]},"B":{"type":"integer"}}}`,
			`{"$defs":{"B":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/B"}},"required":["a"],"type":"object"}`, "",
		},
		{
			"anchors and ids", `{"$id":"https://e.x/s","properties":{"a":{"$ref":"#one"},"b":{"$ref":"https://e.x/s#/$defs/T"},"c":{"$dynamicRef":"#two"},"d":{"$ref":"https://e.x/other"}},"$defs":{"O":{"$anchor":"one","type":"string"},"T":{"$dynamicAnchor":"two","type":"integer"},"X":{"$id":"https://e.x/other","type":"null"}}}`,
			`{"$defs":{"T":{"type":"integer"},"one":{"type":"string"},"other":{"type":"null"},"two":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/one"},"b":{"$ref":"#/$defs/T"},"c":{"$ref":"#/$defs/two"},"d":{"$ref":"#/$defs/other"}},"type":"object"}`, "",
		},
		{
			"references that are not followed", `{"properties":{"a":{"$ref":"https://example.com/s.json","description":"An a"},"b":{"$ref":"#/$defs/none"},"c":{"$ref":"file:///etc/passwd"}}}`,
			`{"properties":{"a":{"description":"An a (defined by https://example.com/s.json, which is not read)"},"b":{"description":"(defined by #/$defs/none, which is not read)"},"c":{"description":"(defined by file:///etc/passwd, which is not read)"}},"type":"object"}`, "",
		},
		{
			"a root of the network", `{"$ref":"https://example.com/s.json"}`,
			`{"description":"(defined by https://example.com/s.json, which is not read)","properties":{},"type":"object"}`, "",
		},
		{
			"odd types", `{"properties":{"a":{"type":[]},"b":{"type":"any"},"c":{"type":["string"]},"d":{"type":["string","null","x"]},"e":{"type":5}}}`,
			`{"properties":{"a":{},"b":{},"c":{"type":"string"},"d":{"type":["string","null"]},"e":{}},"type":"object"}`, "",
		},
		{
			"lists without items, tuples", `{"properties":{"a":{"type":"array"},"b":{"type":"array","items":[{"type":"string"},true],"additionalItems":false},"c":{"type":["array","null"]},"d":{"type":"array","items":true}}}`,
			`{"properties":{"a":{"items":{},"type":"array"},"b":{"items":{"not":{}},"prefixItems":[{"type":"string"},{}],"type":"array"},"c":{"items":{},"type":["array","null"]},"d":{"items":{},"type":"array"}},"type":"object"}`, "",
		},
		{
			"odd keywords", `{"properties":{"a":{"enum":[],"required":true,"anyOf":[]},"$schema":{"type":"string"},"id":{"$comment":"x","nullable":true}},"x-y":1}`,
			`{"properties":{"_schema":{"type":"string"},"a":{},"id":{"nullable":true}},"required":["a"],"type":"object","x-y":1}`, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := fitSchema(json.RawMessage(c.in))
			if string(got.schema) != c.want || got.rule != c.rule {
				t.Errorf("got  %s %q\nwant %s %q", got.schema, got.rule, c.want, c.rule)
			}
		})
	}
}

// Names of arguments that a provider refuses lead back to the server's.
func TestNamesOfArguments(t *testing.T) {
	fit := fitSchema(json.RawMessage(`{"properties":{"$filter":{"type":"string"},"_filter":{},"ä":{},"ok.1-2":{},"$ref":{}},"required":["$filter","ok.1-2"]}`))
	if want := `{"properties":{"_":{},"_filter":{},"_filter_2":{"type":"string"},"_ref":{},"ok.1-2":{}},"required":["_filter_2","ok.1-2"],"type":"object"}`; string(fit.schema) != want {
		t.Errorf("got  %s\nwant %s", fit.schema, want)
	}
	one := &tool{schema: fit.schema, names: fit.names, definition: "d", check: func(json.RawMessage) error { return nil }}
	for given, want := range map[string]string{
		`{"_filter_2":"x","_filter":1,"ok.1-2":2}`: `{"$filter":"x","_filter":1,"ok.1-2":2}`,
		`{"$filter":"x"}`:                          `{"$filter":"x"}`,
		`{"$filter":"x","_filter_2":"y","_":null}`: `{"$filter":"x","_filter_2":"y","ä":null}`,
	} {
		if got, err := one.arguments(given); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v", given, got, err)
		}
	}
}

// A schema that would crowd out other tools is shortened, and says so.
func TestFitSchemaIsShort(t *testing.T) {
	var words, deep strings.Builder
	for i := range 300 {
		fmt.Fprintf(&words, `"p%d":{"type":"object","properties":{"x":{"type":"string","description":%q}}},`, i, strings.Repeat("d", 300))
		fmt.Fprintf(&deep, `"p%d":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{%s"c":{}}}}}}},`, i, strings.Repeat(`"cccccccc":{},`, 20))
	}
	for name, in := range map[string]string{"words": words.String(), "deep": deep.String(), "wide": strings.Repeat(words.String(), 3), "nested": strings.Repeat(`"n":{"properties":{`, 500) + `"n":{}` + strings.Repeat("}}", 500) + ","} {
		got := fitSchema(json.RawMessage(`{"type":"object","properties":{` + in + `"pattern":{"default":"x"},"last":{"type":"string"}}}`)).schema
		if len(got) > maxSchemaText || !json.Valid(got) || !strings.Contains(string(got), `"last":{"type":"string"}`) {
			t.Errorf("%s: %d bytes: %.200s", name, len(got), got)
		}
		if strings.Contains(in, "p299") && !strings.Contains(string(got), `"pattern":{`) {
			t.Errorf("%s: an argument is taken for a keyword: %.300s", name, got)
		}
		if name != "nested" && !strings.Contains(string(got), "Shortened by agentls") {
			t.Errorf("%s: does not say so: %.200s", name, got)
		}
	}
	if got := fitSchema(json.RawMessage(`{"description":"` + strings.Repeat("x", maxSchemaRead) + `"}`)).schema; string(got) != emptySchema {
		t.Errorf("%.100s", got)
	}
}

// FuzzFitSchema holds that any schema becomes one that providers take, and that
// it stays as it is from then on.
func FuzzFitSchema(f *testing.F) {
	for _, s := range []string{
		`{"$ref":"#/a","a":{"$ref":"#/a"}}`, `{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"allOf":[{"$ref":"#"}],"anyOf":[true,false,{"$ref":"#/anyOf/2"}]}`,
		`{"items":[{"items":[]}],"type":["array","object"],"enum":[{}]}`, `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := fitSchema(json.RawMessage(s)).schema
		var top map[string]any
		if err := json.Unmarshal(got, &top); err != nil && !strings.Contains(err.Error(), "number") {
			t.Fatalf("%q gives %s: %v", s, got, err)
		}
		if len(got) > maxSchemaText || top["type"] != "object" || top["properties"] == nil || top["anyOf"] != nil || top["$ref"] != nil {
			t.Errorf("%q gives %.500s", s, got)
		}
		for _, ref := range regexp.MustCompile(`"\$ref":"([^"]*)"`).FindAllStringSubmatch(string(got), -1) {
			if _, ok := newFitter(top).lookup(ref[1]); !ok && !strings.Contains(s, `\`) && !strings.Contains(s, "const") && !strings.Contains(s, "default") {
				t.Errorf("%q: %s leads nowhere: %s", s, ref[1], got)
			}
		}
	})
}

// A definition that refers to itself in many branches ends soon.
func TestFitSchemaIsBounded(t *testing.T) {
	a := `{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/A"},`, 30) + `{"properties":{"x":{}}}]}`
	began := time.Now()
	got := fitSchema(json.RawMessage(`{"$ref":"#/$defs/A","$defs":{"A":` + a + `}}`)).schema
	if took := time.Since(began); took > 5*time.Second || !strings.HasSuffix(string(got), `"type":"object"}`) {
		t.Errorf("%v: %.100s", took, got)
	}
}

func FuzzObject(f *testing.F) {
	for _, s := range []string{"", "null", "{}", `{"a":1}`, `{"a":`, "[]", `"x"`, "1e999", `{"a":1e999}`, "{}{}", "{\"\xff\":1}", `{"a":1,"a":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := object(s)
		var fields map[string]any
		if err == nil && (json.Unmarshal(got, &fields) != nil && !strings.Contains(s, "e") && !strings.Contains(s, "E") || got[0] != '{') {
			t.Errorf("%q gives %q", s, got)
		}
		if err != nil && got != nil {
			t.Errorf("%q gives both %q and %v", s, got, err)
		}
		calls := validCalls([]ToolCall{{ID: "1", Name: s, Arguments: s}})
		if !validName(calls[0].Name) || !json.Valid([]byte(calls[0].Arguments)) {
			t.Errorf("call %+v", calls[0])
		}
	})
}
