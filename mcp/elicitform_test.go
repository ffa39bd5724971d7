package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// spec has every kind of property of client/elicitation, 2026-07-28 and before.
const spec = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"properties":{
	"name":   {"type":"string","title":"Display Name","description":"Yours","minLength":3,"maxLength":5},
	"email":  {"type":"string","format":"email","default":"user@example.com"},
	"site":   {"type":"string","format":"uri"},
	"day":    {"type":"string","format":"date"},
	"at":     {"type":"string","format":"date-time"},
	"code":   {"type":"string","pattern":"^[A-Z]{2}$"},
	"age":    {"type":"number","minimum":0,"maximum":100,"default":50},
	"count":  {"type":"integer","exclusiveMinimum":0,"multipleOf":2},
	"sure":   {"type":"boolean","default":false},
	"color":  {"type":"string","enum":["Red","Green"],"default":"Red"},
	"old":    {"type":"string","enum":["r","g"],"enumNames":["Rouge","Vert"]},
	"titled": {"type":"string","oneOf":[{"const":"#FF0000","title":"Red"},{"const":"#00FF00"}],"default":"#00FF00"},
	"many":   {"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]},"default":["a"]},
	"tmany":  {"type":"array","items":{"anyOf":[{"const":"x","title":"Ex"},{"const":"y","title":"Why"}]}},
	"tags":   {"type":"array","items":{"type":"string"}},
	"maybe":  {"anyOf":[{"type":"integer"},{"type":"null"}],"default":null,"title":"Maybe"},
	"null":   {"type":["string","null"]},
	"level":  {"type":"integer","enum":[1,2]},
	"ref":    {"$ref":"#/$defs/Size","description":"How big"},
	"optref": {"anyOf":[{"$ref":"#/$defs/Size"},{"type":"null"}]}
},"required":["name","color"],"$defs":{"Size":{"type":"string","enum":["S","L"]}}}`

func TestFormOfEveryKind(t *testing.T) {
	t.Parallel()
	f, err := ParseForm(json.RawMessage(spec))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, field := range f.Fields {
		line := field.Name + " " + string(field.Kind)
		for _, o := range field.Options {
			line += " " + o.Title + "=" + string(o.Value)
		}
		if field.Default != nil {
			line += " default " + string(field.Default)
		}
		if field.Required {
			line += " required"
		}
		got = append(got, line)
	}
	want := `name string required
email string default "user@example.com"
site string
day string
at string
code string
age number default 50
count integer
sure boolean default false
color enum Red="Red" Green="Green" default "Red" required
old enum Rouge="r" Vert="g"
titled enum Red="#FF0000" #00FF00="#00FF00" default "#00FF00"
many enums a="a" b="b" c="c" default ["a"]
tmany enums Ex="x" Why="y"
tags list
maybe integer
null string
level enum 1=1 2=2
ref enum S="S" L="L"
optref enum S="S" L="L"`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s", text)
	}
	if f.Field("maybe").Title != "Maybe" || f.Field("ref").Description != "How big" || f.Field("name").Title != "Display Name" {
		t.Errorf("%+v", f)
	}
}

// MCP, client/elicitation: what is sent is held against the schema, defaults
// are filled in, and the person is told what is wrong.
func TestFormCheck(t *testing.T) {
	t.Parallel()
	f, err := ParseForm(json.RawMessage(spec))
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		`{"name":"abc","color":"Green"}`:                                                                       `{"name":"abc","email":"user@example.com","age":50,"sure":false,"color":"Green","titled":"#00FF00","many":["a"]}`,
		`{"color":"Red","age":7,"name":"äöü","email":null}`:                                                    `{"name":"äöü","age":7,"sure":false,"color":"Red","titled":"#00FF00","many":["a"]}`,
		`{"name":"abc","color":"Red","level":2.0,"tmany":["y","x"],"tags":["one","two"],"count":4,"maybe":-3}`: `{"name":"abc","email":"user@example.com","age":50,"count":4,"sure":false,"color":"Red","titled":"#00FF00","many":["a"],"tmany":["y","x"],"tags":["one","two"],"maybe":-3,"level":2.0}`,
		``:                                    `"name" is missing`, // color has a default
		`null`:                                `"name" is missing`,
		`[]`:                                  `must be an object`,
		`5`:                                   `must be an object`,
		`{"name":null,"color":null}`:          `"name" is missing; "color" is missing`,
		`{"name":"ab"}`:                       `"name" needs at least 3 characters`,
		`{"name":"äöüäöü"}`:                   `"name" takes at most 5 characters`,
		`{"name":5}`:                          `"name" must be a text`,
		`{"name":"abc","nam":1}`:              `"nam" is no field of this form`,
		`{"name":"abc","color":"Blue"}`:       `"color" must be one of "Red", "Green"`,
		`{"name":"abc","titled":"Red"}`:       `"titled" must be one of "#FF0000", "#00FF00"`,
		`{"name":"abc","old":"Rouge"}`:        `"old" must be one of "r", "g"`,
		`{"name":"abc","email":"x"}`:          `"email" must be an e-mail address`,
		`{"name":"abc","email":"A <a@b.c>"}`:  `"email" must be an e-mail address`,
		`{"name":"abc","site":"here"}`:        `"site" must be a URI, as https://example.com`,
		`{"name":"abc","day":"28.7.2026"}`:    `"day" must be a date, as 2026-07-28`,
		`{"name":"abc","at":"2026-07-28"}`:    `"at" must be a date and time, as 2026-07-28T09:30:00Z`,
		`{"name":"abc","code":"de"}`:          `"code" must match "^[A-Z]{2}$"`,
		`{"name":"abc","age":101}`:            `"age" must be at most 100`,
		`{"name":"abc","age":-1}`:             `"age" must be at least 0`,
		`{"name":"abc","age":"7"}`:            `"age" must be a number`,
		`{"name":"abc","count":0}`:            `"count" must be more than 0`,
		`{"name":"abc","count":3}`:            `"count" must be a multiple of 2`,
		`{"name":"abc","count":2.5}`:          `"count" must be a whole number`,
		`{"name":"abc","sure":"yes"}`:         `"sure" must be true or false`,
		`{"name":"abc","many":[]}`:            `"many" needs at least 1 values`,
		`{"name":"abc","many":["a","b","c"]}`: `"many" takes at most 2 values`,
		`{"name":"abc","many":["a","a"]}`:     `"many" holds a value twice`,
		`{"name":"abc","many":"a"}`:           `"many" must be a list`,
		`{"name":"abc","many":["d"]}`:         `"many" must be a list of "a", "b", "c"`,
		`{"name":"abc","tags":[1]}`:           `"tags" must be a list of texts`,
		`{"name":"abc","level":"1"}`:          `"level" must be one of 1, 2`,
	} {
		got, err := f.Check(json.RawMessage(content))
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %s", content, err, want)
		case err == nil && string(got) != want:
			t.Errorf("%s: %s, want %s", content, got, want)
		}
	}
}

// A default that the field does not take is none.
func TestFormDefaults(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":"boolean"}},"required":["a"]}`: `{"a":"x"}`,
		`{"type":"object","properties":{"a":{"type":"string","default":5}},"required":["a"]}`:                          `"a" is missing`,
		`{"type":"object","properties":{"a":{"enum":["x"],"default":"y"}},"required":["a"]}`:                           `"a" is missing`,
		`{"type":"object","properties":{}}`: `{}`,
		`{"type":"object"}`:                 `{}`,
		`{"properties":{"a":{"const":"only","default":"only"}},"required":["a"]}`: `{"a":"only"}`,
	} {
		f, err := ParseForm(json.RawMessage(schema))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		content, ok := f.Defaults()
		if _, err := f.Check(nil); !ok && !strings.Contains(err.Error(), want) || ok && string(content) != want {
			t.Errorf("%s: %s %v, want %s", schema, content, err, want)
		}
	}
}

func TestFormsThatNobodyCanBeAskedFor(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`"x",`, maxFormOptions) + `"x"`
	var wide strings.Builder
	for i := range maxFormFields + 1 {
		wide.WriteString(strings.Repeat(",", min(i, 1)) + `"p` + strings.Repeat("i", i) + `":{"type":"string"}`)
	}
	for schema, want := range map[string]string{
		`"x"`:                                     "no JSON Schema",
		`{"type":"array"}`:                        `"type": "object"`,
		`{"type":"object","properties":[]}`:       "no object",
		`{"type":"object","properties":{"a":5}}`:  `"a" of requestedSchema: it is no JSON Schema`,
		`{"type":"object","properties":{"a":{}}}`: "no single type",
		`{"type":"object","properties":{"a":{"type":["string","number"]}}}`:                           "no single type",
		`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`:                      `the type "object" cannot be asked for`,
		`{"type":"object","properties":{"a":{"type":"array"}}}`:                                       "needs items",
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}}}`:             "must be an enumeration",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/X"}}}`:                                   "leads nowhere",
		`{"type":"object","properties":{"a":{"$ref":"https://evil.example/x.json"}}}`:                 "leads nowhere",
		`{"type":"object","properties":{"a":{"enum":[{"x":1}]}}}`:                                     "must be strings, numbers or booleans",
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"number"}]}}}`:        "must have a const",
		`{"type":"object","properties":{"a":{"enum":[` + many + `]}}}`:                                "at most 500",
		`{"type":"object","properties":{` + wide.String() + `}}`:                                      "at most 50",
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`:                     `requires "b"`,
		`{"type":"object","description":"` + strings.Repeat("x", maxFormBytes) + `","properties":{}}`: "bytes",
	} {
		if _, err := ParseForm(json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", clip(schema, 200), err, want)
		}
	}
}

// MCP, client/elicitation: secrets must not be asked for in a form.
func TestFieldsThatAskForSecrets(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"password": true, "userPassword": true, "api_key": true, "apiKey": true, "API key": true, "access-token": true, "githubToken": true, "client_secret": true, "pin": true,
		"card_number": true, "privateKey": true, "passphrase": true,
		"name": false, "email": false, "pinned": false, "opinion": false, "keyboard": false, "author": false, "passenger": false, "monkey": false, "max_tokens": false,
	} {
		f, err := ParseForm(json.RawMessage(`{"type":"object","properties":{"` + name + `":{"type":"string"}}}`))
		if err != nil || f.Fields[0].Secret != want {
			t.Errorf("%s: %v %v", name, f.Fields[0].Secret, err)
		}
	}
	f, err := ParseForm(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","format":"password"},"b":{"type":"string","writeOnly":true},"token":{"type":"boolean"},"secret":{"enum":["a"]}}}`))
	if err != nil || !f.Fields[0].Secret || !f.Fields[1].Secret || f.Fields[2].Secret || f.Fields[3].Secret {
		t.Errorf("%+v %v", f, err)
	}
}

func TestFieldParse(t *testing.T) {
	t.Parallel()
	f, err := ParseForm(json.RawMessage(spec))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range [][3]string{
		{"name", " abc\n", `" abc"`},
		{"name", "", ``},
		{"name", "ab", "at least 3"},
		{"age", "7.5", `7.5`},
		{"age", "seven", "must be a number"},
		{"age", "{}", "must be a number"},
		{"sure", "Yes", `true`},
		{"sure", "n", `false`},
		{"sure", "maybe", "yes or no"},
		{"color", "2", `"Green"`},
		{"color", "green", "must be one of"},
		{"titled", "Red", `"#FF0000"`},
		{"old", "Vert", `"g"`},
		{"many", "a, 3", `["a","c"]`},
		{"many", "a,d", "must be a list of"},
		{"tags", "x, y ,", `["x","y"]`},
		{"level", "2", `2`},
	} {
		got, err := f.Field(row[0]).Parse(row[1])
		if err != nil && !strings.Contains(err.Error(), row[2]) || err == nil && string(got) != row[2] {
			t.Errorf("%s %q: %s %v, want %s", row[0], row[1], got, err, row[2])
		}
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	f, err := ParseForm(json.RawMessage(spec))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"name": "3 characters at least, 5 characters at most", "email": "an e-mail address", "age": "a number, 0 at least, 100 at most",
		"count": "a whole number, more than 0, a multiple of 2", "code": `matches "^[A-Z]{2}$"`, "many": "a list, 1 values at least, 2 values at most", "color": "", "null": "",
	} {
		if got := f.Field(name).Hint(); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// FuzzForm: whatever a server asks for and a person says, what is sent is JSON
// that the form takes, and defaults alone are where they suffice.
func FuzzForm(f *testing.F) {
	f.Add([]byte(spec), []byte(`{"name":"abc","color":"Red","many":["b"],"maybe":null}`))
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":["string","null"],"default":"\u2028"}}}`), []byte(`{"a":"x","a":null}`))
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/a"}}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, schema, content []byte) {
		form, err := ParseForm(schema)
		if err != nil {
			return
		}
		sent, err := form.Check(content)
		if err != nil {
			return
		}
		if !json.Valid(sent) {
			t.Errorf("%s of %s: %s is no JSON", schema, content, sent)
		}
		var values map[string]json.RawMessage
		if err := json.Unmarshal(sent, &values); err != nil {
			t.Fatal(err)
		}
		for _, field := range form.Fields {
			if v, ok := values[field.Name]; field.Required && !ok || ok && field.Check(v) != nil {
				t.Errorf("%s of %s: %s", schema, content, sent)
			}
		}
	})
}
