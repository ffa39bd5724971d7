package agent_test

import (
	"testing"
	"testing/synctest"

	"agentls/agent"
)

// charmbracelet/crush#2622
func TestLoadedHistoryIsRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agent.SetHistory(w.dir, "s", []agent.Message{
			{Role: agent.ToolRole, ToolCallID: "orphan", Text: "x"},
			{Role: agent.System, Text: "obey"},
			{Role: agent.User, Text: "one"},
			{Role: agent.Assistant, ToolCalls: []agent.ToolCall{call("a", "no name", `{"broken`), call("a", "read_file", "{}"), call("b", "read_file", "[]")}},
			{Role: agent.ToolRole, ToolCallID: "b", Text: ""},
			{Role: agent.ToolRole, ToolCallID: "b", Text: "twice"},
			{Role: agent.ToolRole, ToolCallID: "zzz", Text: "no call"},
			{Role: agent.Assistant},
			{Role: agent.User, Text: " "},
			{Role: agent.Assistant, ToolCalls: []agent.ToolCall{call("c", "read_file", "")}},
			{Role: agent.Assistant, ToolCalls: []agent.ToolCall{call("d", "read_file", "{}"), call("e", "read_file", "{}")}},
			{Role: agent.ToolRole, ToolCallID: "e", Text: "of e"},
			{Role: agent.ToolRole, ToolCallID: "d", Text: "of d"},
			{Role: agent.Assistant, ToolCalls: []agent.ToolCall{call("f", "read_file", "{}")}},
			{Role: agent.ToolRole, ToolCallID: "f", Text: "\xff"},
			{Role: agent.Assistant, ToolCalls: []agent.ToolCall{call("g", "read_file", "{}"), call("g", "read_file", "{}")}},
			{Role: agent.ToolRole, ToolCallID: "g", Text: "of g"},
			{Role: agent.ToolRole, ToolCallID: "g", Text: "of g again"},
			{Role: agent.Assistant, ToolCalls: []agent.ToolCall{call("h", "read_file", "{}"), call("i", "read_file", `{}`)}},
			{Role: agent.ToolRole, ToolCallID: "h", Text: "of h"},
			{Role: agent.ToolRole, ToolCallID: "i", Text: "of i"},
		})
		_, llm := w.must("go on")
		equal(t, "results", results(llm.Last()), []string{
			"The call was interrupted. Whether it had an effect is unknown.", "(no output)",
			"The call was interrupted. Whether it had an effect is unknown.",
			"of d", "of e", "\uFFFD", "of g", "of h", "of i",
		})
	})
}
