package lsptest

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMetaModel(t *testing.T) {
	m, err := LoadMetaModel()
	if err != nil {
		t.Fatal(err)
	}
	says := func(err error, want string) {
		t.Helper()
		switch {
		case want == "" && err != nil:
			t.Errorf("refused: %v", err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, c := range []struct{ method, params, want string }{
		{"window/showMessage", `{"type":1,"message":"x"}`, ""},
		{"window/showMessage", `{"type":9,"message":"x"}`, "type is 9, no MessageType"},
		{"window/showMessage", `{"type":1}`, "message is missing"},
		{"window/showMessage", `{"type":1,"message":"x","more":1}`, "more: LSP has no such member"},
		{"window/noSuch", `{}`, "no such method"},
		{"textDocument/hover", `{}`, "only clients send it"},
		{"workspace/codeLens/refresh", `{}`, "LSP has none"},
		{"workspace/codeLens/refresh", ``, ""},
		{"$/progress", `{"token":"a","value":{"kind":"end"}}`, ""},
		{"$/progress", `{"token":"a","value":{"kind":"begin"}}`, "title is missing"},
		{"$/progress", `{"token":"a","value":5}`, "no work done progress"},
		{"agentls/runEvent", `5`, "no object"},
		{"test/echo", `5`, ""},
		{"workspace/applyEdit", `{"edit":{"documentChanges":[{"textDocument":{"uri":"file:///a","version":null},"edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"newText":"x"}]}]}}`, ""},
		{"workspace/applyEdit", `{"edit":{"changes":{"file:///a":[{"range":{"start":{"line":-1,"character":0},"end":{"line":0,"character":0}},"newText":"x"}]}}}`, "line is -1, no uinteger"},
		{"textDocument/publishDiagnostics", `{"uri":"file:///a","diagnostics":null}`, "diagnostics is null, no list"},
		{"textDocument/publishDiagnostics", `{"uri":"a","diagnostics":[]}`, "uri is \"a\", no DocumentUri"},
	} {
		says(m.Message(c.method, json.RawMessage(c.params)), c.want)
	}
	for _, c := range []struct{ method, result, want string }{
		{"textDocument/completion", `null`, ""},
		{"textDocument/completion", `{"isIncomplete":false,"items":[{"label":"x","textEdit":{"newText":"x","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}}}]}`, ""},
		{"textDocument/completion", `{"isIncomplete":false,"items":[{"label":5}]}`, "label is 5, no string"},
		{"textDocument/completion", `{"items":[]}`, "isIncomplete is missing"},
		{"textDocument/codeAction", `[{"title":"x","kind":"quickfix","command":{"title":"x","command":"y","arguments":[{}]}}]`, ""},
		{"textDocument/codeAction", `[{"title":"x","command":{"title":"x"}}]`, "command.command is missing"},
		{"shutdown", `null`, ""},
		{"shutdown", `{}`, "no null"},
		{"textDocument/hover", `{"contents":{"kind":"html","value":""}}`, "kind is \"html\""},
		{"textDocument/semanticTokens/full", `{"data":[0,0,1,0,0]}`, ""},
		{"textDocument/semanticTokens/full", `{"data":[-1]}`, "no uinteger"},
	} {
		says(m.Result(c.method, json.RawMessage(c.result)), c.want)
	}
}
