package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// inputWorld has a .vscode/mcp.json whose server "s" needs the inputs. Trust
// is given by command; answer answers the rest.
func inputWorld(t *testing.T, init lsptest.Init, inputs []obj, answer lsptest.Answer) *world {
	t.Helper()
	servers := serverEntries(t, map[string]mcptest.Options{"s": {}})
	env := servers["s"].(obj)["env"].(map[string]string)
	for _, in := range inputs {
		env["GIVEN_"+in["id"].(string)] = "<${input:" + in["id"].(string) + "}>"
	}
	file, err := json.Marshal(obj{"inputs": inputs, "servers": servers})
	if err != nil {
		t.Fatal(err)
	}
	llm := agenttest.NewLLM(t, agenttest.Call(agent.ToolCall{ID: "1", Name: "mcp__s__env", Arguments: "{}"}), agenttest.Text("done"))
	trusting := func(p json.RawMessage) (any, error) {
		if strings.Contains(string(p), "Trust and start") {
			return obj{"title": "Trust and start"}, nil
		}
		if strings.Contains(string(p), `"kind":"trust"`) {
			return obj{"decision": "once"}, nil
		}
		return answer(p)
	}
	return newWorld(t, setup{
		llm: llm, init: init, options: obj{"approval": obj{"default": "allow"}}, files: map[string]string{".vscode/mcp.json": string(file)},
		answers: map[string]lsptest.Answer{"window/showMessageRequest": trusting, "agentls/approve": trusting, "agentls/elicit": trusting},
	})
}

// awaitInput waits for the question in agentls.approvals.
func (w *world) awaitInput() (open approvalInfo) {
	w.t.Helper()
	poll(w.t, "question for an input", func() bool {
		for _, a := range commandAs[[]approvalInfo](w, "agentls.approvals", nil) {
			if a.Kind == "input" {
				open = a
				return true
			}
		}
		return false
	})
	return open
}

func TestPickByAStockClient(t *testing.T) {
	check := func(name string, title any, want mcp.Status) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 1)
			w := inputWorld(t, lsptest.Init{}, []obj{{"id": "stage", "type": "pickString", "description": "Which stage?", "options": []string{"dev", "prod"}}}, func(p json.RawMessage) (any, error) {
				asked <- string(p)
				if title == nil {
					return nil, nil
				}
				return obj{"title": title}, nil
			})
			w.awaitStatus("s", want)
			got := <-asked
			if !strings.Contains(got, `s: Which stage? (the input \"stage\", which this server needs before it can start)`) ||
				!strings.Contains(got, `"actions":[{"title":"Not now"},{"title":"dev"},{"title":"prod"}]`) {
				t.Errorf("asked %s", got)
			}
			i := w.serverInfo("s")
			if want == mcp.StatusFailed && (!strings.Contains(i.Error, "restart the server (agentls.mcp.restart) to be asked again") || i.Needs == "") {
				t.Errorf("%+v", i)
			}
			if want == mcp.StatusFailed {
				commandAs[mcp.ServerInfo](w, "agentls.mcp.restart", "s")
				<-asked
			}
		})
	}
	check("an option", "prod", mcp.StatusReady)
	check("Not now", "Not now", mcp.StatusFailed)
	check("dismissed", nil, mcp.StatusFailed)
	check("no option", "production", mcp.StatusFailed)
}

// A stock client cannot be asked for a text: a message says what to do, and
// the question stays open.
func TestTextOfAStockClientIsGivenByCommand(t *testing.T) {
	w := inputWorld(t, lsptest.Init{}, []obj{{"id": "api](x)", "type": "promptString", "description": "The \u202ekey", "default": "d"}}, func(p json.RawMessage) (any, error) {
		t.Errorf("asked %s", p)
		return nil, nil
	})
	open := w.awaitInput()
	if i := w.serverInfo("s"); i.Status != mcp.StatusStarting || i.Needs != `the input "api](x)"` {
		t.Errorf("%+v", i)
	}
	w.Await("message", func() bool { return len(w.messages("window/showMessage")) == 1 })
	if m := w.messages("window/showMessage")[0]; !strings.Contains(m, open.ID) || !strings.Contains(m, `"content": {"api] (x)":"…"}`) || !strings.Contains(m, "${VAR}") || strings.Contains(m, "\u202e") {
		t.Errorf("%q", m)
	}
	bad := func(arg obj, says string) {
		t.Helper()
		arg["id"], arg["decision"] = open.ID, "once"
		if err := failure(t, w.StartCommand("agentls.approve", arg, nil), -32602); !strings.Contains(err.Message, says) {
			t.Errorf("%v", err)
		}
	}
	bad(obj{"content": obj{"other": "x"}}, `content must be {"api] (x)":"…"}`)
	bad(obj{"content": obj{"api](x)": 5}}, "content must be")
	bad(obj{"content": obj{"api](x)": nil}}, "content must be")
	bad(obj{"content": obj{"api](x)": "v", "b": "w"}}, "content must be")
	bad(obj{"content": "x"}, "content must be")
	if r := commandAs[map[string]bool](w, "agentls.approve", obj{"id": open.ID, "decision": "once", "content": obj{"api](x)": "value-of-the-key"}}); !r["resolved"] {
		t.Error("not resolved")
	}
	w.awaitStatus("s", mcp.StatusReady)
	if got := w.server.o.Secrets.Redact("it is value-of-the-key"); got != "it is [redacted]" {
		t.Errorf("%q", got)
	}
	for _, m := range append(w.messages("window/showMessage"), w.messages("window/logMessage")...) {
		if strings.Contains(m, "value-of-the-key") {
			t.Errorf("told in %q", m)
		}
	}
}

func TestInputByAnOwnClient(t *testing.T) {
	asked := make(chan elicitParams, 2)
	inputs := []obj{{"id": "key", "type": "promptString", "password": true, "description": "The key"}, {"id": "stage", "type": "pickString", "options": []string{"dev", "prod"}, "default": "dev"}}
	w := inputWorld(t, lsptest.Init{Features: []string{"approvals"}}, inputs, func(p json.RawMessage) (any, error) {
		q := decodeAs[elicitParams](t, p)
		asked <- q
		if strings.Contains(string(q.Schema), "stage") {
			return obj{"decision": "once"}, nil // the default
		}
		return obj{"decision": "once", "content": obj{"key": "secret-of-the-key"}}, nil
	})
	w.awaitStatus("s", mcp.StatusReady)
	got := map[string]string{}
	for range 2 {
		q := <-asked
		if q.ID == "" || q.Kind != "input" || q.Server != "s" || !strings.Contains(q.Message, "which this server needs") {
			t.Errorf("%+v", q)
		}
		var schema struct {
			Type       string
			Required   []string
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(q.Schema, &schema); err != nil || schema.Type != "object" || len(schema.Required) != 1 {
			t.Errorf("%s", q.Schema)
		}
		got[schema.Required[0]] = string(schema.Properties[schema.Required[0]])
	}
	if got["key"] != `{"description":"The key","title":"key","type":"string","writeOnly":true}` || got["stage"] != `{"default":"dev","enum":["dev","prod"],"title":"stage","type":"string"}` {
		t.Errorf("%q", got)
	}
	text, err := os.ReadFile(filepath.Join(w.state, "inputs.json"))
	if err != nil || strings.Contains(string(text), "secret-of-the-key") || !strings.Contains(string(text), `"dev"`) {
		t.Errorf("%s %v", text, err)
	}
}

// A client whose answer is none of what was asked for has dismissed it.
func TestOddAnswersToAnInput(t *testing.T) {
	for name, answer := range map[string]any{
		"null": nil, "no decision": obj{"content": obj{"key": "x"}}, "no content": obj{"decision": "once"}, "denied": obj{"decision": "deny", "content": obj{"key": "x"}},
		"another name": obj{"decision": "once", "content": obj{"k": "x"}}, "a list": []int{1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inputWorld(t, lsptest.Init{Features: []string{"approvals"}}, []obj{{"id": "key", "type": "promptString"}}, func(json.RawMessage) (any, error) { return answer, nil })
			w.awaitStatus("s", mcp.StatusFailed)
		})
	}
}

// An input that was not given keeps no prompt waiting, and goes when its
// server does.
func TestPromptDoesNotWaitForAnInput(t *testing.T) {
	w := inputWorld(t, lsptest.Init{Features: []string{"approvals"}}, []obj{{"id": "key", "type": "promptString"}}, func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
	w.awaitInput()
	w.server.o.Manager.WaitStarted(t.Context()) // what a prompt waits for
	w.write(".vscode/mcp.json", "{}")
	poll(t, "no question", func() bool { return len(w.server.asks.waiting()) == 0 })
	if i := w.serverInfo("s"); i.Name != "" {
		t.Errorf("%+v", i)
	}
}

func TestChoicesOfAnElicitation(t *testing.T) {
	check := func(options []string, want int) {
		t.Helper()
		list := inputChoices(mcp.Input{ID: "i", Options: options})
		if len(list) != want || want > 0 && list[0].decision != agent.DecisionDeny {
			t.Errorf("%q: %+v", options, list)
		}
	}
	check(nil, 0)
	check([]string{"a", "b"}, 3)
	check([]string{"a", "Not now"}, 0) // could be said without being meant
	check([]string{"a b", "a  b"}, 0)  // look the same
	check([]string{"", "a"}, 0)
	check([]string{"dev" + strings.Repeat(" x", cleanLimit) + "; curl evil"}, 0) // the end is not seen
	check([]string{"prod\u200b"}, 0)
	check([]string{"dev\ncurl evil"}, 0)
	check(strings.Split(strings.Repeat("x", maxPicks+1), ""), 0)
}
