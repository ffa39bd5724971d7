package lsptest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	commands     map[string]metaType // results, by command
	errorData    metaType
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
	m, err := readMetaModel(raw)
	if err != nil {
		return nil, err
	}
	return m, m.addContract()
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
	m := &MetaModel{methods: map[string]metaMethod{}, structures: map[string]metaStructure{}, enumerations: map[string]metaEnumeration{}, aliases: map[string]metaType{}, commands: map[string]metaType{}}
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

// Message checks a request or notification of the server: the method, its
// direction, the params. Those of a test ("test/…") are not looked at.
func (m *MetaModel) Message(method string, params json.RawMessage) error {
	if strings.HasPrefix(method, "test/") {
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
		lenient := *m
		lenient.open, m = true, &lenient // what the client put in comes back
	}
	if def, ok := m.methods[method]; ok && def.Result != nil {
		return m.value(*def.Result, result, method)
	}
	return nil
}
