package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// modernWays runs a test against servers of 2026-07-28, on stdio and over HTTP.
func modernWays(t *testing.T, test func(t *testing.T, h *house)) {
	t.Run("stdio", func(t *testing.T) { test(t, open(t, map[string]mcptest.Options{"fake": {Modern: true}})) })
	t.Run("http", func(t *testing.T) {
		h, _ := remote(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
		test(t, h)
	})
}

func rawJSON(raw string) json.RawMessage { return json.RawMessage(raw) }

const twoForms = `{
	"zebra": {"method": "elicitation/create", "params": {"message": "first", "requestedSchema": {"type": "object", "properties": {"said": {"type": "string"}}}}},
	"ant":   {"method": "elicitation/create", "params": {"mode": "form", "message": "second", "requestedSchema": {"type": "object", "properties": {"said": {"type": "string"}}}}},
	"roots": {"method": "roots/list"}
}`

// MCP 2026-07-28, basic/patterns/mrtr: all inputs are there in the retry, the
// state goes back as it came, and the ids differ.
func TestInputRequiredIsGivenAndTheCallRetried(t *testing.T) {
	t.Parallel()
	modernWays(t, func(t *testing.T, h *house) {
		state := "opaque <&> \u2028 \"state\""
		end := h.calling(WithOrigin(t.Context(), Origin{"run-1", "s"}), "need", args{"inputs": rawJSON(twoForms), "state": state, "n": 2})
		for range 2 {
			one, two := h.asked(), h.asked() // beside each other: neither is answered yet
			for _, r := range []Request{one, two} {
				if r.Origin.RunID != "run-1" || r.Server != "fake" {
					t.Errorf("%+v", r)
				}
				r.Reply(RequestAnswer{Accept: true, Content: json.RawMessage(`{"said":"` + r.Elicit.Message + `"}`)})
			}
		}
		got, err := end()
		if err != nil {
			t.Fatal(err)
		}
		var p struct {
			State     string                     `json:"requestState"`
			Responses map[string]json.RawMessage `json:"inputResponses"`
		}
		if err := json.Unmarshal([]byte(got), &p); err != nil || p.State != state || len(p.Responses) != 3 {
			t.Fatalf("%s %v", got, err)
		}
		for key, want := range map[string]string{"zebra": `"said":"first"`, "ant": `"said":"second"`, "roots": `"roots":[]`} {
			if !strings.Contains(string(p.Responses[key]), want) {
				t.Errorf("%s: %s", key, p.Responses[key])
			}
		}
	})
}

func TestInputRequiredIdsAndParams(t *testing.T) {
	t.Parallel()
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Modern: true, Log: string(log)}})
	h.mustCall("fake", "need", args{"inputs": rawJSON(`{"r": {"method": "roots/list"}}`)})
	h.mustCall("fake", "echo", args{"text": "later"})
	var ids []string
	for _, e := range log.Method(t, "tools/call") {
		ids = append(ids, string(e.ID))
		p := string(e.Params)
		if e.Tool() == "echo" && (strings.Contains(p, "inputResponses") || strings.Contains(p, "requestState")) {
			t.Errorf("another call has the inputs: %s", p)
		}
		if e.Tool() == "need" && (!strings.Contains(p, `"arguments":{"inputs"`) || strings.Contains(p, "requestState")) {
			t.Errorf("%s", p)
		}
	}
	if len(ids) != 3 || ids[0] == ids[1] {
		t.Errorf("ids %v", ids)
	}
}

func TestInputRequiredWithoutRequestsIsRetriedWithItsState(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {Modern: true}})
	if got := h.mustCall("fake", "need", args{"state": "later", "n": 3}); got != `{"requestState":"later"}` {
		t.Error(got)
	}
}

func TestInputRequiredHasAnEnd(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {Modern: true}})
	_, err := h.call("fake", "need", args{"inputs": rawJSON(`{"r": {"method": "roots/list"}}`), "n": 1000})
	if err == nil || !strings.Contains(err.Error(), "10 times") {
		t.Error(err)
	}
}

func TestInputRequiredThatCannotBeGiven(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {Modern: true}})
	for raw, want := range map[string]string{
		`{}`:                           "without saying which",
		`[]`:                           "no object",
		`{"x": {"params": {}}}`:        `"x" names no method`,
		`{"x": {"method": "no/such"}}`: "-32601",
		`{"x": {"method": "elicitation/create", "params": {"message": "?"}}}`: "-32602",
	} {
		if _, err := h.call("fake", "need", args{"inputs": rawJSON(raw)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

func TestCancelEndsTheQuestionsOfInputRequired(t *testing.T) {
	t.Parallel()
	modernWays(t, func(t *testing.T, h *house) {
		ctx, cancel := context.WithCancel(t.Context())
		end := h.calling(ctx, "need", args{"inputs": rawJSON(twoForms)})
		r := h.asked()
		cancel()
		select {
		case <-r.Done:
		case <-time.After(10 * time.Second):
			t.Error("the question outlives its call")
		}
		if _, err := end(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// MCP 2026-07-28, basic/index: an unknown resultType is invalid.
func TestUnknownResultType(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{
		"modern": {Modern: true, Answers: map[string]json.RawMessage{"prompts/get": rawJSON(`{"resultType":"maybe","messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`)}},
		"list":   {Modern: true, Answers: map[string]json.RawMessage{"resources/list": rawJSON(`{"resultType":"input_required","requestState":"x"}`)}},
	})
	if _, err := h.GetPrompt(t.Context(), "modern", "review", map[string]string{"focus": "x"}); err == nil || !strings.Contains(err.Error(), `"maybe"`) {
		t.Error(err)
	}
	if _, err := h.ListResources(t.Context(), "list"); err == nil || !strings.Contains(err.Error(), "input_required") {
		t.Error(err)
	}
}
