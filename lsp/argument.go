package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

// badf is a bad argument: what is wrong, and what to do.
func badf(format string, args ...any) error {
	return &paramsError{message: fmt.Sprintf(format, args...)}
}

// badArgument puts a decoding error into words that name the field. arg is the
// struct that was decoded into, for the names it knows.
func badArgument(command string, err error, arg any) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := wrong.Field
		if field == "" {
			field = "the argument"
		}
		return badf("%s: %s must be %s, not %s", command, field, wording(wrong.Type), wrong.Value)
	}
	if bad, ok := errors.AsType[*paramsError](err); ok {
		return badf("%s: %s", command, bad.message)
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		name = strings.Trim(name, `"`)
		return badf("%s: unknown field %q%s", command, clip(name, 60), suggest(name, fields(reflect.TypeOf(arg))))
	}
	return badf("%s: %v", command, err)
}

// wording names a Go type as a user of JSON knows it.
func wording(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint32, reflect.Float64:
		return "a whole number"
	case reflect.Slice:
		return "an array"
	default:
		return "an object"
	}
}

// fields are the JSON names of a struct and of the structs in it.
func fields(t reflect.Type) []string {
	if t == nil {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
			names = append(names, fields(f.Type)...)
		}
	}
	return names
}

// suggest ends an error message with the names that were perhaps meant, or
// else with all of a few.
func suggest(name string, known []string) string {
	shown := make([]string, len(known))
	for i, k := range known {
		shown[i] = clean(k)
	}
	return agent.Suggest(name, shown)
}

// deref gives what an optional field holds, or the zero value.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// label checks a session or a run id: 1 to 128 printable characters.
func label(command, field string, value *string) error {
	if value == nil {
		return nil
	}
	if !agent.ValidID(*value) {
		return badf("%s: %s must be 1 to 128 printable characters", command, field)
	}
	return nil
}

// required checks that a field is there and not empty.
func required(command, field string, value *string) error {
	if deref(value) == "" {
		return badf("%s: %s is missing; give {%q: \"…\"}", command, field, field)
	}
	return nil
}

// oneOf checks a field that knows few words.
func oneOf(command, field, value string, words ...string) error {
	if !slices.Contains(words, value) {
		return badf("%s: %s must be one of %s, not %q", command, field, strings.Join(words, ", "), clip(value, 40))
	}
	return nil
}

// positionArg is a position in a command's argument. Some clients write whole
// numbers as 1.0.
type positionArg struct{ protocol.Position }

// UnmarshalJSON implements [json.Unmarshaler].
func (p *positionArg) UnmarshalJSON(raw []byte) error {
	var v struct {
		Line      *float64 `json:"line"`
		Character *float64 `json:"character"`
	}
	whole := func(f *float64) bool { return f != nil && *f >= 0 && *f == math.Trunc(*f) }
	if json.Unmarshal(raw, &v) != nil || !whole(v.Line) || !whole(v.Character) {
		return badf(`a position must be {"line": …, "character": …}, both whole numbers from 0, not %s`, clip(string(raw), 60))
	}
	p.Line = uint32(min(*v.Line, math.MaxInt32))
	p.Character = uint32(min(*v.Character, math.MaxInt32))
	return nil
}

// rangeArg is a range in a command's argument.
type rangeArg struct {
	Start *positionArg `json:"start"`
	End   *positionArg `json:"end"`
}

// ordered gives the start and the end, also of a selection made backwards.
func (r *rangeArg) ordered() (from, to protocol.Position) {
	from, to = r.Start.Position, r.End.Position
	if to.Line < from.Line || to.Line == from.Line && to.Character < from.Character {
		return to, from
	}
	return from, to
}

// failed is a request that was right and failed: -32803.
func failed(format string, args ...any) error {
	return &refusal{codeRequestFailed, fmt.Sprintf(format, args...)}
}
