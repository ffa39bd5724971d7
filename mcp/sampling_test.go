package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

const plainSample = `{"messages":[{"role":"user","content":{"type":"text","text":"Name a colour."}}],"maxTokens":100}`

// sampleArgs are how the fake is made to ask the model: by a request of its
// own, or by an input_required.
func sampleArgs(modern bool, params string) (tool string, a args) {
	if modern {
		return "need", args{"inputs": json.RawMessage(`{"q":{"method":"sampling/createMessage","params":` + params + `}}`)}
	}
	return "ask", args{"method": "sampling/createMessage", "params": json.RawMessage(params)}
}

func mayAsk(c *ServerConfig) { c.Sampling = true }

// Row 58. MCP client/sampling of both eras: what a person and a model make of
// it reaches the server.
func TestSamplingIsAskedAndAnswered(t *testing.T) {
	for name, open := range everyTransport(t, mcptest.Options{}, mayAsk) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, heard := open(t)
			ctx := WithOrigin(t.Context(), Origin{"run-1", "session-1"})
			for _, c := range []struct {
				answer RequestAnswer
				want   string
			}{
				{SampleResult{Text: "Blue", Model: "m1", StopReason: "endTurn"}.Answer(), `{"content":{"text":"Blue","type":"text"},"model":"m1","role":"assistant","stopReason":"endTurn"}`},
				{RequestAnswer{Decline: true}, "User rejected sampling request"},
				{RequestAnswer{}, "User rejected sampling request"},
				{RequestAnswer{Problem: "the model is asleep"}, "the model is asleep"},
			} {
				tool, a := sampleArgs(heard.modern, plainSample)
				end := h.calling(ctx, tool, a)
				r := h.asked()
				if r.Kind != RequestSample || r.Server != "fake" || r.Origin != (Origin{"run-1", "session-1"}) || r.Sample.MaxTokens != 100 || r.Sample.Messages[0].Contents[0].Text != "Name a colour." {
					t.Errorf("%+v", r)
				}
				r.Reply(c.answer)
				got, err := end()
				if err != nil { // since 2026-07-28 there is no answer but a result: the call fails
					got += err.Error()
				}
				if !strings.Contains(got, c.want) || (err != nil) != (heard.modern && !c.answer.Accept) {
					t.Errorf("%s %v, want %s", got, err, c.want)
				}
				if code := `"code":-1,`; !heard.modern && strings.Contains(c.want, "rejected") && !strings.Contains(got, code) {
					t.Errorf("%s, want %s", got, code)
				}
			}
		})
	}
}

// The capability is declared where the user's configuration says so, and then
// without tools and context.
func TestSamplingIsDeclaredOnlyWhereItIsAllowed(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		for name, open := range everyTransport(t, mcptest.Options{}, func(c *ServerConfig) { c.Sampling = allowed }) {
			t.Run(fmt.Sprintf("%s/%v", name, allowed), func(t *testing.T) {
				t.Parallel()
				h, heard := open(t)
				h.mustCall("fake", "echo", nil)
				method := "initialize"
				if heard.modern {
					method = "tools/call"
				}
				if got := strings.Contains(string(heard.requests(method)[0].Params), `"sampling":{}`); got != allowed {
					t.Errorf("declared: %v", got)
				}
				if allowed {
					return
				}
				tool, a := sampleArgs(heard.modern, plainSample)
				got, err := h.call("fake", tool, a)
				if err != nil {
					got = err.Error()
				}
				if !strings.Contains(got, "method not found") {
					t.Errorf("%s %v", got, err)
				}
			})
		}
	}
}

func TestSamplingThatMeansNothing(t *testing.T) {
	t.Parallel()
	h, _ := everyTransport(t, mcptest.Options{}, mayAsk)["stdio legacy"](t)
	message := `"messages":[{"role":"user","content":{"type":"text","text":"x"}}]`
	for params, want := range map[string]string{
		`{}`:                                "maxTokens must be",
		`[]`:                                "",
		`{"maxTokens":5}`:                   "messages is empty",
		`{"maxTokens":0,` + message + `}`:   "maxTokens must be",
		`{"maxTokens":"9",` + message + `}`: "",
		`{"maxTokens":9,"messages":{}}`:     "",
		`{"maxTokens":9,"messages":[{}]}`:   "messages[0] has no content",
		`{"maxTokens":9,"tools":[],` + message + `}`:                                                   "does not declare sampling.tools",
		`{"maxTokens":9,"toolChoice":{"mode":"none"},` + message + `}`:                                 "does not declare sampling.tools",
		`{"maxTokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"x"}]}]}`: "has a tool_use",
		`{"maxTokens":9,"messages":[` + strings.Repeat(`{"role":"user","content":"x"},`, 200) + `{}]}`: "201 messages",
		`{"maxTokens":9,"task":{"ttl":1},` + message + `}`:                                             "does not declare tasks",
	} {
		if got := h.mustCall("fake", "ask", args{"method": "sampling/createMessage", "params": json.RawMessage(params)}); !strings.Contains(got, `"code":-32602`) || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
	odd, err := ParseSample(json.RawMessage(`{"maxTokens":1e18,"messages":[{"role":"system","content":"x"}],"temperature":"hot","stopSequences":7,"modelPreferences":{"hints":[{"name":3},{"name":"m"}]},"systemPrompt":[]}`))
	if err != nil || odd.Messages[0].Role != "user" || odd.Temperature != nil || odd.Stop != nil || len(odd.Hints) != 1 || odd.System != "" || odd.MaxTokens != 1<<30 {
		t.Errorf("%+v %v", odd, err)
	}
}

// A server that asks in a loop, or for much at once.
func TestSamplingIsBounded(t *testing.T) {
	for _, name := range []string{"stdio legacy", "stdio modern"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, heard := everyTransport(t, mcptest.Options{}, mayAsk)[name](t)
			tool, a := sampleArgs(heard.modern, plainSample)
			ctx, cancel := context.WithCancel(t.Context())
			var ends []func() (string, error)
			var open []Request
			for range maxSampling {
				ends = append(ends, h.calling(ctx, tool, a))
				open = append(open, h.asked())
			}
			got, err := h.call("fake", tool, a)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, "4 requests of this server for the model are under way") {
				t.Errorf("%s %v", got, err)
			}
			cancel() // of the run: the questions close
			for i, end := range ends {
				if _, err := end(); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				select {
				case <-open[i].Done:
				case <-time.After(10 * time.Second):
					t.Error("a question outlives its call")
				}
			}
			eventually(t, "room for another", func() bool {
				end := h.calling(t.Context(), tool, a)
				select {
				case r := <-h.Requests():
					r.Reply(SampleResult{Text: "x"}.Answer())
					_, err := end()
					return err == nil
				case <-time.After(100 * time.Millisecond):
					_, _ = end()
					return false
				}
			})
		})
	}
	var c calls
	if !c.sample() {
		t.Error("outside of calls")
	}
	end := c.begin(t.Context())
	for i := range maxSamplesPerCall {
		if !c.sample() {
			t.Fatalf("only %d in a call", i)
		}
	}
	if c.sample() {
		t.Error("more in a call")
	}
	other := c.begin(t.Context())
	if !c.sample() {
		t.Error("it may come of the other call")
	}
	other()
	end()
	defer c.begin(t.Context())()
	if !c.sample() {
		t.Error("a later call is not concerned")
	}
}
