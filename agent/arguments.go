package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// object returns a model's arguments as a compact JSON object. Nothing and
// null are an empty one.
func object(arguments string) (json.RawMessage, error) {
	text := strings.TrimSpace(arguments)
	if text == "" || text == "null" {
		return json.RawMessage("{}"), nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, errors.New("the arguments are JSON, but no object")
		}
		return nil, fmt.Errorf("the arguments are no valid JSON: %w", err)
	}
	if key, twice := doubleKey([]byte(text)); twice {
		return nil, fmt.Errorf("the arguments hold the key %q twice in one object", oneLine(key, 100))
	}
	return compact([]byte(text)), nil
}

// doubleKey finds a key that stands twice in an object of a valid JSON text.
// Readers take one or the other: a person would be shown what does not run.
func doubleKey(text []byte) (key string, twice bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	type level struct {
		keys map[string]bool // nil: a list
		key  bool            // a key comes next, not its value
	}
	var stack []level
	for {
		token, err := d.Token()
		if err != nil {
			return "", false // its end
		}
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			stack = stack[:len(stack)-1]
			continue
		}
		if n := len(stack) - 1; n >= 0 && stack[n].keys != nil {
			if stack[n].key {
				name, _ := token.(string)
				if stack[n].keys[name] {
					return name, true
				}
				stack[n].keys[name] = true
			}
			stack[n].key = !stack[n].key
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{keys: map[string]bool{}, key: true})
		case json.Delim('['):
			stack = append(stack, level{})
		}
	}
}

// arguments reads what a model, or a person, wrote as the arguments of a tool;
// t is nil for a tool that there is not. A name in another case is none of a
// tool that is made here, though Go would take it for one.
func (t *tool) arguments(text string) (json.RawMessage, error) {
	args, err := object(text)
	if err != nil || t == nil {
		return args, err
	}
	if t.check != nil {
		return t.fitting(t.renamed(args))
	}
	if t.definition != "" {
		return args, nil
	}
	var given map[string]json.RawMessage
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(args, &given)      // an object, as it was read before
	_ = json.Unmarshal(t.schema, &schema) // our own
	for name := range given {
		for known := range schema.Properties {
			if name != known && strings.EqualFold(name, known) {
				return nil, fmt.Errorf("there is no argument %q; write %q", oneLine(name, 100), known)
			}
		}
	}
	if t.read != nil {
		return t.read(args)
	}
	return args, nil
}

// renamed gives arguments the names that the tool's server knows.
func (t *tool) renamed(args json.RawMessage) json.RawMessage {
	var given map[string]json.RawMessage
	if len(t.names) == 0 || json.Unmarshal(args, &given) != nil {
		return args
	}
	for clean, name := range t.names {
		value, has := given[clean]
		if _, both := given[name]; has && !both {
			delete(given, clean)
			given[name] = value
		}
	}
	return marshal(given)
}

// fitting returns arguments that fit the schema of the tool's server. Models
// write null for what they leave out: where that is all that does not fit, it is
// left out.
func (t *tool) fitting(args json.RawMessage) (json.RawMessage, error) {
	err := t.check(args)
	if err == nil {
		return args, nil
	}
	var given map[string]json.RawMessage
	_ = json.Unmarshal(args, &given) // an object, as it was read before
	before := len(given)
	maps.DeleteFunc(given, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	if less := marshal(given); len(given) < before && t.check(less) == nil {
		return less, nil
	}
	return args, fmt.Errorf("the arguments do not fit the tool's schema: %w", err)
}

// into decodes a tool's arguments; the error tells the model what to mend.
func into(args json.RawMessage, v any) error {
	if err := json.Unmarshal(args, v); err != nil {
		if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("the argument %q must be of type %s, not %s", te.Field, jsonType(te.Type.Kind().String()), te.Value)
		}
		return fmt.Errorf("the arguments cannot be read: %w", err)
	}
	return nil
}

func jsonType(kind string) string {
	switch kind {
	case "bool":
		return "boolean"
	case "int":
		return "integer"
	case "struct", "ptr":
		return "object"
	case "slice":
		return "array"
	}
	return kind
}
