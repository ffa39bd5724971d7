package openai

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPlainSchemas(t *testing.T) {
	for in, want := range map[string]string{
		`null`:       `{"properties":{},"type":"object"}`,
		`{"broken`:   `null`, // no tools at all: the list is left as it is
		`{"type":1}`: `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"string","minLength":3,"description":"d"},"b":true,"c":{"type":"file"}},"required":["a","b","x",5],"additionalProperties":false}`: `{"properties":{"a":{"description":"d","type":"string"},"b":{},"c":{}},"required":["a","b"],"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"enum":["l","r"]}}}`:                                                                             `{"properties":{"a":{"enum":["l","r"]}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"},"b":{"$ref":"http://x/y"},"c":{"$ref":"#/type/x"}}}`:                                                              `{"properties":{"a":{},"b":{},"c":{}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","x"]},"c":{"type":[]},"d":{"enum":[]}}}`:                                                 `{"properties":{"a":{"type":["string","null"]},"b":{},"c":{},"d":{}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer","minimum":1}},"b":{"type":"array","items":false}}}`:                                             `{"properties":{"a":{"items":{"type":"integer"},"type":"array"},"b":{"type":"array"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string","format":"uri"},{"type":"null"}]},"b":{"anyOf":[]}}}`:                                                          `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"const":"x"},{"const":1}]},"b":{"allOf":[{"type":"string","description":"d"},{"description":"e","enum":["u"]}]}}}`:             `{"properties":{"a":{"anyOf":[{"enum":["x"]},{"enum":[1]}]},"b":{"description":"d","enum":["u"],"type":"string"}},"type":"object"}`,
	} {
		list := json.RawMessage(`[{"type":"function","function":{"name":"a","parameters":` + in + `}}]`)
		var tools []struct {
			Function struct{ Parameters json.RawMessage }
		}
		out := plainTools(list)
		if want == "null" {
			if string(out) != string(list) {
				t.Errorf("%s became %s", list, out)
			}
			continue
		}
		if err := json.Unmarshal(out, &tools); err != nil || len(tools) != 1 {
			t.Errorf("%s: %v", out, err)
		} else if got := string(tools[0].Function.Parameters); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
	}
}

// A definition that refers to itself, many times over, ends somewhere.
func TestPlainSchemaIsBounded(t *testing.T) {
	self := `{"$ref":"#/$defs/n"}`
	list := json.RawMessage(`[{"type":"function","function":{"name":"a","parameters":{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"a":` + self + `,"b":` + self + `,"c":` + self + `}},"loop":{"$ref":"#/$defs/loop"}}}}}]`)
	if out := plainTools(list); len(out) > 100_000 || strings.Contains(string(out), "$ref") || !json.Valid(out) {
		t.Errorf("%d bytes: %.300s", len(out), out)
	}
}
