package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"agentls/agent"
)

// A conversation goes on with another provider, strict as the strictest: what
// the first one put beside its answers does not go there, ids are put into its
// form, images and null contents are left out once it refuses them.
func TestHistoryOfAnotherProvider(t *testing.T) {
	first := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		say(w, `{"choices":[{"delta":{"reasoning_content":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm.","signature":"c2ln"}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"functions.shot:0","function":{"name":"shot","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]},"finish_reason":"tool_calls"}]}`, done)
	}, func(o *Options) { o.Reasons = true })
	r, err := first.Complete(t.Context(), prompt, nil)
	if err != nil || len(r.ToolCalls) != 1 || r.ToolCalls[0].ID != "functions.shot:0" {
		t.Fatal(r, err)
	}
	history := agent.Request{Messages: append([]agent.Message{{Role: agent.System, Text: "You help."}}, after(r).Messages...)}
	history.Messages = append(history.Messages,
		agent.Message{Role: agent.User, Text: "The result has an image:", Images: []agent.Image{{MIMEType: "image/png", Data: "AAAA"}}},
		agent.Message{Role: agent.Assistant, Text: "I see."}, agent.Message{Role: agent.User, Text: "And now?"})
	nine := regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
	asked := 0
	second := serve(t, func(w http.ResponseWriter, req *http.Request) {
		asked++
		for i, m := range readSent(t, req).Messages {
			if why := strict(m, nine); why != "" {
				http.Error(w, fmt.Sprintf(`{"object":"error","message":%q,"type":"invalid_request_error"}`, fmt.Sprintf(why, i)), http.StatusUnprocessableEntity)
				return
			}
		}
		answerHello(w)
	})
	for range 2 {
		if r, err := second.Complete(t.Context(), history, nil); err != nil || r.Text != "Hello there" {
			t.Fatalf("%q, %v", r.Text, err)
		}
	}
	if asked != 5 { // three refusals, and what was learned counts for the next
		t.Errorf("%d requests", asked)
	}
	// The first one goes on as if nothing had been.
	if _, err := first.Complete(t.Context(), history, nil); err != nil {
		t.Error(err)
	}
}

// strict says what a provider dislikes about a message; "": nothing.
func strict(m map[string]any, id *regexp.Regexp) string {
	for key := range m {
		switch key {
		case "role", "content", "tool_calls", "tool_call_id":
		default:
			return "messages[%d]." + key + ": Extra inputs are not permitted"
		}
	}
	calls, _ := m["tool_calls"].([]any)
	for _, c := range calls {
		call := c.(map[string]any)
		if call["extra_content"] != nil {
			return "messages[%d].tool_calls.0.extra_content: Extra inputs are not permitted"
		}
		if !id.MatchString(call["id"].(string)) {
			return "messages[%d]: Tool call id was " + call["id"].(string) + " but must be a-z, A-Z, 0-9, with a length of 9."
		}
	}
	if m["role"] == "tool" && !id.MatchString(m["tool_call_id"].(string)) {
		return "messages[%d]: Tool call id has to be of length 9"
	}
	if _, text := m["content"].(string); !text {
		if raw, _ := json.Marshal(m["content"]); string(raw) == "null" { // it was decoded from JSON
			return "messages[%d].content: none is not an allowed value"
		}
		return "messages[%d]: image_url is not supported by this model"
	}
	return ""
}
