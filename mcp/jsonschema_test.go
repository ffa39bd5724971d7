package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// MCP.md row 45: JSON Schema 2020-12 is the default, drafts that are named
// count, nothing is fetched, what cannot be checked is no fault.
func TestJSONSchema(t *testing.T) {
	const defs = `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"n":{"type":"integer","minimum":1},"next":{"$ref":"#/$defs/A"}},"required":["n"]}},"required":["a"]}`
	formats := `{"format":"regex"}`
	for _, name := range []string{"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname", "idn-hostname", "email", "idn-email", "date", "time", "date-time", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "semver"} {
		formats += `,{"format":"` + name + `"}`
	}
	for _, c := range []struct{ name, schema, value, want string }{ // want: words of the error, "" for none
		{"fits", defs, `{"a":{"n":1,"next":{"n":2}}}`, ""},
		{"missing", defs, `{}`, "the value: missing property 'a'"},
		{"deep", defs, `{"a":{"n":1,"next":{"n":"two"}}}`, "/a/next/n: got string, want integer"},
		{"several", defs, `{"a":{"n":0,"next":{}}}`, "/a/next: missing property 'n'"},
		{"2020-12 without a name", `{"prefixItems":[{"type":"string"}]}`, `[1]`, "/0: got number, want string"},
		{"draft 7 by name", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[1]`, "/0: got number, want string"},
		{"dependentRequired", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "'b'"},
		{"if, then", `{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}}`, `{"a":1}`, "missing property 'b'"},
		{"alternatives", `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, "the value fits none of its alternatives: the value: missing property 'a' | the value: missing property 'b'"},
		{"closed", `{"properties":{"a":{}},"additionalProperties":false}`, `{"b":1}`, "additional properties 'b' not allowed"},
		{"formats do not count", `{"format":"email"}`, `"no"`, ""},
		{"nor in draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":[` + formats + `]}`, `[` + strings.Repeat(`"!{%",`, strings.Count(formats, "{")-1) + `"!{%"]`, ""},
		{"a pattern of ECMA-262", `{"pattern":"(?<!x)y"}`, `"z"`, ""},
		{"true", `true`, `1`, ""},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, "/a: false schema"},
		{"a pointer's escapes", `{"properties":{"a/b":{"properties":{"~":{"type":"null"}}}}}`, `{"a/b":{"~":1}}`, "/a~1b/~0: got number, want null"},
		{"large numbers", `{"type":"integer","maximum":9007199254740993}`, `9007199254740994`, "maximum"},
		{"recursive", `{"properties":{"c":{"$ref":"#"}},"additionalProperties":false}`, `{"c":{"c":{"d":1}}}`, "/c/c: additional properties 'd'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := compileSchema(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			err = s.check(json.RawMessage(c.value))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestJSONSchemaThatChecksNothing(t *testing.T) {
	for name, schema := range map[string]string{
		"no JSON": `{`, "a number": `5`, "required as in draft 3": `{"properties":{"a":{"required":true}}}`, "dangling": `{"$ref":"#/$defs/none"}`,
		"of the network": `{"properties":{"a":{"$ref":"https://example.com/schema.json"}}}`, "of a file": `{"$ref":"file:///etc/passwd"}`,
		"many parts": `{"allOf":[` + strings.Repeat("{},", 20_000) + `{}]}`, "a huge number": `{"minimum":1e400000000}`,
		"an unknown draft": `{"$schema":"https://example.com/draft"}`, "deep": strings.Repeat(`{"not":`, 200) + "{}" + strings.Repeat("}", 200),
	} {
		if _, err := compileSchema(json.RawMessage(schema)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A few references to each other are more work than a day has.
func TestJSONSchemaIsBounded(t *testing.T) {
	var chain strings.Builder
	for i := range 60 {
		fmt.Fprintf(&chain, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	deep := strings.Repeat(`{"x":`, 60) + "1" + strings.Repeat("}", 60)
	for name, c := range map[string][2]string{
		"a chain":           {`{"$ref":"#/$defs/d0","$defs":{` + chain.String() + `"d60":{"type":"object"}}}`, `{}`},
		"through the value": {`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"properties":{"x":{"$ref":"#/$defs/a"}}},{"properties":{"x":{"$ref":"#/$defs/a"}}}]}}}`, deep},
		"many of many":      {`{"items":{"enum":[` + strings.Repeat(`"x",`, 50_000) + `"y"]}}`, `[` + strings.Repeat(`"z",`, 50_000) + `"z"]`},
		"numbers":           {`{"$defs":{"e":{"enum":[` + strings.Repeat(`5,`, 20_000) + `6]}},"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/e"},`, 3000) + `true]}`, `7`},
		"a pattern":         {`{"items":{"pattern":"^(.{0,900}a.{0,900})b$"}}`, `[` + strings.Repeat(`"`+strings.Repeat("a", 1000)+`",`, 1000) + `""]`},
		"a long text":       {`{"allOf":[` + strings.Repeat(`{"minLength":1},`, 3000) + `true]}`, `"` + strings.Repeat("a", 8<<20) + `"`},
		"unique items":      {`{"allOf":[` + strings.Repeat(`{"uniqueItems":true},`, 3000) + `true]}`, `[` + strings.Repeat(`[],`, 20_000) + `[]]`},
		"a huge number":     {`{"multipleOf":0.01}`, `1e400000000`},
		"a long number":     {`{"type":"integer"}`, strings.Repeat("9", 1<<20)},
		"a circle":          {`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, `{"a":1}`},
	} {
		s, err := compileSchema(json.RawMessage(c[0]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		began := time.Now()
		if err := s.check(json.RawMessage(c[1])); !errors.Is(err, errTooMuch) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 20*time.Second { // the fault takes for ever
			t.Errorf("%s took %v", name, took)
		}
		if err := s.check(json.RawMessage(`{}`)); errors.Is(err, errTooMuch) != (name == "a chain" || name == "numbers") {
			t.Errorf("%s: afterwards %v", name, err)
		}
	}
}

// A list that is wrong in each item is told in a few words, and soon: each of
// them would name the whole enumeration.
func TestFaultsAreFew(t *testing.T) {
	var words []string
	for i := range 1000 {
		words = append(words, fmt.Sprintf(`"word %d"`, i))
	}
	s, err := compileSchema(json.RawMessage(`{"items":{"anyOf":[{"enum":[` + strings.Join(words, ",") + `]},{"type":"object"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = s.check(json.RawMessage(`[` + strings.Repeat(`"none",`, 5000) + `"none"]`))
	if err == nil || !strings.Contains(err.Error(), "/4 fits none") || !strings.HasSuffix(err.Error(), "; and 4996 more") || len(err.Error()) > 5000 {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// FuzzJSONSchema holds that no schema and no value of a server panics or hangs.
func FuzzJSONSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":1}}`)
	f.Add(`{"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x"}}}`, `[1e400]`)
	f.Add(`{"uniqueItems":true,"multipleOf":1e-300,"pattern":"("}`, `[[],[]]`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := compileSchema(json.RawMessage(schema))
		if err != nil {
			return
		}
		if err := s.check(json.RawMessage(value)); err != nil && len(err.Error()) > 20_000 {
			t.Errorf("%d bytes of error", len(err.Error()))
		}
	})
}
