package lsptest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// Init is what initialize sends. The zero value is a stock client without a
// folder.
type Init struct {
	Root         string         // a folder's path
	Client       string         // clientInfo.name; "-" leaves clientInfo out
	Options      any            // initializationOptions
	Capabilities any            // nil: [Capabilities]
	Features     []string       // words in capabilities.experimental.agentls, of the default capabilities
	Extra        map[string]any // more params
}

// Initialize sends initialize and initialized, and returns the result.
func (e *Editor) Initialize(i Init) json.RawMessage {
	e.t.Helper()
	p := map[string]any{"processId": os.Getpid(), "clientInfo": map[string]any{"name": "lsptest", "version": "1"}}
	switch i.Client {
	case "":
	case "-":
		delete(p, "clientInfo")
	default:
		p["clientInfo"] = map[string]any{"name": i.Client, "version": "1"}
	}
	if i.Root != "" {
		uri := FileURI(i.Root)
		p["rootUri"], p["rootPath"] = uri, i.Root
		p["workspaceFolders"] = []any{map[string]any{"uri": uri, "name": filepath.Base(i.Root)}}
	}
	if i.Options != nil {
		p["initializationOptions"] = i.Options
	}
	p["capabilities"] = i.Capabilities
	if i.Capabilities == nil {
		p["capabilities"] = Capabilities(i.Features...)
	}
	maps.Copy(p, i.Extra)
	return e.InitializeParams(p)
}

// InitializeParams is Initialize with params of any kind, such as recorded
// ones.
func (e *Editor) InitializeParams(params any) json.RawMessage {
	e.t.Helper()
	result := e.Call("initialize", params)
	var r struct {
		Capabilities struct{ PositionEncoding string }
	}
	if err := json.Unmarshal(result, &r); err != nil {
		e.t.Fatalf("initialize answered %.200s: %v", result, err)
	}
	e.mu.Lock()
	e.utf8 = r.Capabilities.PositionEncoding == "utf-8"
	e.mu.Unlock()
	e.Notify("initialized", map[string]any{})
	return result
}

// Recorded reads a recorded initialize request and returns its params.
func (e *Editor) Recorded(file string) json.RawMessage {
	e.t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		e.t.Fatal(err)
	}
	var m struct{ Params json.RawMessage }
	if err := json.Unmarshal(raw, &m); err != nil {
		e.t.Fatal(err)
	}
	return m.Params
}

// FileURI is a path's URI, as editors write it.
func FileURI(path string) string {
	const plain = "-._~/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	var b strings.Builder
	b.WriteString("file://")
	if path = filepath.ToSlash(path); !strings.HasPrefix(path, "/") {
		b.WriteByte('/')
	}
	for _, c := range []byte(path) {
		if strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Capabilities are those of a modern stock client; features are announced in
// experimental.agentls.
func Capabilities(features ...string) map[string]any {
	words := map[string]any{}
	for _, f := range features {
		words[f] = true
	}
	type m = map[string]any
	return m{
		"general": m{"positionEncodings": []string{"utf-16"}},
		"window": m{
			"workDoneProgress": true, "showDocument": m{"support": true},
			"showMessage": m{"messageActionItem": m{"additionalPropertiesSupport": true}},
		},
		"workspace": m{
			"applyEdit": true, "workspaceFolders": true, "configuration": true,
			"workspaceEdit":          m{"documentChanges": true},
			"didChangeConfiguration": m{"dynamicRegistration": true},
		},
		"textDocument": m{
			"synchronization": m{"didSave": true},
			"completion": m{"contextSupport": true, "completionItem": m{
				"labelDetailsSupport": true, "insertReplaceSupport": true, "documentationFormat": []string{"markdown", "plaintext"},
				"resolveSupport": m{"properties": []string{"documentation", "detail"}},
			}},
			"codeAction": m{
				"codeActionLiteralSupport": m{"codeActionKind": m{"valueSet": []string{"", "quickfix", "refactor", "refactor.rewrite"}}},
				"resolveSupport":           m{"properties": []string{"edit", "command"}}, "dataSupport": true,
			},
			"publishDiagnostics": m{"relatedInformation": true},
		},
		"experimental": m{"agentls": words},
	}
}
