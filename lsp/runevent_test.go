package lsp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

func TestMailboxMergesWhatIsBehind(t *testing.T) {
	m := newMailbox(func() bool { return true })
	text := func(s string) pending { return pending{Event: agent.Event{Kind: agent.EventText, Delta: s}} }
	call := func(id string, s agent.ToolCallState, msg string) pending {
		return pending{Event: agent.Event{Kind: agent.EventToolCall, ToolCall: &agent.ToolCallEvent{ID: id, State: s, Message: msg}}}
	}
	for _, p := range []pending{
		text("a"), text("b"), call("1", agent.ToolRunning, "10 %"), call("2", agent.ToolRunning, ""), call("1", agent.ToolRunning, "20 %"),
		call("1", "completed", ""), text("c"),
	} {
		m.put(p)
	}
	got := m.take()
	want := []struct{ delta, message string }{{"ab", ""}, {"", "20 %"}, {"", ""}, {"", ""}, {"c", ""}}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i, w := range want {
		message := ""
		if got[i].ToolCall != nil {
			message = got[i].ToolCall.Message
		}
		if string(got[i].delta) != w.delta || message != w.message {
			t.Errorf("event %d is %q %q, want %q %q", i, got[i].delta, message, w.delta, w.message)
		}
	}
	m.put(text("d"))
	if rest := m.close(); len(rest) != 1 {
		t.Errorf("close gave %d events, want 1", len(rest))
	}
	m.put(text("e"))
	if rest := m.take(); len(rest) != 0 {
		t.Errorf("an event came in after close")
	}
}

// What a client that keeps up hears is what the model sent, piece by piece.
func TestMailboxKeepsDeltasApart(t *testing.T) {
	m := newMailbox(func() bool { return false })
	for range 3 * manyEvents {
		m.put(pending{Event: agent.Event{Kind: agent.EventText, Delta: "x"}})
	}
	got, text := m.take(), ""
	for _, p := range got {
		text += string(p.delta)
	}
	if len(got) != manyEvents+1 || text != strings.Repeat("x", 3*manyEvents) {
		t.Errorf("%d events of %d characters", len(got), len(text))
	}
}

func kindsOf(list []event) (kinds []string) {
	for _, e := range list {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// CONTRACT §5: seq from 1 without gaps, `finished` last, then the progress'
// end, then the response.
func TestEventsAndTheirOrder(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Step{Text: []string{"a\x1b", "b ", "c"}, Reasoning: []string{"why"}, Usage: agent.Usage{TotalTokens: 3}})
	w := newWorld(t, setup{llm: llm, init: lsptest.Init{Features: []string{"runEvents"}}})
	p := w.StartCommand("agentls.ask", obj{"prompt": "hi", "runId": "r", "session": "s"}, 7)
	result[agent.Result](t, p)
	all := w.All() // everything is here, the response came behind it
	var text, order []string
	for _, n := range all {
		switch n.Method {
		case "agentls/runEvent":
			e := decodeAs[event](t, n.Params)
			order = append(order, e.Kind)
			if e.RunID != "r" || e.Session != "s" {
				t.Errorf("an event of %q in %q", e.RunID, e.Session)
			}
			if e.Kind == "text" {
				text = append(text, e.Delta)
			}
		case "$/progress":
			order = append(order, "progress")
		}
	}
	for i, e := range w.events("r") {
		if e.Seq != i+1 {
			t.Errorf("event %d has seq %d", i, e.Seq)
		}
	}
	if got := strings.Join(text, ""); got != "a\x1bb c" {
		t.Errorf("text %q, want the model's as it is", got)
	}
	n := len(order)
	if n < 6 || order[n-2] != "finished" || order[n-1] != "progress" || slices.Index(order, "queued") > slices.Index(order, "started") {
		t.Errorf("order %v", order)
	}
}

func TestStockClientGetsNoEvents(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	result[agent.Result](t, w.ask("hi", nil))
	if n := len(w.Notifications("agentls/runEvent")); n > 0 {
		t.Errorf("%d events to a client that announced none", n)
	}
}

// What a client that does not read has not taken is merged, and all of it is
// there when it reads again.
func TestDeltasMergeWhileTheClientIsBehind(t *testing.T) {
	const n = 5000
	deltas := make([]string, n)
	for i := range deltas {
		deltas[i] = "0123456789"
	}
	llm := agenttest.NewLLM(t, agenttest.Step{Text: deltas})
	w := newWorld(t, setup{llm: llm, init: lsptest.Init{Features: []string{"runEvents"}}})
	w.reading.Lock()
	p := w.ask("hi", obj{"runId": "r"})
	poll(t, "end of the run", func() bool {
		list := w.server.runs.infos()
		return len(list) == 1 && list[0].Status == runCompleted
	})
	w.reading.Unlock()
	result[agent.Result](t, p)
	var text strings.Builder
	list := w.events("r")
	for i, e := range list {
		if e.Seq != i+1 {
			t.Fatalf("event %d has seq %d", i, e.Seq)
		}
		text.WriteString(e.Delta)
	}
	if text.Len() != 10*n {
		t.Errorf("%d characters came, want %d", text.Len(), 10*n)
	}
	if len(list) > n/4 {
		t.Errorf("%d events for %d deltas that nobody read", len(list), n)
	}
}

// Of where a plan stands the newest counts, behind what it follows; the first of
// each plan stays, because calls name its steps.
func TestMailboxMergesPlans(t *testing.T) {
	behind := false
	m := newMailbox(func() bool { return behind })
	plan := func(n int, states ...agent.StepStatus) {
		p := &agent.PlanState{Plan: n}
		for _, s := range states {
			p.Steps = append(p.Steps, agent.PlanStep{Status: s})
		}
		m.put(pending{Event: agent.Event{Kind: agent.EventPlan, Plan: p}})
	}
	call := func(part string) {
		m.put(pending{Event: agent.Event{Kind: agent.EventToolCall, ToolCall: &agent.ToolCallEvent{ID: "1", Part: part, State: agent.ToolRunning}}})
	}
	got := func() (list []string) {
		for _, p := range m.take() {
			if p.Plan == nil {
				list = append(list, p.ToolCall.Part)
				continue
			}
			text := fmt.Sprint(p.Plan.Plan)
			for _, s := range p.Plan.Steps {
				text += " " + string(s.Status)
			}
			list = append(list, text)
		}
		return list
	}
	events := func() {
		plan(1, "pending", "pending")
		plan(1, "running", "running")
		call("step 1")
		call("step 2")
		plan(1, "completed", "running")
		plan(1, "completed", "failed")
		plan(2, "pending")
		plan(2, "running")
	}
	events()
	if list, want := got(), 8; len(list) != want {
		t.Errorf("%d events of %d: %q", len(list), want, list)
	}
	behind = true
	m.plan = 0
	events()
	want := []string{"1 pending pending", "step 1", "step 2", "1 completed failed", "2 pending", "2 running"}
	if list := got(); !slices.Equal(list, want) {
		t.Errorf("got %q, want %q", list, want)
	}
}
