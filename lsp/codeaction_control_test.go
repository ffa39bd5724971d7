package lsp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// What runs and what waits stands first, in any document, and does what it
// says.
func TestControlActions(t *testing.T) {
	const secret = "sk-abcdefgh12345678"
	llm := agenttest.NewScript(t, func(_ int, req agent.Request) agenttest.Step {
		if m := req.Messages[len(req.Messages)-1]; m.Role == agent.ToolRole {
			return agenttest.Text("saw: " + m.Text)
		}
		return agenttest.Call(agent.ToolCall{ID: "1", Name: "list_dir", Arguments: `{"path":".","more":"` + secret + ` ](x)` + strings.Repeat("y", 100) + `"}`})
	})
	w := newWorld(t, setup{llm: llm, options: asking(600), answers: map[string]lsptest.Answer{
		"window/showMessageRequest": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent },
	}})
	uri := w.document("x.go", "a\nb\n")
	list := func() []action { return w.actions(uri, span(0, 0, 1, 0), obj{}) }
	wait := func() []action {
		w.Await("a question", func() bool { return len(w.server.asks.waiting()) > 0 })
		return list()
	}
	check := func(got []action) {
		t.Helper()
		if len(got) < 3 || got[0].Title != "Cancel run: look around" || !strings.HasPrefix(got[1].Title, `Deny: list_dir {"path":".","more":"`) ||
			!strings.HasPrefix(got[2].Title, "Allow once: list_dir {") || !slices.Equal(titles(got[3:]), titles(list()[3:])) || strings.Contains(titles(got)[1], secret) || strings.Contains(titles(got)[1], "](") {
			t.Fatalf("%q", titles(got))
		}
	}

	p := w.ask("look around", nil)
	got := wait()
	check(got)
	if other := w.actions("file:///x/never-opened", span(0, 0, 0, 0), obj{"triggerKind": 2}); !slices.Equal(titles(other), titles(got[:3])) {
		t.Errorf("in another document %q", titles(other))
	}
	if narrowed := w.actions(uri, span(0, 0, 1, 0), obj{"only": []string{"quickfix"}}); !slices.Equal(titles(narrowed), []string{"quickfix Fix problems in selection"}) {
		t.Errorf("narrowed %q", titles(narrowed))
	}
	if r := result[map[string]bool](t, w.run(got, "Deny: ")); !r["resolved"] {
		t.Errorf("resolved %v", r)
	}
	if r := result[agent.Result](t, p); !slices.Equal(statuses(r), []agent.Outcome{agent.Rejected}) {
		t.Errorf("denied: %+v", r)
	}

	p = w.ask("look around", nil)
	result[map[string]bool](t, w.run(wait(), "Allow once: "))
	if r := result[agent.Result](t, p); !slices.Equal(statuses(r), []agent.Outcome{agent.Completed}) {
		t.Errorf("allowed: %+v", r)
	}

	p = w.ask("look around", nil)
	got = wait()
	result[map[string][]string](t, w.run(got, "Cancel run: "))
	failure(t, p, -32800)
	w.awaitRuns("end", func(list []runInfo) bool {
		return !slices.ContainsFunc(list, func(r runInfo) bool { return r.Status.live() })
	})
	// A menu that was open meanwhile.
	for _, a := range got[:3] {
		err := failure(t, w.Start("codeAction/resolve", a), -32803)
		if !strings.Contains(err.Message, "already") {
			t.Errorf("%q: %v", a.Title, err)
		}
	}
	if after := list(); len(after) != len(got)-3 {
		t.Errorf("afterwards %q", titles(after))
	}
}

// agentls.approve is not announced to a client that asks by itself.
func TestNoDecisionsForAClientWithApprovals(t *testing.T) {
	w := newWorld(t, setup{llm: callsTool(t), options: asking(600), init: lsptest.Init{Features: []string{"approvals"}}, answers: map[string]lsptest.Answer{
		"agentls/approve": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent },
	}})
	p := w.ask("hi", nil)
	w.AwaitRequest("agentls/approve", 1)
	if got := titles(w.actions("file:///x", span(0, 0, 0, 0), obj{})); !slices.Equal(got, []string{"quickfix Cancel run: hi"}) {
		t.Errorf("%q", got)
	}
	p.Cancel()
	failure(t, p, -32800)
}

// Trust in a program is not given by a title that may hide half of it.
func TestTrustIsOnlyRefusedByACodeAction(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	q := w.server.asks
	q.open = append(q.open, &question{id: "q", kind: "trust", server: "evil", choices: []choice{{title: "Not now", decision: agent.DecisionDeny}, {title: "Trust and start", decision: agent.DecisionOnce}}})
	if got := titles(w.actions("file:///x", span(0, 0, 0, 0), obj{})); !slices.Equal(got, []string{"quickfix Not now: evil"}) {
		t.Errorf("%q", got)
	}
	q.open = nil
}

func TestManyRunsAreCancelledTogether(t *testing.T) {
	llm := blockOn(t, "slow")
	w := newWorld(t, setup{llm: llm})
	var all []*lsptest.Pending
	for i := range 6 {
		all = append(all, w.ask(fmt.Sprint("slow ", i), nil))
	}
	llm.Await(6)
	list := w.actions("file:///x", span(0, 0, 0, 0), obj{})
	if got := titles(list); len(got) != 4 || got[3] != "quickfix Cancel all 6 runs" {
		t.Fatalf("%q", got)
	}
	result[map[string][]string](t, w.run(list, "Cancel all"))
	for _, p := range all {
		failure(t, p, -32800)
	}
}

func TestResolveGivesTheActionBack(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	w.Echoes("codeAction/resolve")
	uri := w.document("x.go", "a\nb\n")
	raw := decodeAs[[]json.RawMessage](t, w.Call("textDocument/codeAction", obj{"textDocument": obj{"uri": uri}, "range": span(0, 0, 1, 1), "context": obj{}}))
	for _, a := range raw {
		if got := w.Call("codeAction/resolve", a); string(got) != string(a) {
			t.Errorf("%s became %s", a, got)
		}
	}
	odd := json.RawMessage(`{"title":"x","command":5,"more":1.0}`)
	if got := w.Call("codeAction/resolve", odd); string(got) != string(odd) {
		t.Errorf("%s became %s", odd, got)
	}
	failure(t, w.Start("codeAction/resolve", []any{}), -32602)
}
