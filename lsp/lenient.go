package lsp

import (
	"encoding/json"
	"math"
	"strconv"

	"go.lsp.dev/protocol"
)

// integer is a number of the client: however it is spelled, clamped to what an
// LSP uinteger holds. null is 0. (Lua writes 1.0 where 1 is meant.)
type integer int64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *integer) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*n = 0
		return nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && !math.IsInf(f, 0) {
		return err
	}
	*n = integer(max(0, min(f, math.MaxUint32)))
	return nil
}

// lenient decodes what can be decoded of a value and leaves the rest out: one
// odd capability must not cost the others. (Lua writes [] where {} is meant.)
func lenient[T any](raw json.RawMessage) T {
	var v T
	if len(raw) == 0 || protocol.Unmarshal(raw, &v) == nil {
		return v
	}
	var tree any
	if json.Unmarshal(raw, &tree) != nil {
		return *new(T)
	}
	fits := func(tree any) bool {
		raw, err := json.Marshal(tree)
		return err == nil && protocol.Unmarshal(raw, new(T)) == nil
	}
	kept, ok := prune(tree, fits)
	v = *new(T)
	if raw, err := json.Marshal(kept); ok && err == nil && protocol.Unmarshal(raw, &v) == nil {
		return v
	}
	return *new(T)
}

// prune returns the part of an object that fits. fits looks at a value that
// stands where v stands.
func prune(v any, fits func(any) bool) (kept any, ok bool) {
	if fits(v) {
		return v, true
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	part := make(map[string]any)
	for key, value := range object {
		here := func(v any) bool { return fits(map[string]any{key: v}) }
		if value, ok := prune(value, here); ok {
			part[key] = value
		}
	}
	return part, fits(part)
}
