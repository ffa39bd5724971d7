package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
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

const oneForm = `{"who": {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}}}`

// MCP 2026-07-28, basic/patterns/mrtr: prompts/get and resources/read may need
// input as well, and a body that took some is not kept for others.
func TestInputRequiredOfPromptsAndResources(t *testing.T) {
	t.Parallel()
	o := mcptest.Options{Modern: true, Hints: map[string]any{"ttlMs": 3600000}, Needs: map[string]json.RawMessage{"prompts/get": rawJSON(oneForm), "resources/read": rawJSON(oneForm)}}
	log := mcptest.NewLog(t)
	o.Log = string(log)
	h := open(t, map[string]mcptest.Options{"fake": o})
	yes := RequestAnswer{Accept: true, Content: rawJSON(`{"name":"me"}`)}
	for range 2 {
		done := make(chan error, 1)
		go func() {
			contents, err := h.Read(t.Context(), "fake", "file://doc1.md")
			if err == nil && (len(contents) != 1 || !strings.Contains(contents[0].Text, "doc1")) {
				err = fmt.Errorf("%+v", contents)
			}
			done <- err
		}()
		h.asked().Reply(yes)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := len(log.Method(t, "resources/read")); n != 4 {
		t.Errorf("read %d times: what a person's answer went into was kept", n)
	}
	done := make(chan error, 1)
	go func() {
		_, err := h.GetPrompt(t.Context(), "fake", "review", map[string]string{"focus": "speed"})
		done <- err
	}()
	h.asked().Reply(yes)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if p := string(log.Method(t, "prompts/get")[1].Params); !strings.Contains(p, `"inputResponses":{"who":{"action":"accept","content":{"name":"me"}}}`) || !strings.Contains(p, `"focus":"speed"`) {
		t.Error(p)
	}
}

// A person may take longer than the server, and its caller, may (LIBRARIES B5:
// mcp-go ends a question over HTTP after 30 s).
func TestPersonTakesLongerThanTheCallMay(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]mcptest.Options{"legacy": {}, "modern": {Modern: true}} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, Options{}, fast())
			c := fakeConfig(t, "fake", o)
			c.Timeout = 300 * time.Millisecond
			h.Configure([]ServerConfig{c})
			h.started()
			ctx, cancel := WithTimeout(t.Context(), 400*time.Millisecond, errors.New("the caller's time is over"))
			defer cancel()
			tool, a := "ask", args{"method": "elicitation/create", "params": form("?")}
			if o.Modern {
				tool, a = "need", args{"inputs": rawJSON(oneForm)}
			}
			end := h.calling(ctx, tool, a)
			r := h.asked()
			select {
			case <-r.Done:
				t.Error("the question was taken away")
			case <-time.After(time.Second): // what is measured
			}
			r.Reply(RequestAnswer{Decline: true})
			if got, err := end(); err != nil || !strings.Contains(got, "decline") {
				t.Error(got, err)
			}
			if _, err := h.callCtx(ctx, "fake", "never", nil); !errors.Is(err, context.DeadlineExceeded) && (err == nil || err.Error() != "the caller's time is over") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A question that nobody answers is dismissed at last.
func TestPersonWhoNeverAnswers(t *testing.T) {
	t.Parallel()
	tm := fast()
	tm.person = 100 * time.Millisecond
	h := newHouse(t, Options{}, tm)
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{})})
	h.started()
	end := h.calling(t.Context(), "ask", args{"method": "elicitation/create", "params": form("?")})
	r := h.asked()
	<-r.Done
	if got, err := end(); err != nil || !strings.Contains(got, `"action":"cancel"`) {
		t.Error(got, err)
	}
}

// What nobody did on purpose, as a hover, leads to no question, in both eras.
func TestQuietCallsAskNobody(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {}, "modern": {Modern: true, Needs: map[string]json.RawMessage{"resources/read": rawJSON(oneForm)}}})
	quiet := Quietly(t.Context())
	if contents, err := h.Read(quiet, "modern", "file://doc1.md"); err != nil || len(contents) != 1 {
		t.Errorf("%v %v", contents, err)
	}
	if got, err := h.callCtx(quiet, "fake", "ask", args{"method": "elicitation/create", "params": form("?")}); err != nil || !strings.Contains(got, `"action":"cancel"`) {
		t.Error(got, err)
	}
	select {
	case r := <-h.Requests():
		t.Errorf("asked %+v", r)
	default:
	}
}

// More inputs at once than questions of a server may be open: each has its turn.
func TestManyInputsAtOnce(t *testing.T) {
	t.Parallel()
	modernWays(t, func(t *testing.T, h *house) {
		var inputs []string
		for i := range maxInputs {
			inputs = append(inputs, fmt.Sprintf(`"i%d": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}`, i))
		}
		end := h.calling(t.Context(), "need", args{"inputs": rawJSON("{" + strings.Join(inputs, ",") + "}")})
		var open []Request
		for range maxAsking {
			open = append(open, h.asked())
		}
		for i := range maxInputs {
			open[i].Reply(RequestAnswer{Accept: true})
			if len(open) < maxInputs {
				open = append(open, h.asked())
			}
		}
		if got, err := end(); err != nil || strings.Count(got, `"action":"accept"`) != maxInputs {
			t.Error(got, err)
		}
	})
}

// A server that asks on and on: a person who said no three times within a call
// is not asked again.
func TestPersonWhoSaidNoIsLeftInPeace(t *testing.T) {
	t.Parallel()
	one := rawJSON(`{"a": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}}`)
	modernWays(t, func(t *testing.T, h *house) {
		for range 2 { // the next call is not concerned
			end := h.calling(t.Context(), "need", args{"inputs": one, "n": 8})
			for i := range maxRefused {
				h.asked().Reply(RequestAnswer{Decline: i == 0}) // or dismissed
			}
			if got, err := end(); err == nil || !strings.Contains(err.Error(), "said no 3 times") {
				t.Errorf("%q %v", got, err)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var c calls
		for range maxRefused {
			if !c.mayAsk() {
				t.Error("too early")
			}
			c.refuse()
		}
		if c.mayAsk() {
			t.Error("asked again outside of calls")
		}
		end := c.begin(t.Context())
		if !c.mayAsk() {
			t.Error("a call of its own is not concerned")
		}
		end()
		time.Sleep(idleGrace + time.Second)
		if !c.mayAsk() {
			t.Error("never asked again")
		}
	})
}
