package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// editor-code-assistant/eca#340, github/copilot-cli#1876, open-webui/computer#87
func TestFitSchema(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			"as given", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false,"description":"d"}`,
			`{"additionalProperties":false,"description":"d","properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`,
		},
		{"nothing", ``, emptySchema},
		{"null", `null`, emptySchema},
		{"list", `[]`, emptySchema},
		{"broken", `{"type"`, emptySchema},
		{"empty type", `{"type":""}`, emptySchema},
		{"type list", `{"type":["object","null"],"properties":null,"required":null}`, emptySchema},
		{"properties list", `{"type":"object","properties":[]}`, emptySchema},
		{
			"$schema goes, $defs stay", `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x","type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`,
			`{"$defs":{"A":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/A"}},"type":"object"}`,
		},
		{"required that is not there", `{"type":"object","properties":{"a":{}},"required":["b","a","a"]}`, `{"properties":{"a":{}},"required":["a"],"type":"object"}`},
		{"odd properties", `{"properties":{"a":true,"b":null}}`, `{"properties":{"a":{},"b":{}},"type":"object"}`},
		{
			"anyOf at the top", `{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}}}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`,
		},
		{
			"allOf with a reference", `{"allOf":[{"$ref":"#/definitions/A"},{"required":["a"]}],"definitions":{"A":{"properties":{"a":{"type":"string"}}}}}`,
			`{"definitions":{"A":{"properties":{"a":{"type":"string"}}}},"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`,
		},
		{"HTML stays", `{"type":"object","properties":{"a":{"description":"<b> & c"}}}`, `{"properties":{"a":{"description":"<b> & c"}},"type":"object"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(fitSchema(json.RawMessage(c.in))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A definition that refers to itself in many branches ends soon.
func TestFitSchemaIsBounded(t *testing.T) {
	a := `{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/A"},`, 30) + `{"properties":{"x":{}}}]}`
	began := time.Now()
	got := string(fitSchema(json.RawMessage(`{"$ref":"#/$defs/A","$defs":{"A":` + a + `}}`)))
	if took := time.Since(began); took > 5*time.Second || !strings.HasSuffix(got, `"type":"object"}`) {
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
