package agent_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// A fork has the summary, and so has a session that a newer process loads.
func TestForkKeepsTheSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.talk()
		w.must("go on", agenttest.Text(goodSummary))
		id, err := w.agent.ForkSession(t.Context(), []string{w.dir}, "s")
		if err != nil {
			t.Fatal(err)
		}
		w.task.Session = id
		_, llm := w.must("in the fork")
		contains(t, all(llm.Last()), "<conversation_summary>\n", "door is red", "in the fork")
		if len(llm.Requests()) != 1 {
			t.Errorf("%d requests", len(llm.Requests()))
		}
		shown, err := w.agent.ShowSession(t.Context(), []string{w.dir}, id)
		if err != nil || len(shown.Messages) != 28 || shown.Messages[0].Text != "prompt 0 of before" {
			t.Errorf("%v: %d messages", err, len(shown.Messages))
		}
	})
}

// A person can have a session summarised; what it would send, and what of it is
// summarised, can be seen before and after.
func TestCompactByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put(map[string]string{"AGENTS.md": "Use tabs."})
		w.trusted()
		task := w.task
		llm := agenttest.NewLLM(t, agenttest.Text(goodSummary))
		llm.Of = agent.Model{Name: "m", ContextWindow: 32000}
		task.LLM = llm
		if _, err := w.agent.CompactSession(t.Context(), task); !errors.Is(err, agent.ErrNoSession) {
			t.Errorf("of no session: %v", err)
		}
		empty, err := w.agent.ContextUse(t.Context(), task)
		if err != nil || empty.Messages != 0 || empty.Window != 32000 || empty.Used() < 500 || empty.Used() > empty.Room {
			t.Errorf("%v: %+v", err, empty)
		}
		w.talk()
		before, err := w.agent.ContextUse(t.Context(), task)
		if err != nil || before.Messages != 24 || before.Summarised != 0 || before.Used() < empty.Used()+10000 {
			t.Errorf("%v: %+v", err, before)
		}
		done, err := w.agent.CompactSession(t.Context(), task)
		if err != nil || done.Messages != 24 || done.After*5 > done.Before {
			t.Fatalf("%v: %+v", err, done)
		}
		after, err := w.agent.ContextUse(t.Context(), task)
		if err != nil || after.Messages != 24 || after.Summarised != 24 || after.Used() > before.Used()-10000 {
			t.Errorf("%v: %+v", err, after)
		}
		for _, p := range after.Parts {
			if p.Tokens < 0 || p.Tokens == 0 && p.Name != "conversation" && p.Name != "what MCP servers say of themselves" {
				t.Errorf("%+v", p)
			}
		}
		if again, err := w.agent.CompactSession(t.Context(), task); err != nil || again.Messages != 0 || len(llm.Requests()) != 1 {
			t.Errorf("again: %v, %+v", err, again)
		}
		w.reloads()
		w.restart()
		_, next := w.must("go on")
		contains(t, all(next.Last()), "<conversation_summary>\n", "prompt 0 of before", "go on")
		if len(next.Last().Messages) != 2 {
			t.Errorf("%d messages", len(next.Last().Messages))
		}
		// What fails changes nothing.
		llm = agenttest.NewLLM(t, agenttest.Text("no"))
		task.LLM = llm
		history := w.agent.History(w.dir, "s")
		if _, err := w.agent.CompactSession(t.Context(), task); err == nil || !strings.Contains(err.Error(), "says nothing") {
			t.Errorf("%v", err)
		}
		task.LLM = standIn{llm}
		if _, err := w.agent.CompactSession(t.Context(), task); err == nil || !strings.Contains(err.Error(), "no language model") {
			t.Errorf("%v", err)
		}
		if n := len(w.agent.History(w.dir, "s")); n != len(history) {
			t.Errorf("%d messages, were %d", n, len(history))
		}
	})
}
