package lsp

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

func TestMalformedArguments(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	w.Open("file:///x/notes.txt", "plaintext", "hi")
	w.Open("file:///x/empty.agentls.md", "markdown", "## You\n\n")
	for _, c := range []struct {
		command string
		arg     any
		says    string // in the message
	}{
		{"agentls.nosuch", nil, `unknown command "agentls.nosuch"`},
		{"agentls.aks", nil, "did you mean agentls.ask"},
		{"ask", nil, "did you mean agentls.ask"},
		{"agentls.servers", nil, "did you mean agentls.mcp.servers"},
		{"", nil, "unknown command"},

		{"agentls.ask", nil, "open a prompt buffer"},
		{"agentls.ask", obj{}, "open a prompt buffer"},
		{"agentls.ask", obj{"prompt": " \n"}, "open a prompt buffer"},
		{"agentls.ask", obj{"prompt": 5}, "prompt must be a string, not number"},
		{"agentls.ask", 5, "takes one object or prompt as a string, not 5"},
		{"agentls.ask", []any{"a"}, "takes one object"},
		{"agentls.ask", obj{"promt": "x"}, `unknown field "promt"; did you mean prompt?`},
		{"agentls.ask", obj{"prompt": "x", "mode": "fast"}, `mode must be one of react, plan`},
		{"agentls.ask", obj{"prompt": "x", "action": "fix"}, "the action fix needs a document"},
		{"agentls.ask", obj{"prompt": "x", "action": "refactor"}, "action must be one of fix, explain, rewrite, test, document, not \"refactor\""},
		{"agentls.ask", obj{"action": "fix", "document": obj{"uri": "file:///x/notes.txt", "range": obj{"start": obj{"line": 7, "character": 0}, "end": obj{"line": 8, "character": 0}}}}, "there is no text"},
		{"agentls.ask", obj{"prompt": "x", "session": ""}, "session must be 1 to 128 printable characters"},
		{"agentls.ask", obj{"prompt": "x", "session": "a\nb"}, "session must be"},
		{"agentls.ask", obj{"prompt": "x", "session": strings.Repeat("a", 129)}, "session must be"},
		{"agentls.ask", obj{"prompt": "x", "runId": "\u202e"}, "runId must be"},
		{"agentls.ask", obj{"prompt": "x", "detached": "yes"}, "detached must be true or false, not string"},
		{"agentls.ask", obj{"prompt": "x", "document": "file:///x"}, "document must be an object"},
		{"agentls.ask", obj{"prompt": "x", "document": obj{}}, "document.uri is missing"},
		{"agentls.ask", obj{"prompt": "x", "document": obj{"uri": "buffer:1"}}, "not open in the editor"},
		{"agentls.ask", obj{"prompt": "x", "document": obj{"uri": "file:///etc/passwd"}}, "neither open in the editor nor inside"},
		{"agentls.ask", obj{"prompt": "x", "document": obj{"uri": lsptest.FileURI(w.root) + "/../../x"}}, "neither open in the editor nor inside"},
		{"agentls.ask", obj{"prompt": "x", "document": obj{"uri": lsptest.FileURI(w.root + "/nosuch.txt")}}, "nosuch.txt cannot be read"},
		{"agentls.ask", obj{"prompt": "x", "document": obj{"uri": lsptest.FileURI(w.root)}}, "not a regular file"},
		{"agentls.ask", obj{"prompt": "x", "document": obj{"uri": "file:///x/notes.txt", "range": obj{}}}, "document.range must have start and end"},
		{"agentls.ask", obj{"prompt": "x", "document": obj{"uri": "file:///x/notes.txt", "range": obj{"start": obj{"line": -1, "character": 0}}}}, "both whole numbers from 0"},
		{"agentls.ask", obj{"prompt": strings.Repeat("x", promptMax+1)}, "the prompt has 1000001 characters"},

		{"agentls.send", nil, "uri is missing"},
		{"agentls.send", obj{"uri": "file:///x/nosuch.agentls.md"}, "not open in the editor"},
		{"agentls.send", obj{"uri": "file:///x/notes.txt"}, "is no prompt buffer"},
		{"agentls.send", obj{"uri": "file:///x/empty.agentls.md"}, "there is no prompt there"},
		{"agentls.send", obj{"uri": "file:///x/empty.agentls.md", "position": obj{"line": 0}}, "both whole numbers from 0"},
		{"agentls.send", obj{"uri": "file:///x/empty.agentls.md", "stream": 1}, "stream must be true or false"},
		{"agentls.send", obj{"uri": "file:///x/empty.agentls.md", "mode": "fast"}, "mode must be one of"},

		{"agentls.new", "x", "takes one object"},
		{"agentls.new", obj{"mode": "fast"}, "mode must be one of"},
		{"agentls.new", obj{"document": obj{"uri": "buffer:1"}}, "not open in the editor"},
		{"agentls.new", obj{"document": obj{"uri": lsptest.FileURI(w.root + "/nosuch.txt")}}, "nosuch.txt cannot be read"},

		{"agentls.cancel", obj{"runId": 1}, "runId must be a string"},
		{"agentls.cancel", obj{"id": "1"}, `unknown field "id"`},
		{"agentls.runs", "x", "takes one object"},
		{"agentls.runs", obj{"x": 1}, `unknown field "x"`},
		{"agentls.approvals", obj{"x": 1}, `unknown field "x"`},
		{"agentls.approve", nil, "id is missing"},
		{"agentls.approve", "some id", "takes one object"},
		{"agentls.approve", obj{"id": "1"}, "decision is missing"},
		{"agentls.approve", obj{"id": "1", "decision": "allow"}, "decision must be one of once, session, always, deny"},
		{"agentls.approve", obj{"id": "1", "decision": "once", "arguments": []any{}}, "arguments must be an object"},

		{"agentls.steer", nil, "runId is missing"},
		{"agentls.steer", "r", "takes one object"},
		{"agentls.steer", obj{"runId": "r"}, "there is no text"},
		{"agentls.steer", obj{"runId": "r", "text": " \n"}, "there is no text"},
		{"agentls.steer", obj{"runId": 1, "text": "x"}, "runId must be a string"},
		{"agentls.steer", obj{"runId": "r", "text": strings.Repeat("é", promptMax+1)}, "the most is 1000000"},

		{"agentls.session.list", obj{"x": 1}, `unknown field "x"`},
		{"agentls.session.show", nil, "session is missing"},
		{"agentls.session.show", obj{"session": 1}, "session must be a string"},
		{"agentls.session.fork", "a\nb", "1 to 128 printable characters"},
		{"agentls.session.clear", obj{}, "session is missing"},
		{"agentls.session.delete", strings.Repeat("x", 129), "1 to 128 printable characters"},
		{"agentls.session.delete", "nosuch", `there is no session "nosuch" in this folder`},

		{"agentls.mcp.servers", obj{"server": "x"}, `unknown field "server"`},
		{"agentls.mcp.resources", nil, "server is missing"},
		{"agentls.mcp.resources", "workspaec", "did you mean workspace"},
		{"agentls.mcp.resources", obj{"server": "workspace", "limit": 0}, "limit must be from 1 to"},
		{"agentls.mcp.resources", obj{"server": "workspace", "limit": 1.5}, "limit must be a whole number"},
		{"agentls.mcp.resources", obj{"server": "workspace", "cursor": "x"}, "cursor"},
		{"agentls.mcp.tools", obj{"server": 1}, "server must be a string"},
		{"agentls.mcp.tools", obj{"server": "workspace", "query": 1}, "query must be a string"},
		{"agentls.mcp.prompts", obj{"server": "nosuch"}, `no server is named "nosuch"`},
		{"agentls.mcp.read", nil, "server is missing"},
		{"agentls.mcp.read", "workspace", "takes one object"},
		{"agentls.mcp.read", obj{"server": "workspace"}, "uri is missing"},
		{"agentls.mcp.read", obj{"server": "workspace", "uri": "file://nosuch.txt"}, "not found"},
		{"agentls.mcp.restart", obj{"server": "nosuch"}, `no server is named "nosuch"`},
		{"agentls.mcp.enable", "workspace", "the server is part of agentls"},
		{"agentls.mcp.disable", obj{"server": "workspace"}, "the server is part of agentls"},
		{"agentls.mcp.disable", nil, "server is missing"},
		{"agentls.mcp.logs", "workspaec", "did you mean workspace"},
		{"agentls.mcp.logs", obj{"server": "workspace", "limit": 0}, "limit must be from 1 to"},
		{"agentls.mcp.login", obj{"server": "workspace", "redirectUrl": "http://x"}, "leave redirectUrl out"},
		{"agentls.mcp.logout", obj{"server": "workspace", "redirectUrl": "http://x"}, "leave it out"},
		{"agentls.mcp.logout", "nosuch", `no server is named "nosuch"`},
		{"agentls.mcp.trust", obj{"server": "workspace"}, "trust is missing"},
		{"agentls.mcp.trust", obj{"server": "workspace", "trust": "yes"}, "trust must be true or false"},
		{"agentls.audit", obj{"limit": 0}, "limit must be from 1 to 1000"},
		{"agentls.audit", obj{"limit": 1001}, "limit must be from 1 to 1000"},
		{"agentls.audit", obj{"limit": "10"}, "limit must be a whole number, not string"},
	} {
		t.Run(c.command, func(t *testing.T) {
			if err := failure(t, w.StartCommand(c.command, c.arg, nil), -32602); !strings.Contains(err.Message, c.says) {
				t.Errorf("%v: %q does not say %q", c.arg, err.Message, c.says)
			}
		})
	}
	for name, params := range map[string]any{
		"no params": nil, "a list": []any{1}, "a text": "x", "arguments of another type": obj{"command": "agentls.runs", "arguments": obj{}},
		"a command of another type": obj{"command": 1}, "two arguments": obj{"command": "agentls.ask", "arguments": []any{"say", "hi"}},
	} {
		t.Run(name, func(t *testing.T) { failure(t, w.Start("workspace/executeCommand", params), -32602) })
	}
	if r := result[agent.Result](t, w.ask("still alive?", nil)); r.Text != "done" {
		t.Errorf("after all that: %+v", r)
	}
}

func TestTolerantArguments(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	for name, arguments := range map[string]any{"none": nil, "empty": []any{}, "null": []any{nil}, "Lua's empty table": []any{[]any{}}, "object": []any{obj{}}} {
		t.Run(name, func(t *testing.T) {
			result[[]runInfo](t, w.Start("workspace/executeCommand", obj{"command": "agentls.runs", "arguments": arguments}))
		})
	}
	arg := obj{"prompt": "x", "session": nil, "mode": nil, "document": nil, "detached": nil}
	if r := result[agent.Result](t, w.StartCommand("agentls.ask", arg, nil)); r.Text != "done" {
		t.Errorf("null fields: %+v", r)
	}
}

func TestAnnouncedCommands(t *testing.T) {
	all := []string{
		"agentls.ask", "agentls.send", "agentls.new", "agentls.cancel", "agentls.runs", "agentls.steer", "agentls.approvals", "agentls.approve", "agentls.undo",
		"agentls.session.list", "agentls.session.show", "agentls.session.fork", "agentls.session.clear", "agentls.session.delete", "agentls.mcp.servers", "agentls.mcp.resources",
		"agentls.mcp.tools", "agentls.mcp.prompts", "agentls.mcp.complete", "agentls.mcp.read", "agentls.mcp.restart", "agentls.mcp.enable", "agentls.mcp.disable", "agentls.mcp.logs", "agentls.mcp.trust",
		"agentls.mcp.login", "agentls.mcp.logout", "agentls.mcp.usePrompt", "agentls.model", "agentls.setup", "agentls.audit",
	}
	if got := (&Server{}).commandNames(); !slices.Equal(got, all) {
		t.Errorf("to a stock client %v", got)
	}
	guarded := []string{"agentls.approve", "agentls.undo", "agentls.mcp.trust", "agentls.mcp.enable", "agentls.model", "agentls.setup"}
	some := slices.DeleteFunc(slices.Clone(all), func(c string) bool { return slices.Contains(guarded, c) })
	if got := (&Server{peer: peer{features: features{approvals: true}}}).commandNames(); !slices.Equal(got, some) {
		t.Errorf("to a client with approvals %v", got)
	}
	// What is not announced still answers its direct requests.
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), init: lsptest.Init{Features: []string{"approvals"}}})
	if r := commandAs[map[string]bool](w, "agentls.approve", obj{"id": "x", "decision": "deny"}); r["resolved"] {
		t.Errorf("resolved %v", r)
	}
}

// FuzzCommand: whatever the arguments are, they are decoded or refused as bad
// arguments, in bounded words.
func FuzzCommand(f *testing.F) {
	f.Add([]byte(`{"command":"agentls.x","arguments":[{"prompt":"p","document":{"uri":"u","range":{"start":{"line":1.0,"character":2}}}}],"workDoneToken":7}`))
	f.Add([]byte(`{"command":"agentls.x","arguments":["text"],"workDoneToken":"t"}`))
	f.Add([]byte(`{"command":"agentls.x","arguments":[[]]}`))
	f.Add([]byte(`{"command":5,"arguments":null}`))
	s := &Server{}
	s.settings = newSettings(s)
	f.Fuzz(func(t *testing.T, params []byte) {
		ask := command{name: "agentls.x", bare: "prompt", prepare: takes(func(_ *Server, _ context.Context, arg askArg, _ invocation) (serveFunc, error) {
			return nil, label("agentls.x", "session", arg.Session)
		})}
		_, err := invoke([]command{ask}, s, t.Context(), params)
		if bad, ok := errors.AsType[*paramsError](err); err != nil && (!ok || len(bad.message) > 2000) {
			t.Errorf("%s: %v", params, err)
		}
		w := question{choices: []choice{{title: "Deny", decision: agent.DecisionDeny}, {title: "Allow once", decision: agent.DecisionOnce}}}
		if a := w.chosen(chosenTitle(params)); a.Decision == agent.DecisionOnce && !bytes.Contains(params, []byte("Allow")) && !bytes.Contains(params, []byte(`\u`)) {
			t.Errorf("%s allows", params)
		}
	})
}
