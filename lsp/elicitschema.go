package lsp

import (
	"bytes"
	"encoding/json"
)

// shownSchema is a server's requestedSchema with its texts made fit to be
// shown: titles, descriptions and names of values. All else stays as it is, in
// its order: names and values are what an answer holds.
func shownSchema(schema json.RawMessage, tell func(string) string) json.RawMessage {
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if rewrite(d, &out, "", false, tell) != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return out.Bytes()
}

// rewrite copies one value. key is the name of the member that it is the value
// of; named: that name is one of a property or a definition, not a keyword.
func rewrite(d *json.Decoder, out *bytes.Buffer, key string, named bool, tell func(string) string) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		inside := !named && (key == "properties" || key == "$defs" || key == "definitions")
		return rewriteAll(d, out, t, key, inside, tell)
	case string:
		if !named && (key == "title" || key == "description" || key == "enumNames") {
			t = tell(t)
		}
		return encode(out, t)
	default:
		return encode(out, t)
	}
}

// rewriteAll copies the rest of an object or array. inside: the names of its
// members are of properties or definitions.
func rewriteAll(d *json.Decoder, out *bytes.Buffer, open json.Delim, key string, inside bool, tell func(string) string) error {
	out.WriteRune(rune(open))
	for first := true; d.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		name := key // of an array: what its items are
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			name, _ = t.(string) // a key is one
			if err := encode(out, name); err != nil {
				return err
			}
			out.WriteByte(':')
		}
		if err := rewrite(d, out, name, inside, tell); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if open == '{' {
		out.WriteByte('}')
	} else {
		out.WriteByte(']')
	}
	return nil
}

func encode(out *bytes.Buffer, v any) error {
	raw, err := json.Marshal(v)
	out.Write(raw)
	return err
}
