package lsptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// value checks a value against a type; at is where it stands.
func (m *MetaModel) value(t metaType, raw json.RawMessage, at string) error {
	if len(raw) == 0 {
		return fmt.Errorf("%s is missing", at)
	}
	switch t.Kind {
	case "base":
		return baseValue(t.Name, raw, at)
	case "reference":
		return m.reference(t.Name, raw, at)
	case "array", "tuple":
		return m.array(t, raw, at)
	case "map":
		var of metaType
		if err := json.Unmarshal(t.Value, &of); err != nil {
			return err
		}
		return m.mapping(of, raw, at)
	case "or":
		var said error // of the branch that got furthest
		for _, item := range t.Items {
			err := m.value(item, raw, at)
			if err == nil {
				return nil
			}
			if said == nil || depth(err) > depth(said) {
				said = err
			}
		}
		return said
	case "and":
		var parts []metaStructure
		for _, item := range t.Items {
			parts = append(parts, m.structures[item.Name])
		}
		return m.object(parts, raw, at)
	case "literal":
		var s metaStructure
		if err := json.Unmarshal(t.Value, &s); err != nil {
			return err
		}
		return m.object([]metaStructure{s}, raw, at)
	case "stringLiteral":
		if !bytes.Equal(t.Value, raw) {
			return fmt.Errorf("%s is %.100s, not %s", at, raw, t.Value)
		}
		return nil
	}
	return fmt.Errorf("%s: the meta model has a type of kind %q", at, t.Kind)
}

// depth is how far into a value an error's place is.
func depth(err error) int {
	at, _, _ := strings.Cut(err.Error(), " ")
	return strings.Count(at, ".") + strings.Count(at, "[")
}

func baseValue(name string, raw json.RawMessage, at string) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	n, number := v.(float64)
	_, text := v.(string)
	_, flag := v.(bool)
	ok := false
	switch name {
	case "string", "RegExp":
		ok = text
	case "URI", "DocumentUri":
		scheme, _, colon := strings.Cut(fmt.Sprint(v), ":")
		ok = text && colon && scheme != ""
	case "integer":
		ok = number && n == math.Trunc(n) && math.Abs(n) < 1<<31
	case "uinteger":
		ok = number && n == math.Trunc(n) && n >= 0 && n < 1<<31
	case "decimal":
		ok = number
	case "boolean":
		ok = flag
	case "null":
		ok = v == nil
	}
	if !ok {
		return fmt.Errorf("%s is %.100s, no %s", at, raw, name)
	}
	return nil
}

func (m *MetaModel) reference(name string, raw json.RawMessage, at string) error {
	if name == "LSPAny" {
		return nil
	}
	if e, ok := m.enumerations[name]; ok {
		if err := m.value(e.Type, raw, at); err != nil || e.Custom {
			return err
		}
		var v any
		_ = json.Unmarshal(raw, &v) // it is of the type
		for _, known := range e.Values {
			if known.Value == v {
				return nil
			}
		}
		return fmt.Errorf("%s is %s, no %s", at, raw, name)
	}
	if a, ok := m.aliases[name]; ok {
		return m.value(a, raw, at)
	}
	s, ok := m.structures[name]
	if !ok {
		return fmt.Errorf("%s: the meta model has no type %q", at, name)
	}
	return m.object([]metaStructure{s}, raw, at)
}

func (m *MetaModel) array(t metaType, raw json.RawMessage, at string) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return fmt.Errorf("%s is %.100s, no list", at, raw)
	}
	if t.Kind == "tuple" && len(list) != len(t.Items) {
		return fmt.Errorf("%s has %d items, not %d", at, len(list), len(t.Items))
	}
	for i, item := range list {
		of := t.Element
		if t.Kind == "tuple" {
			of = &t.Items[i]
		}
		if err := m.value(*of, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

func (m *MetaModel) mapping(of metaType, raw json.RawMessage, at string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return fmt.Errorf("%s is %.100s, no object", at, raw)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if err := m.value(of, object[key], at+"."+key); err != nil {
			return err
		}
	}
	return nil
}

// object checks an object that is all of the structures. A member that none of
// them has is a fault too: a client drops it, or takes it for something else.
func (m *MetaModel) object(parts []metaStructure, raw json.RawMessage, at string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return fmt.Errorf("%s is %.100s, no object", at, raw)
	}
	known := map[string]bool{}
	for len(parts) > 0 {
		part := parts[0]
		parts = parts[1:]
		for _, base := range append(slices.Clip(part.Extends), part.Mixins...) {
			parts = append(parts, m.structures[base.Name])
		}
		for _, p := range part.Properties {
			if known[p.Name] { // as what comes first, the derived one, has it
				continue
			}
			known[p.Name] = true
			value, has := object[p.Name]
			if !has && p.Optional {
				continue
			}
			if err := m.value(p.Type, value, at+"."+p.Name); err != nil {
				return err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !known[key] && len(known) > 0 && !m.open { // an empty structure is an open one
			return fmt.Errorf("%s.%s: LSP has no such member", at, key)
		}
	}
	return nil
}
