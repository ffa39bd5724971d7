package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp/mcptest"
)

// commandMethod is how the rows of commands begin.
const commandMethod = "workspace/executeCommand "

// rightParams has params that are right for every method that the server
// takes, and the argument of every command. What is wrong is made out of them.
func rightParams(w *world) map[string]any {
	const doc, buffer = "file:///odd/doc.md", "untitled:odd.agentls.md"
	at := func(line, character int) obj { return obj{"line": line, "character": character} }
	span := obj{"start": at(0, 0), "end": at(1, 2)}
	in := func(uri string) obj { return obj{"uri": uri} }
	file := func(name string) obj { return obj{"uri": w.uri(name)} }
	diagnostic := obj{"range": span, "severity": 1, "message": "wrong", "source": "test", "code": 5}
	return map[string]any{
		"initialize":                        obj{"processId": nil, "clientInfo": obj{"name": "x", "version": "1"}, "rootUri": w.uri(""), "rootPath": w.root, "workspaceFolders": []any{obj{"uri": w.uri(""), "name": "ws"}}, "initializationOptions": obj{"workspaceTrusted": true, "notifications": "all"}, "capabilities": lsptest.Capabilities("runEvents"), "trace": "off", "workDoneToken": 1},
		"shutdown":                          nil,
		"textDocument/completion":           obj{"textDocument": in(buffer), "position": at(0, 1), "context": obj{"triggerKind": 2, "triggerCharacter": "@"}},
		"completionItem/resolve":            obj{"label": "x", "kind": 17, "data": obj{"server": "workspace", "uri": "file://README.md"}},
		"textDocument/hover":                obj{"textDocument": in(buffer), "position": at(0, 1)},
		"textDocument/documentLink":         obj{"textDocument": in(buffer)},
		"documentLink/resolve":              obj{"range": span, "target": "file:///x", "data": obj{"server": "workspace", "uri": "file://README.md"}},
		"textDocument/documentSymbol":       obj{"textDocument": in(buffer)},
		"textDocument/foldingRange":         obj{"textDocument": in(buffer)},
		"textDocument/semanticTokens/full":  obj{"textDocument": in(buffer)},
		"textDocument/semanticTokens/range": obj{"textDocument": in(buffer), "range": span},
		"textDocument/codeLens":             obj{"textDocument": in(buffer)},
		"codeLens/resolve":                  obj{"range": span, "command": obj{"title": "x", "command": "agentls.runs"}, "data": obj{"uri": buffer}},
		"textDocument/codeAction":           obj{"textDocument": in(doc), "range": span, "context": obj{"diagnostics": []any{diagnostic}, "only": []any{"quickfix"}, "triggerKind": 1}},
		"codeAction/resolve":                obj{"title": "x", "kind": "quickfix", "data": obj{"id": "x", "action": "fix"}},

		"exit":                                nil,
		"$/cancelRequest":                     obj{"id": 123456},
		"initialized":                         obj{},
		"textDocument/didOpen":                obj{"textDocument": obj{"uri": doc, "languageId": "markdown", "version": 1, "text": "a\nb𝄞c\r\nd"}},
		"textDocument/didChange":              obj{"textDocument": obj{"uri": doc, "version": 2}, "contentChanges": []any{obj{"range": span, "rangeLength": 3, "text": "x"}, obj{"text": "all\nnew\n"}}},
		"textDocument/didSave":                obj{"textDocument": in(doc), "text": "saved"},
		"textDocument/didClose":               obj{"textDocument": in(doc)},
		"workspace/didChangeWatchedFiles":     obj{"changes": []any{obj{"uri": w.uri("x.md"), "type": 2}}},
		"workspace/didCreateFiles":            obj{"files": []any{file("x.md")}},
		"workspace/didDeleteFiles":            obj{"files": []any{file("x.md")}},
		"workspace/didRenameFiles":            obj{"files": []any{obj{"oldUri": w.uri("x.md"), "newUri": w.uri("y.agentls.md")}}},
		"workspace/didChangeConfiguration":    obj{"settings": obj{"agentls": obj{"notifications": "all", "limits": obj{"steps": 5}}}},
		"workspace/didChangeWorkspaceFolders": obj{"event": obj{"added": []any{obj{"uri": w.uri("sub"), "name": "sub"}}, "removed": []any{obj{"uri": w.uri("sub"), "name": "sub"}}}},
		"window/workDoneProgress/cancel":      obj{"token": "none"},
		"agentls/didChangeDiagnostics":        obj{"uri": doc},

		commandMethod + "agentls.ask":            obj{"prompt": "hi", "mode": "react", "session": "s1", "document": obj{"uri": buffer, "range": span, "version": 1, "diagnostics": []any{diagnostic}}, "action": "explain", "detached": false},
		commandMethod + "agentls.send":           obj{"uri": buffer, "position": at(0, 0), "mode": "react", "detached": false, "stream": true},
		commandMethod + "agentls.new":            obj{"document": obj{"uri": buffer, "range": span}, "mode": "react"},
		commandMethod + "agentls.cancel":         obj{"runId": "nosuch"},
		commandMethod + "agentls.runs":           obj{},
		commandMethod + "agentls.steer":          obj{"runId": "nosuch", "text": "more"},
		commandMethod + "agentls.approvals":      obj{},
		commandMethod + "agentls.approve":        obj{"id": "nosuch", "decision": "deny", "reason": "no", "arguments": obj{"a": 1}, "content": obj{"a": "b"}},
		commandMethod + "agentls.undo":           obj{"runId": "nosuch"},
		commandMethod + "agentls.session.list":   obj{"session": "s1"},
		commandMethod + "agentls.session.show":   obj{"session": "s1"},
		commandMethod + "agentls.session.fork":   obj{"session": "s1"},
		commandMethod + "agentls.session.clear":  obj{"session": "s1"},
		commandMethod + "agentls.session.delete": obj{"session": "s1"},
		commandMethod + "agentls.mcp.servers":    obj{},
		commandMethod + "agentls.mcp.resources":  obj{"server": "fake", "query": "a", "limit": 5, "cursor": "x"},
		commandMethod + "agentls.mcp.tools":      obj{"server": "fake", "query": "a", "limit": 5, "cursor": "x"},
		commandMethod + "agentls.mcp.prompts":    obj{"server": "fake", "query": "a", "limit": 5, "cursor": "x"},
		commandMethod + "agentls.mcp.complete":   obj{"server": "fake", "prompt": "review", "argument": "file", "value": "d", "arguments": obj{"a": "b"}},
		commandMethod + "agentls.mcp.read":       obj{"server": "workspace", "uri": "file://README.md"},
		commandMethod + "agentls.mcp.usePrompt":  obj{"server": "fake", "name": "nosuch", "arguments": obj{"a": "b"}, "session": "s1", "run": false, "runId": "r1"},
		commandMethod + "agentls.mcp.restart":    obj{"server": "fake"},
		commandMethod + "agentls.mcp.enable":     obj{"server": "fake"},
		commandMethod + "agentls.mcp.disable":    obj{"server": "fake"},
		commandMethod + "agentls.mcp.logs":       obj{"server": "fake"},
		commandMethod + "agentls.mcp.trust":      obj{"server": "fake", "trust": true, "fingerprint": "x"},
		commandMethod + "agentls.mcp.login":      obj{"server": "fake", "redirectUrl": "http://127.0.0.1:1/x"},
		commandMethod + "agentls.mcp.logout":     obj{"server": "fake"},
		commandMethod + "agentls.model":          obj{"provider": "offline", "model": "x"},
		commandMethod + "agentls.setup":          obj{"provider": "offline", "baseURL": "http://127.0.0.1:1/v1", "model": "x"},
		commandMethod + "agentls.audit":          obj{"limit": 5, "tool": "x", "runId": "x"},
	}
}

// methodsOf names the methods in the switch of a func of dispatch.go.
func methodsOf(t *testing.T, function string) (methods []string) {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), "dispatch.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
				if s, _ := strconv.Unquote(lit.Value); strings.Contains(s, "/") || !strings.Contains(s, " ") {
					methods = append(methods, s)
				}
			}
			return true
		})
	}
	if len(methods) < 5 {
		t.Fatalf("func %s of dispatch.go names %q", function, methods)
	}
	return methods
}

// wrong are values of every kind that a field is not meant to have.
var wrong = []string{
	"null", "[]", "{}", `""`, `"x"`, "0", "-1", "1.5", "7.0", "1e308", "1e999", "-99999999999999999999999", "2147483648", "true",
	`"\ud800"`, `"a\u0000b"`, "[[1]]", "[null]", `{"a":{"b":null}}`, `"` + "%00" + `"`,
}

// variants are params with one thing wrong each, as they stand on the wire.
func variants(right any) (list []string) {
	list = append(list, "", "null", "[]", "{}", `""`, "0", "true", "[1]", nested(10_000), nested(100_000))
	var walk func(v any, put func(text string) string)
	walk = func(v any, put func(text string) string) {
		for _, text := range wrong {
			list = append(list, put(text))
		}
		list = append(list, put(nested(9_900)))
		switch v := v.(type) {
		case string:
			list = append(list, put(`"`+strings.Repeat("x", 1<<20)+`"`))
		case map[string]any:
			for key, below := range v {
				with := func(text string) string {
					part := []string{`"extra":` + nested(3)}
					for other, value := range v {
						if other != key {
							part = append(part, strconv.Quote(other)+":"+string(mustJSON(value)))
						} else if text != "" {
							part = append(part, strconv.Quote(other)+":"+text)
						}
					}
					return put("{" + strings.Join(part, ",") + "}")
				}
				list = append(list, with("")) // it is missing
				walk(below, with)
			}
			if v["start"] != nil { // a range: reversed, and beyond the end
				list = append(list, put(`{"start":{"line":9,"character":9},"end":{"line":0,"character":0}}`), put(`{"start":{"line":4294967295,"character":4294967295},"end":{"line":4294967295,"character":4294967295}}`))
			}
		case []any:
			for i, below := range v {
				walk(below, func(text string) string {
					parts := make([]string, len(v))
					for j, other := range v {
						parts[j] = string(mustJSON(other))
					}
					parts[i] = text
					return put("[" + strings.Join(parts, ",") + "]")
				})
			}
		}
	}
	walk(right, func(text string) string { return text })
	return list
}

// nested is a list in a list in a list.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// SilasMarvin/lsp-ai main.rs: one bad notification ended the server. Whatever
// is wrong with a message of any method, a request is answered, the server
// lives, and what is right works after it.
func TestMalformedParamsOfEveryMethod(t *testing.T) {
	w := newWorld(t, setup{
		before: func(s *Server) { s.o.Log = slog.New(noPanics{s.o.Log.Handler(), t}) },
		llm:    agenttest.NewLLM(t), servers: map[string]mcptest.Options{"fake": {}}, files: map[string]string{"sub/x.md": ""},
		init: lsptest.Init{Features: []string{"diagnostics"}}, answers: map[string]lsptest.Answer{"agentls/diagnostics": func(json.RawMessage) (any, error) { return nil, nil }},
	})
	for _, method := range []string{"completionItem/resolve", "codeAction/resolve", "documentLink/resolve", "codeLens/resolve", "textDocument/codeAction"} {
		w.Echoes(method)
	}
	w.awaitMention("@workspace:file://README.md", true)
	w.Open("untitled:good", "agentls", "@workspace:file://READ")
	good := func(after string) {
		t.Helper()
		raw, err := w.Start("textDocument/completion", obj{"textDocument": obj{"uri": "untitled:good"}, "position": obj{"line": 0, "character": 22}}).Wait()
		if err != nil || !strings.Contains(string(raw), "README.md") {
			t.Fatalf("after %s a completion is %.300s, %v", after, raw, err)
		}
	}
	rows := rightParams(w)
	var requests []string
	for _, method := range methodsOf(t, "route") {
		if method != "workspace/executeCommand" {
			requests = append(requests, method)
		}
	}
	for _, c := range commands() {
		requests = append(requests, commandMethod+c.name)
	}
	notifications := methodsOf(t, "notification")
	for _, method := range append(requests, notifications...) {
		if _, ok := rows[method]; !ok {
			t.Errorf("%s has no row in rightParams (malformed_test.go): add params that are right for it", method)
		}
	}
	total := 0
	prepared := func() { // what the others are about
		w.Notify("textDocument/didOpen", rows["textDocument/didOpen"])
		w.Notify("textDocument/didOpen", obj{"textDocument": obj{"uri": "untitled:odd.agentls.md", "languageId": "agentls", "version": 1, "text": "## You\n\n@workspace:file://README.md\n"}})
	}
	for _, method := range append(slices.Clone(requests), notifications...) {
		if ends := []string{"initialize", "shutdown", "exit"}; slices.Contains(ends, method) {
			continue // TestMalformedParamsOfTheLifeCycle
		}
		prepared()
		for _, params := range variants(rows[method]) {
			total++
			if slices.Contains(notifications, method) {
				w.NotifyText(method, params)
				continue
			}
			name, command, isCommand := strings.Cut(method, " ")
			if isCommand {
				if params != "" {
					params = `,"arguments":[` + params + `]`
				}
				params = fmt.Sprintf(`{"command":%q%s}`, command, params)
			}
			if _, err := w.StartText(name, params).Wait(); err != nil && err.Code == -32603 {
				t.Errorf("%s with %.200s: %v", method, params, err)
			}
		}
		good(method)
	}
	for _, params := range variants(obj{"command": "agentls.runs", "arguments": []any{obj{}}, "workDoneToken": "t"}) {
		if _, err := w.StartText("workspace/executeCommand", params).Wait(); err != nil && err.Code == -32603 {
			t.Errorf("workspace/executeCommand with %.200s: %v", params, err)
		}
	}
	good("workspace/executeCommand")
	t.Logf("%d messages", total)
}

// However initialize looks it is answered, and the server serves.
func TestMalformedParamsOfTheLifeCycle(t *testing.T) {
	o := testOptions(t)
	w := &world{house: &house{root: o.StateDir}}
	rows := rightParams(w)
	for _, method := range []string{"initialize", "shutdown", "exit"} {
		all := variants(rows[method])
		if method == "initialize" {
			all = slices.DeleteFunc(all, func(p string) bool { return len(p) > 1<<20 })
		}
		for _, params := range all {
			e, _ := served(t, testOptions(t), nil)
			if method != "initialize" {
				e.Initialize(lsptest.Init{})
			}
			switch method {
			case "exit":
				e.NotifyText(method, params)
				if code, err := e.Wait(); code != 1 || err != nil {
					t.Errorf("exit with %.100s: %d, %v", params, code, err)
				}
				continue
			case "shutdown":
				if _, err := e.StartText(method, params).Wait(); err != nil && !tooDeep(params) {
					t.Errorf("shutdown with %.100s: %v", params, err)
				}
				continue
			}
			if _, err := e.StartText(method, params).Wait(); err != nil && !tooDeep(params) {
				t.Errorf("initialize with %.200s: %v", params, err)
			}
			e.Close()
		}
	}
}

// Outside of its life the server serves nothing, and says so: every request is
// refused, every notification passed over.
func TestEveryMethodOutsideOfTheLifeCycle(t *testing.T) {
	o := testOptions(t)
	rows := rightParams(&world{house: &house{root: o.StateDir}})
	e, s := served(t, o, nil)
	refused := func(method string, code int) {
		t.Helper()
		params := rows[method]
		if method == "workspace/executeCommand" {
			params = obj{"command": "agentls.runs"}
		}
		if _, err := e.Start(method, params).Wait(); err == nil || err.Code != code || !strings.Contains(err.Message, method) && code != -32601 {
			t.Errorf("%s: %v, want %d", method, err, code)
		}
	}
	requests := append(methodsOf(t, "route"), "no/such")
	notifications := slices.DeleteFunc(methodsOf(t, "notification"), func(m string) bool { return m == "exit" })
	for _, method := range requests {
		if method != "initialize" {
			refused(method, -32002)
		}
	}
	for _, method := range notifications {
		e.Notify(method, rows[method])
	}
	e.Initialize(lsptest.Init{})
	if len(s.o.State.Folders()) > 0 || len(s.docs.open) > 0 {
		t.Error("a notification before initialize counted")
	}
	refused("initialize", -32600) // once more
	refused("no/such", -32601)
	e.Call("shutdown", nil)
	for _, method := range requests {
		refused(method, -32600)
	}
	for _, method := range notifications {
		e.Notify(method, rows[method])
	}
	e.Notify("exit", nil)
	if code, err := e.Wait(); code != 0 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	if len(s.docs.open) > 0 {
		t.Error("a notification after shutdown counted")
	}
}

// noPanics fails the test over a panic that was recovered.
type noPanics struct {
	slog.Handler
	t *testing.T
}

func (h noPanics) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "panic") {
		r.Attrs(func(a slog.Attr) bool { h.t.Errorf("%s: %s: %.3000s", r.Message, a.Key, a.Value); return true })
	}
	return h.Handler.Handle(ctx, r)
}

// tooDeep: such a message is no JSON to the decoder.
func tooDeep(params string) bool { return strings.Contains(params, nested(9_990)) }
