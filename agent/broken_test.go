package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// An answer that broke off is asked for once more, on the same history: no
// finished tool runs again (editor-code-assistant/eca#224, #563, #547).
func TestAnswerThatBreaksOff(t *testing.T) {
	lost := func(began, retryable bool, text ...string) agenttest.Step {
		return agenttest.Step{Text: text, Err: &agent.ProviderError{Kind: agent.KindNetwork, Message: "connection lost", Began: began, Retryable: retryable}}
	}
	tool := agenttest.Call(call("c", "mcp__fake__echo", `{"text":"once"}`))
	const marker = "\n\n*(the answer broke off and is asked for again)*"
	for _, c := range []struct {
		name   string
		limits agent.Limits
		steps  []agenttest.Step
		asked  int
		status string
		text   string // of the result
		told   string // as text events
		last   string // in the history
	}{
		{"in a text", agent.Limits{}, []agenttest.Step{tool, lost(true, true, "It sa"), agenttest.Text("It says once.")}, 3, "completed", "It says once.", "It sa" + marker + "It says once.", "It says once."},
		{"before any text", agent.Limits{}, []agenttest.Step{tool, lost(true, true), agenttest.Text("It says once.")}, 3, "completed", "It says once.", "It says once.", "It says once."},
		{"before a call", agent.Limits{}, []agenttest.Step{lost(true, true, "I loo"), tool, agenttest.Text("ok")}, 3, "completed", "ok", "I loo" + marker + "ok", "ok"},
		{"twice", agent.Limits{}, []agenttest.Step{tool, lost(true, true, "It sa"), lost(true, true, "It")}, 3, "failed", "It", "It sa" + marker + "It", "It\n\n[the run failed: connection lost]"},
		{"then for good", agent.Limits{}, []agenttest.Step{tool, lost(true, true, "It sa"), lost(false, true)}, 3, "failed", "It sa", "It sa" + marker, "It sa\n\n[the run failed: connection lost]"},
		{"once in each answer", agent.Limits{}, []agenttest.Step{lost(true, true, "a"), tool, lost(true, true, "b"), agenttest.Text("ok")}, 4, "completed", "ok", "a" + marker + "b" + marker + "ok", "ok"},
		{"what the provider had tried again itself", agent.Limits{}, []agenttest.Step{tool, lost(false, true)}, 2, "failed", "", "", "[the run failed: connection lost]"},
		{"what would fail again", agent.Limits{}, []agenttest.Step{tool, lost(true, false, "It sa")}, 2, "failed", "It sa", "It sa", "It sa\n\n[the run failed: connection lost]"},
		{"at the last step", agent.Limits{Steps: 2}, []agenttest.Step{tool, lost(true, true, "It sa")}, 2, "failed", "It sa", "It sa", "It sa\n\n[the run failed: connection lost]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.task.Limits = c.limits
				res, llm, _ := w.run(t.Context(), "go", c.steps...)
				if res.Status != c.status || res.Text != c.text || res.Steps != c.asked || len(llm.Requests()) != c.asked {
					t.Errorf("%d requests, %+v", len(llm.Requests()), res)
				}
				if n := len(w.servers.called()); n > 1 {
					t.Errorf("the tool ran %d times", n)
				}
				var told strings.Builder
				for _, e := range w.host.Events() {
					if e.Kind == agent.EventText {
						told.WriteString(e.Delta)
					}
				}
				if told.String() != c.told {
					t.Errorf("told %q", told.String())
				}
				history := w.agent.History(w.dir, "s")
				if got := history[len(history)-1].Text; got != c.last {
					t.Errorf("the history ends with %q", got)
				}
				w.task.Limits = agent.Limits{}
				w.must("next") // the double checks the history
			})
		})
	}
}

// What a run does with each way that an answer ends.
func TestFinishReasons(t *testing.T) {
	good := call("c", "mcp__fake__echo", `{"text":"x"}`)
	cut := call("c", "mcp__fake__echo", `{"te`)
	for _, c := range []struct {
		name   string
		step   agenttest.Step
		reason string
		text   string
		ran    int
		last   string // of the history after the run
	}{
		{"stop", agenttest.Text("hi"), "end_turn", "hi", 0, "hi"},
		{"no reason known", agenttest.Step{Text: []string{"hi"}, Finish: "eos_token"}, "end_turn", "hi", 0, "hi"},
		{"empty", agenttest.Step{}, "end_turn", "", 0, "[an empty answer]"},
		{"white space", agenttest.Text(" \n"), "end_turn", "", 0, "[an empty answer]"},
		{"reasoning alone", agenttest.Step{Reasoning: []string{"hm"}}, "end_turn", "", 0, "[an empty answer]"},
		{"tool_calls without calls", agenttest.Step{Text: []string{"hi"}, Finish: "tool_calls"}, "end_turn", "hi", 0, "hi"},
		{"stop with calls", agenttest.Step{Calls: []agent.ToolCall{good}, Finish: "stop"}, "end_turn", "done", 1, "done"},
		{"text and calls", agenttest.Step{Text: []string{"I look."}, Calls: []agent.ToolCall{good}}, "end_turn", "done", 1, "done"},
		{"length", agenttest.Step{Text: []string{"half"}, Finish: "length"}, "length", "half", 0, "half\n\n[stopped by agentls: the answer was cut by the provider's length limit]"},
		{"length with a cut call", agenttest.Step{Text: []string{"I look."}, Calls: []agent.ToolCall{cut}, Finish: "length"}, "length", "I look.", 0, "I look.\n\n[stopped by agentls: the answer was cut by the provider's length limit in a tool call, which was not run]"},
		{"length with whole calls", agenttest.Step{Calls: []agent.ToolCall{good, good}, Finish: "length"}, "length", "", 0, "[stopped by agentls: the answer was cut by the provider's length limit in a tool call, which was not run]"},
		{"a filter", agenttest.Step{Text: []string{"half"}, Finish: "content_filter"}, "content_filter", "half", 0, "half\n\n[stopped by agentls: the provider's content filter ended the answer]"},
		{"a filter with calls", agenttest.Step{Calls: []agent.ToolCall{good}, Finish: "content_filter"}, "content_filter", "", 0, "[stopped by agentls: the provider's content filter ended the answer]"},
		{"calls of one id", agenttest.Call(good, good), "end_turn", "done", 2, "done"},
		{"calls without ids", agenttest.Call(call("", "mcp__fake__echo", ""), call("", "mcp__fake__echo", "null")), "end_turn", "done", 2, "done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				res, _ := w.must("go", c.step)
				if res.StopReason != c.reason || res.Text != c.text || len(w.servers.called()) != c.ran {
					t.Errorf("%d calls ran, %+v", len(w.servers.called()), res)
				}
				stopped := c.reason != "end_turn"
				if stopped != (res.Status == "stopped") || stopped != (res.Note != "") {
					t.Errorf("status %s, note %q", res.Status, res.Note)
				}
				history := w.agent.History(w.dir, "s")
				if got := history[len(history)-1].Text; got != c.last {
					t.Errorf("the history ends with %q", got)
				}
				w.must("go on") // the double checks the history
			})
		})
	}
}
