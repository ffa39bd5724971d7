package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// Tool is one tool of a server.
type Tool struct {
	Server      string // configured name
	Name        string // the server's own name, sent back byte for byte
	Title       string
	Description string
	// Schema is the raw inputSchema as the server gave it, every keyword in its
	// place; never nil, an object schema where the server gave none.
	Schema json.RawMessage
	// OutputSchema is the raw outputSchema, nil if none.
	OutputSchema json.RawMessage
	// Annotations are the raw annotations, nil if none. They are untrusted.
	Annotations json.RawMessage
	// ReadOnly and Destructive are what the annotations claim; untrusted, unless
	// Trusted says that the user's configuration trusts them (trustAnnotations).
	ReadOnly, Destructive bool
	Trusted               bool

	task          bool        // it can only be run as a task
	input, output *lazySchema // of a listed tool; what Schema and OutputSchema check
}

// Definition is a hash of all that the server says about the tool: what an
// answer of a person is bound to (CVE-2025-54136). The order of keys and the
// white space in its JSON do not count.
func (t Tool) Definition() string {
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(t.Name), []byte(t.Title), []byte(t.Description), canonical(t.Schema), canonical(t.OutputSchema), canonical(t.Annotations)} {
		one := sha256.Sum256(part)
		sum.Write(one[:])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Same reports whether two tools are the same in all that a server says.
func (t Tool) Same(o Tool) bool {
	return t.Server == o.Server && t.Name == o.Name && t.Title == o.Title && t.Description == o.Description && t.Trusted == o.Trusted &&
		t.ReadOnly == o.ReadOnly && t.Destructive == o.Destructive &&
		bytes.Equal(t.Schema, o.Schema) && bytes.Equal(t.OutputSchema, o.OutputSchema) && bytes.Equal(t.Annotations, o.Annotations)
}

// Unusable says why the server's schemas cannot be used to check arguments or
// results; nil: they can.
func (t Tool) Unusable() error {
	if _, err := compileSchema(t.Schema); err != nil {
		return fmt.Errorf("inputSchema: %w", err)
	}
	if t.OutputSchema == nil {
		return nil
	}
	if _, err := compileSchema(t.OutputSchema); err != nil {
		return fmt.Errorf("outputSchema: %w", err)
	}
	return nil
}

// canonical gives JSON with sorted keys and no white space; what is no JSON, as
// it is.
func canonical(raw json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

// parseTool decodes one item of tools/list; false for one without a name.
func parseTool(server string, raw json.RawMessage) (Tool, bool) {
	var t struct {
		Name         maybe[string]   `json:"name"`
		Title        maybe[string]   `json:"title"`
		Description  maybe[string]   `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Annotations  json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(raw, &t) != nil || t.Name.v == "" {
		return Tool{}, false
	}
	var hints struct {
		Title       maybe[string] `json:"title"`
		ReadOnly    maybe[bool]   `json:"readOnlyHint"`
		Destructive maybe[bool]   `json:"destructiveHint"`
	}
	out := Tool{Server: server, Name: t.Name.v, Title: t.Title.v, Description: t.Description.v, Schema: objectSchema(t.InputSchema)}
	out.input, out.task = &lazySchema{raw: out.Schema}, needsTask(raw)
	if !missing(t.OutputSchema) {
		out.OutputSchema = t.OutputSchema
		out.output = &lazySchema{raw: t.OutputSchema}
	}
	if !missing(t.Annotations) {
		out.Annotations = t.Annotations
		_ = json.Unmarshal(t.Annotations, &hints) // a list, a number …: no hints
	}
	out.ReadOnly, out.Destructive = hints.ReadOnly.v, hints.Destructive.v
	if out.Title == "" {
		out.Title = hints.Title.v
	}
	return out, true
}

const emptySchema = `{"type":"object","properties":{}}`

// objectSchema returns the schema byte for byte, except that one which is no
// object becomes the empty one and a missing type is added: providers refuse
// the whole request for either.
func objectSchema(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return json.RawMessage(emptySchema)
	}
	if t := string(fields["type"]); t != "" && t != `""` && t != "null" {
		return raw
	}
	fields["type"] = json.RawMessage(`"object"`)
	out, err := json.Marshal(fields)
	if err != nil {
		return json.RawMessage(emptySchema)
	}
	return out
}

// lazySchema is a schema that is compiled when something is to be checked:
// most tools of most servers are never called.
type lazySchema struct {
	raw json.RawMessage

	once   sync.Once
	schema *jsonSchema
	err    error
	tell   sync.Once // what is wrong with the schema, or with what the tool gives
}

// check is jsonSchema.check. broken says once why the schema checks nothing.
func (l *lazySchema) check(value json.RawMessage, broken func(error)) error {
	if l == nil {
		return nil
	}
	l.once.Do(func() { l.schema, l.err = compileSchema(l.raw) })
	if l.schema == nil {
		l.tell.Do(func() { broken(l.err) })
		return nil
	}
	err := l.schema.check(value)
	if errors.Is(err, errTooMuch) {
		err = nil // nobody knows
	}
	return err
}
