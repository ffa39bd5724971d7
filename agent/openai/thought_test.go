package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
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

// OpenRouter and LiteLLM refuse, or forget, reasoning whose parts do not come
// back as they were: pieces are put together again, encrypted ones are kept.
func TestPartsOfReasoningAreSentBack(t *testing.T) {
	calls := `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	for name, c := range map[string]struct{ chunks, field, want string }{
		"OpenRouter": {
			`{"choices":[{"delta":{"reasoning":"Hm ","reasoning_details":[{"type":"reasoning.text","text":"Hm ","index":0,"format":"x"}]}}]}
{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"so.","index":0,"format":"x"},{"type":"reasoning.encrypted","data":"ZW5j","id":"rs_1","index":1}]}}]}
{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","index":0}]}}]}`,
			"reasoning_details", `[{"format":"x","index":0,"signature":"c2ln","text":"Hm so.","type":"reasoning.text"},{"data":"ZW5j","id":"rs_1","index":1,"type":"reasoning.encrypted"}]`,
		},
		"LiteLLM": {
			`{"choices":[{"delta":{"thinking_blocks":[{"type":"thinking","thinking":"Hm ","signature":null}]}}]}
{"choices":[{"delta":{"thinking_blocks":[{"type":"thinking","thinking":"so.","signature":null}]}}]}
{"choices":[{"delta":{"thinking_blocks":[{"type":"thinking","thinking":"","signature":"c2ln"}]}}]}
{"choices":[{"delta":{"thinking_blocks":[{"type":"thinking","thinking":"Next.","signature":"c2ky"}]}}]}
{"choices":[{"delta":{"thinking_blocks":[{"type":"redacted_thinking","data":"ZW5j"},5,null]}}]}`,
			"thinking_blocks", `[{"signature":"c2ln","thinking":"Hm so.","type":"thinking"},{"signature":"c2ky","thinking":"Next.","type":"thinking"},{"data":"ZW5j","type":"redacted_thinking"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var last sent
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if last = readSent(t, r); len(last.Messages) > 1 {
					answerHello(w)
					return
				}
				say(w, append(strings.Split(c.chunks, "\n"), calls, done)...)
			})
			r, err := l.Complete(t.Context(), prompt, nil)
			if err == nil {
				_, err = l.Complete(t.Context(), after(r), nil)
			}
			if got := asJSON(t, last.Messages[1][c.field]); err != nil || got != c.want {
				t.Errorf("sent back %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
}

// A provider that is known to want it has the reasoning from the start, for the
// calls alone that it has some of; one that refuses it has it no more.
func TestReasoningOfAPreset(t *testing.T) {
	for name, c := range map[string]struct {
		refusal string
		want    string
	}{
		"taken":         {"", `"Hm."|"Hm."`},
		"refused":       {`{"error":{"message":"Extra inputs are not permitted: messages.1.reasoning_content"}}`, `"Hm."|null|null`},
		"wanted of all": {`{"error":{"message":"reasoning_content is missing in assistant tool call message at index 3"}}`, `"Hm."|"Hm."+|"Hm."+`},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				s := readSent(t, r)
				if len(s.Messages) == 1 {
					say(w, `{"choices":[{"delta":{"reasoning_content":"Hm."}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, done)
					return
				}
				mark := "" // + where a message that has none has a field for it
				if _, also := s.Messages[3]["reasoning_content"]; also {
					mark = "+"
				}
				got = append(got, asJSON(t, s.Messages[1]["reasoning_content"])+mark)
				if len(got) == 1 && c.refusal != "" {
					http.Error(w, c.refusal, 400)
					return
				}
				answerHello(w)
			}, func(o *Options) { o.Reasons = true })
			r, err := l.Complete(t.Context(), prompt, nil)
			history := after(r)
			history.Messages = append(history.Messages, agent.Message{Role: agent.Assistant, Text: "said"})
			for range 2 {
				if err == nil {
					_, err = l.Complete(t.Context(), history, nil)
				}
			}
			if all := strings.Join(got, "|"); err != nil || all != c.want {
				t.Errorf("sent back %s, %v, want %s", all, err, c.want)
			}
		})
	}
}

// Gemini refuses the calls of another model in the turn that goes on, unless
// they carry its word for that.
func TestCallsOfAnotherModelAreMarkedForGemini(t *testing.T) {
	mark := map[string]any{"google": map[string]any{"thought_signature": "skip_thought_signature_validator"}}
	n := 0
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		calls := readSent(t, r).Messages[1]["tool_calls"].([]any)
		if !reflect.DeepEqual(calls[0].(map[string]any)["extra_content"], mark) {
			http.Error(w, `[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `+"`default_api:t`"+`, position 2.","status":"INVALID_ARGUMENT"}}]`, 400)
			return
		}
		if calls[1].(map[string]any)["extra_content"] != nil {
			t.Errorf("%v", calls[1])
		}
		answerHello(w)
	})
	history := after(agent.Response{ToolCalls: []agent.ToolCall{{ID: "call_1", Name: "t", Arguments: "{}"}, {ID: "call_2", Name: "t", Arguments: "{}"}}})
	for _, want := range []int{2, 3} {
		if _, err := l.Complete(t.Context(), history, nil); err != nil || n != want {
			t.Errorf("%d requests, want %d: %v", n, want, err)
		}
	}
}

func TestThoughtsAreBounded(t *testing.T) {
	th := newThoughts()
	marked := normaliser{slots: slots{calls: []slot{{}, {mark: json.RawMessage(`1`)}}}}
	for i := range 2 * maxThoughts {
		th.keep(agent.Response{Reasoning: strings.Repeat("x", 40<<10), ToolCalls: []agent.ToolCall{{ID: fmt.Sprint(i)}, {ID: "same"}}}, &marked)
	}
	if len(th.of) > maxThoughts || len(th.of) != len(th.order) || th.size > maxThoughtBytes || th.size <= 0 {
		t.Errorf("%d calls, %d in order, %d bytes", len(th.of), len(th.order), th.size)
	}
	th.keep(agent.Response{Reasoning: strings.Repeat("x", maxThoughtBytes+1), ToolCalls: []agent.ToolCall{{ID: "big"}}}, &normaliser{})
	if len(th.of) != 0 || th.size != 0 {
		t.Errorf("%d calls, %d bytes left", len(th.of), th.size)
	}
}
