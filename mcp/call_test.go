package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// openai/codex#26956, anomalyco/opencode#24312; and the server lives on:
// anthropics/claude-code#47724.
func TestCancelReachesTheServerOnce(t *testing.T) {
	for _, tool := range []string{"sleep", "stubborn", "never"} {
		t.Run(tool, func(t *testing.T) {
			log := mcptest.NewLog(t)
			h := open(t, map[string]mcptest.Options{"fake": {Log: string(log)}})
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := h.callCtx(ctx, "fake", tool, args{"seconds": 3600})
				done <- err
			}()
			call := log.AwaitCall(t, tool)
			why := errors.New("the user's cancel")
			cancel(why)
			within(t, 5*time.Second, "the cancelled call", func() {
				if err := <-done; !errors.Is(err, why) {
					t.Errorf("%v", err)
				}
			})
			log.AwaitMethod(t, 1, "notifications/cancelled")
			pid := pids(t, log)[0]
			if got := h.mustCall("fake", "echo", args{"text": "next"}); got != "next" {
				t.Errorf("%q", got)
			}
			told := log.Method(t, "notifications/cancelled")
			if len(told) != 1 {
				t.Fatalf("told %d times", len(told))
			}
			var p struct {
				RequestID json.RawMessage `json:"requestId"`
			}
			if err := json.Unmarshal(told[0].Params, &p); err != nil || string(p.RequestID) != string(call.ID) {
				t.Errorf("cancelled %s, want %s", p.RequestID, call.ID)
			}
			if now := pids(t, log); len(now) != 1 || now[0] != pid {
				t.Errorf("children %v, first %d", now, pid)
			}
		})
	}
}

// anthropics/claude-code#15945; not while progress flows: anomalyco/opencode#32477.
func TestCallEndsAtItsDeadline(t *testing.T) {
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, fast())
	c := fakeConfig(t, "fake", mcptest.Options{Log: string(log)})
	c.Timeout = 300 * time.Millisecond
	h.Configure([]ServerConfig{c})
	h.started()
	_, err := h.call("fake", "never", nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "tools/call of never") {
		t.Errorf("%v", err)
	}
	log.AwaitMethod(t, 1, "notifications/cancelled")
	if got := h.mustCall("fake", "progress", args{"steps": 8, "every": 0.1}); got != "done" {
		t.Errorf("%q", got)
	}
}

func TestProgressGoesToItsCallAndEndsWithIt(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"fake": {}})
	type result struct {
		steps []float64
		err   error
	}
	results := make(chan result, 3)
	for n := range 3 {
		go func() {
			var r result
			ended := false
			_, r.err = h.CallTool(t.Context(), "fake", "progress", json.RawMessage(`{"steps":`+string(rune('3'+n))+`,"every":0.02}`), func(p Progress) {
				if ended || p.Total != float64(3+n) || !strings.HasPrefix(p.Message, "step ") {
					t.Errorf("%+v after its end: %v", p, ended)
				}
				r.steps = append(r.steps, p.Progress)
			})
			ended = true
			time.Sleep(50 * time.Millisecond) // the fake's late progress comes now
			results <- r
		}()
	}
	var got [][]float64
	for range 3 {
		r := <-results
		if r.err != nil {
			t.Error(r.err)
		}
		got = append(got, r.steps)
	}
	slices.SortFunc(got, slices.Compare)
	if want := [][]float64{{1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v", got)
	}
}

func TestProgressOfASlowReaderIsTheNewest(t *testing.T) {
	var r progressRoutes
	token, values := r.add()
	for i := range 1000 {
		r.deliver(map[string]any{"progressToken": token, "progress": float64(i)})
	}
	r.deliver(map[string]any{"progressToken": 7, "progress": "odd"})
	r.deliver(nil)
	var last Progress
	for len(values) > 0 {
		last = <-values
	}
	if last.Progress != 999 {
		t.Errorf("%+v", last)
	}
	r.remove(token)
	r.deliver(map[string]any{"progressToken": token, "progress": float64(1)})
	if len(values) > 0 {
		t.Error("delivered after the end")
	}
}

func TestToolResultsOfEveryShape(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"fake": {}})
	r, err := h.CallTool(t.Context(), "fake", "parts", nil, nil)
	var kinds []string
	for _, c := range r.Content {
		kinds = append(kinds, c.Type)
	}
	if err != nil || !slices.Equal(kinds, []string{"text", "image", "audio", "resource", "resource_link"}) {
		t.Errorf("%v %v", kinds, err)
	}
	if r, err = h.CallTool(t.Context(), "fake", "odd", nil, nil); err != nil || len(r.Content) != 4 || r.Content[0].Type != "hologram" || r.Content[1].Text != "bare text" || r.IsError {
		t.Errorf("%+v %v", r, err)
	}
	if r, err = h.CallTool(t.Context(), "fake", "empty", nil, nil); err != nil || len(r.Content) != 0 {
		t.Errorf("%+v %v", r, err)
	}
	if r, err = h.CallTool(t.Context(), "fake", "structured", nil, nil); err != nil || string(r.Structured) != `{"n":1}` {
		t.Errorf("%+v %v", r, err)
	}
	if r, err = h.CallTool(t.Context(), "fake", "fail", nil, nil); err != nil || !r.IsError || joined(r) != "it failed" {
		t.Errorf("%+v %v", r, err)
	}
	if _, err = h.CallTool(t.Context(), "fake", "error", nil, nil); err == nil || !strings.Contains(err.Error(), "an error of the protocol") {
		t.Errorf("%v", err)
	}
	if _, err = h.CallTool(t.Context(), "fake", "echo", json.RawMessage(`{"text":`), nil); err == nil {
		t.Error("arguments that are no JSON were sent")
	}
}

func TestServersRequestsAreAnswered(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"fake": {}})
	check := func(method, want string) {
		t.Helper()
		if got := h.mustCall("fake", "ask", args{"method": method}); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", method, got, want)
		}
	}
	// PaiCLI P9
	check("ping", `"result":{}`)
	check("roots/list", `"roots":[]`)
	check("sampling/createMessage", `-32601`)
	check("elicitation/create", `-32602`)
	check("no/such", `-32601`)
}
