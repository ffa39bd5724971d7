package lsp

import (
	"encoding/json"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// CONTRACT §2: no AGENTS.md enters a prompt before its folder is trusted; the
// first prompt lets the person be asked, and does not wait for it.
func TestProjectsInstructionsWaitForTrust(t *testing.T) {
	llm := agenttest.NewLLM(t)
	w := newWorld(t, setup{llm: llm, options: obj{"workspaceTrusted": false}, files: map[string]string{"AGENTS.md": "Use tabs.\n"}})
	answered := make(chan struct{})
	w.On("window/showMessageRequest", func(json.RawMessage) (any, error) {
		<-answered
		return obj{"title": "Trust folder"}, nil
	})
	result[agent.Result](t, w.ask("hello", nil))
	if text := llm.Last().Messages[0].Text; strings.Contains(text, "Use tabs.") {
		t.Errorf("it is there: %s", text)
	}
	question := decodeAs[struct{ Message string }](t, w.AwaitRequest("window/showMessageRequest", 1).Params)
	if !strings.Contains(question.Message, "its AGENTS.md tells the agent how to work") {
		t.Errorf("%q", question.Message)
	}
	close(answered)
	poll(t, "the instructions", func() bool {
		result[agent.Result](t, w.ask("hello", nil))
		return strings.Contains(llm.Last().Messages[0].Text, "<project_instructions directory=\".\">\nUse tabs.\n</project_instructions>")
	})
	if n := len(w.Requests("window/showMessageRequest")); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
