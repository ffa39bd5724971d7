package lsptest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Contract is editors/contract.json: what is said beside LSP. A type is
// written as TypeScript writes it: string, integer, number, boolean, any, null,
// 'word', T[], Record<string, T>, T | U, the name of one of Types or Enums, or
// lsp.T of LSP. A field "name?" may be left out.
type Contract struct {
	Comment       string                       `json:"comment"`
	Features      []string                     `json:"features"` // experimental.agentls
	Commands      map[string]CommandContract   `json:"commands"`
	Requests      map[string]MethodContract    `json:"requests"` // of the server
	Notifications map[string]MethodContract    `json:"notifications"`
	ErrorData     string                       `json:"errorData"` // of a run's -32800 and -32803
	Types         map[string]map[string]string `json:"types"`
	Enums         map[string][]string          `json:"enums"`
}

// CommandContract is one command of workspace/executeCommand.
type CommandContract struct {
	Bare     string            `json:"bare,omitempty"`    // the field that a bare string stands for
	Guarded  bool              `json:"guarded,omitempty"` // not announced to a client with approvals
	Argument map[string]string `json:"argument"`
	Result   string            `json:"result"`
}

// MethodContract is one method of our own.
type MethodContract struct {
	Params     string `json:"params"`
	Result     string `json:"result,omitempty"`
	FromClient bool   `json:"fromClient,omitempty"`
}

// addContract adds what editors/contract.json says to what LSP says.
func (m *MetaModel) addContract() error {
	raw, err := os.ReadFile(contractPath())
	if err != nil {
		return fmt.Errorf("what is said beside LSP is in editors/contract.json, which go test ./lsp -run TestContract -update writes: %w", err)
	}
	var c Contract
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("editors/contract.json: %w", err)
	}
	for name, fields := range c.Types {
		m.structures["agentls."+name] = structureOf(name, fields)
	}
	for name, words := range c.Enums {
		e := metaEnumeration{Name: name, Type: metaType{Kind: "base", Name: "string"}}
		for _, word := range words {
			e.Values = append(e.Values, struct{ Value any }{word})
		}
		m.enumerations["agentls."+name] = e
	}
	for name, row := range c.Requests {
		params, result := typeOf(row.Params), typeOf(row.Result)
		m.methods[name] = metaMethod{name, "serverToClient", &params, &result}
	}
	for name, row := range c.Notifications {
		params, direction := typeOf(row.Params), "serverToClient"
		if row.FromClient {
			direction = "clientToServer"
		}
		m.methods[name] = metaMethod{name, direction, &params, nil}
	}
	for name, row := range c.Commands {
		m.commands[name] = typeOf(row.Result)
	}
	m.errorData = typeOf(c.ErrorData)
	return nil
}

// contractPath finds the file from any package of the module.
func contractPath() string {
	dir := "."
	for range 10 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Join(dir, "..")
	}
	return filepath.Join(dir, "editors", "contract.json")
}

func structureOf(name string, fields map[string]string) metaStructure {
	s := metaStructure{Name: name}
	for field, expr := range fields {
		name, optional := strings.CutSuffix(field, "?")
		s.Properties = append(s.Properties, metaProperty{name, typeOf(expr), optional})
	}
	return s
}

// typeOf reads a type as [Contract] writes it.
func typeOf(expr string) metaType {
	if parts := strings.Split(expr, " | "); len(parts) > 1 {
		t := metaType{Kind: "or"}
		for _, part := range parts {
			t.Items = append(t.Items, typeOf(part))
		}
		return t
	}
	if item, ok := strings.CutSuffix(expr, "[]"); ok {
		of := typeOf(item)
		return metaType{Kind: "array", Element: &of}
	}
	if value, ok := strings.CutPrefix(expr, "Record<string, "); ok {
		return metaType{Kind: "map", Value: mustJSON(typeOf(strings.TrimSuffix(value, ">")))}
	}
	if word, ok := strings.CutPrefix(expr, "'"); ok {
		return metaType{Kind: "stringLiteral", Value: mustJSON(strings.TrimSuffix(word, "'"))}
	}
	switch expr {
	case "any":
		return metaType{Kind: "reference", Name: "LSPAny"}
	case "number":
		return metaType{Kind: "base", Name: "decimal"}
	case "string", "integer", "boolean", "null":
		return metaType{Kind: "base", Name: expr}
	}
	if name, ok := strings.CutPrefix(expr, "lsp."); ok {
		return metaType{Kind: "reference", Name: name}
	}
	return metaType{Kind: "reference", Name: "agentls." + expr}
}

// CommandResult checks the result of a command; one that the contract does not
// know is not looked at.
func (m *MetaModel) CommandResult(command string, result json.RawMessage) error {
	if t, ok := m.commands[command]; ok {
		return m.value(t, result, command)
	}
	return nil
}

// RunError checks the data of the error of a run.
func (m *MetaModel) RunError(data json.RawMessage) error {
	return m.value(m.errorData, data, "data")
}

// CommandOf is the command of a request; "" where it is none.
func CommandOf(method string, params json.RawMessage) string {
	var p struct{ Command string }
	if method == "workspace/executeCommand" {
		_ = json.Unmarshal(params, &p) // a test may send anything
	}
	return p.Command
}
