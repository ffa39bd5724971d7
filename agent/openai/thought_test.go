package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"agentls/agent"
)

// after is the history after an answer with tool calls and their results.
func after(r agent.Response) agent.Request {
	req := agent.Request{Messages: append(prompt.Messages[:1:1], agent.Message{Role: agent.Assistant, Text: r.Text, ToolCalls: r.ToolCalls})}
	for _, c := range r.ToolCalls {
		req.Messages = append(req.Messages, agent.Message{Role: agent.ToolRole, ToolCallID: c.ID, Text: "done"})
	}
	return req
}

// Gemini refuses a call that comes back without its thought signature.
func TestMarksOnCallsAreSentBack(t *testing.T) {
	var last sent
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if last = readSent(t, r); len(last.Messages) > 1 {
			answerHello(w)
			return
		}
		say(w, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_file","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}},{"index":1,"id":"b","function":{"name":"list_dir","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, done)
	})
	r, err := l.Complete(t.Context(), prompt, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Complete(t.Context(), after(r), nil); err != nil {
		t.Fatal(err)
	}
	got := asJSON(t, last.Messages[1])
	want := `{"content":null,"role":"assistant","tool_calls":[` +
		`{"extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"arguments":"{}","name":"read_file"},"id":"a","type":"function"},` +
		`{"function":{"arguments":"{}","name":"list_dir"},"id":"b","type":"function"}]}`
	if got != want {
		t.Errorf("sent back\n%s\nwant\n%s", got, want)
	}
}

// MoonshotAI/kimi-agent-sdk#169, cloudwego/eino-ext#700: a provider that thinks
// refuses a history without the reasoning before its tool calls; others refuse
// one with it.
func TestReasoningIsSentBackWhereItIsAskedFor(t *testing.T) {
	for _, refusal := range []string{
		"thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
		"Missing `reasoning_content` field in the assistant message at message index 1",
		"The `reasoning_content` in the thinking mode must be passed back to the API.",
	} {
		var sentBack []string
		l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			s := readSent(t, r)
			if len(s.Messages) == 1 {
				say(w, `{"choices":[{"delta":{"reasoning_content":"Hm \"so\"."}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, done)
				return
			}
			reasoning, ok := s.Messages[1]["reasoning_content"]
			if sentBack = append(sentBack, fmt.Sprint(reasoning)); !ok {
				http.Error(w, asJSON(t, map[string]any{"error": map[string]any{"message": refusal}}), 400)
				return
			}
			answerHello(w)
		})
		r, err := l.Complete(t.Context(), prompt, nil)
		for range 2 {
			if err == nil {
				_, err = l.Complete(t.Context(), after(r), nil)
			}
		}
		if got := strings.Join(sentBack, "|"); err != nil || got != `<nil>|Hm "so".|Hm "so".` {
			t.Errorf("sent back %s, %v", got, err)
		}
	}
}

func TestThoughtsAreBounded(t *testing.T) {
	th := newThoughts()
	for i := range 2 * maxThoughts {
		th.keep(agent.Response{Reasoning: strings.Repeat("x", 40<<10), ToolCalls: []agent.ToolCall{{ID: fmt.Sprint(i)}, {ID: "same"}}}, []json.RawMessage{nil, json.RawMessage(`1`)})
	}
	if len(th.of) > maxThoughts || len(th.of) != len(th.order) || th.size > maxThoughtBytes || th.size <= 0 {
		t.Errorf("%d calls, %d in order, %d bytes", len(th.of), len(th.order), th.size)
	}
	th.keep(agent.Response{Reasoning: strings.Repeat("x", maxThoughtBytes+1), ToolCalls: []agent.ToolCall{{ID: "big"}}}, nil)
	if len(th.of) != 0 || th.size != 0 {
		t.Errorf("%d calls, %d bytes left", len(th.of), th.size)
	}
}
