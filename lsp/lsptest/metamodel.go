package lsptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// MetaModel is the protocol as its authors describe it for machines: LSP's
// metaModel.json (https://microsoft.github.io/language-server-protocol, meta
// model). What a server says is held against it.
type MetaModel struct {
	methods      map[string]metaMethod
	structures   map[string]metaStructure
	enumerations map[string]metaEnumeration
	aliases      map[string]metaType
	open         bool // objects may have members that LSP does not know
}

// metaMethod is a request or a notification.
type metaMethod struct {
	Method    string
	Direction string    `json:"messageDirection"`
	Params    *metaType // nil: none
	Result    *metaType // nil: a notification
}

type metaType struct {
	Kind    string // base, reference, array, map, and, or, tuple, literal, stringLiteral
	Name    string
	Element *metaType
	Items   []metaType
	Value   json.RawMessage // a type of a map, a structure of a literal, else a string
}

type metaProperty struct {
	Name     string
	Type     metaType
	Optional bool
}

type metaStructure struct {
	Name       string
	Properties []metaProperty
	Extends    []metaType
	Mixins     []metaType
}

type metaEnumeration struct {
	Name   string
	Type   metaType
	Values []struct{ Value any }
	Custom bool `json:"supportsCustomValues"`
}

// LoadMetaModel reads the meta model that go.lsp.dev/protocol was generated
// from, which lies in the module cache beside it.
var LoadMetaModel = sync.OnceValues(func() (*MetaModel, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.lsp.dev/protocol").Output()
	if err != nil {
		return nil, fmt.Errorf("the meta model of LSP is in the module cache, which `go mod download` fills: %w", err)
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "internal", "genlsp", "testdata", "metaModel.json"))
	if err != nil {
		return nil, err
	}
	return readMetaModel(raw)
})

func readMetaModel(raw []byte) (*MetaModel, error) {
	var file struct {
		Requests, Notifications []metaMethod
		Structures              []metaStructure
		Enumerations            []metaEnumeration
		TypeAliases             []struct {
			Name string
			Type metaType
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, err
	}
	m := &MetaModel{methods: map[string]metaMethod{}, structures: map[string]metaStructure{}, enumerations: map[string]metaEnumeration{}, aliases: map[string]metaType{}}
	for _, r := range append(file.Requests, file.Notifications...) {
		m.methods[r.Method] = r
	}
	for _, s := range file.Structures {
		m.structures[s.Name] = s
	}
	for _, e := range file.Enumerations {
		m.enumerations[e.Name] = e
	}
	for _, a := range file.TypeAliases {
		m.aliases[a.Name] = a.Type
	}
	return m, nil
}

// Own reports whether a method is no matter of LSP: the server's own, or a
// test's.
func Own(method string) bool {
	return strings.HasPrefix(method, "agentls/") || strings.HasPrefix(method, "test/")
}

// Message checks a request or notification of the server: the method, its
// direction, the params. Methods of its own are not looked at.
func (m *MetaModel) Message(method string, params json.RawMessage) error {
	if Own(method) {
		return nil
	}
	def, ok := m.methods[method]
	if !ok {
		return fmt.Errorf("%s: LSP has no such method", method)
	}
	if def.Direction == "clientToServer" {
		return fmt.Errorf("%s: only clients send it", method)
	}
	if def.Params == nil {
		if len(params) > 0 && string(params) != "null" {
			return fmt.Errorf("%s: params %.100s, LSP has none", method, params)
		}
		return nil
	}
	if err := m.value(*def.Params, params, method); err != nil || method != "$/progress" {
		return err
	}
	return m.progress(params)
}

// progress checks the value of $/progress, which the meta model leaves open:
// all of ours is work done progress.
func (m *MetaModel) progress(params json.RawMessage) error {
	var p struct{ Value json.RawMessage }
	var v struct{ Kind string }
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	_ = json.Unmarshal(p.Value, &v) // an odd kind is said below
	names := map[string]string{"begin": "WorkDoneProgressBegin", "report": "WorkDoneProgressReport", "end": "WorkDoneProgressEnd"}
	if names[v.Kind] == "" {
		return fmt.Errorf("$/progress: value %.100s is no work done progress", p.Value)
	}
	return m.value(metaType{Kind: "reference", Name: names[v.Kind]}, p.Value, "$/progress.value")
}

// Result checks the result of a request of the client's.
func (m *MetaModel) Result(method string, result json.RawMessage) error {
	if strings.HasSuffix(method, "/resolve") {
		m = &MetaModel{m.methods, m.structures, m.enumerations, m.aliases, true} // what the client put in comes back
	}
	if def, ok := m.methods[method]; ok && def.Result != nil {
		return m.value(*def.Result, result, method)
	}
	return nil
}

// Type checks a value that is to be of a named type.
func (m *MetaModel) Type(name string, value json.RawMessage) error {
	return m.value(metaType{Kind: "reference", Name: name}, value, name)
}

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
