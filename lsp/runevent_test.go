package lsp

import (
	"testing"

	"agentls/agent"
)

func TestMailboxMergesWhatIsBehind(t *testing.T) {
	m := newMailbox()
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
