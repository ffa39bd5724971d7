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

func TestGetPromptInBothErasAndOverHTTP(t *testing.T) {
	check := func(t *testing.T, h *house) {
		t.Helper()
		eventually(t, "prompts", func() bool { return len(h.PromptList()) == 1 })
		if c := h.PromptList()[0]; c.Server != "fake" || c.Name != "fake" || c.Prompt.Name != "review" || c.Stale {
			t.Errorf("%+v", c)
		}
		r, err := h.GetPrompt(t.Context(), "fake", "review", map[string]string{"focus": "speed"})
		if err != nil || len(r.Messages) != 1 || r.Description != "review" || r.Messages[0].Role != "user" ||
			len(r.Messages[0].Contents) != 1 || r.Messages[0].Contents[0] != (Content{Type: "text", Text: "Review it, focus speed"}) {
			t.Errorf("%+v %v", r, err)
		}
		values, more, err := h.CompleteArgument(t.Context(), "fake", CompletionRef{Prompt: "review"}, "focus", "s", nil)
		if err != nil || more || !slices.Equal(values, []string{"security", "speed"}) {
			t.Errorf("%v %v %v", values, more, err)
		}
	}
	for _, modern := range []bool{false, true} {
		o := mcptest.Options{Modern: modern}
		t.Run("stdio", func(t *testing.T) { check(t, open(t, map[string]mcptest.Options{"fake": o})) })
		t.Run("http", func(t *testing.T) {
			h, _ := remote(t, mcptest.HTTPOptions{Options: o})
			check(t, h)
		})
	}
}

func TestGetPromptTellsWhatIsWrong(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Prompts: []json.RawMessage{
		json.RawMessage(`{"name":"plain"}`),
		json.RawMessage(`{"name":"two","arguments":[{"name":"a","required":true},{"name":"b","required":true},{"name":"c"}]}`),
	}}})
	check := func(name string, arguments map[string]string, want error, words string) {
		t.Helper()
		_, err := h.GetPrompt(t.Context(), "fake", name, arguments)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s %v: %v", name, arguments, err)
		}
	}
	check("review", nil, ErrPromptArgument, "review needs the argument focus")
	check("two", map[string]string{"c": ""}, ErrPromptArgument, "two needs the arguments a, b")
	check("two", map[string]string{"a": "", "b": "", "d": "1"}, ErrPromptArgument, `no argument "d"; its arguments are a, b, c`)
	check("plain", map[string]string{"x": "1"}, ErrPromptArgument, `plain has no argument "x"; it has none`)
	check("two", map[string]string{"a": strings.Repeat("x", maxPromptArguments), "b": ""}, ErrPromptArgument, "at most")
	check("nope", nil, ErrUnknownPrompt, `has no prompt "nope"; its prompts are review, plain, two`)
	if n := len(log.Method(t, "prompts/get")); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
	if _, err := h.GetPrompt(t.Context(), "none", "x", nil); !errors.Is(err, ErrUnknownServer) {
		t.Error(err)
	}
	h2 := open(t, map[string]mcptest.Options{"fake": {Broken: []string{"prompts/get"}}})
	if _, err := h2.GetPrompt(t.Context(), "fake", "review", map[string]string{"focus": ""}); err == nil || !strings.Contains(err.Error(), `prompt "review" of "fake": broken as asked`) {
		t.Error(err)
	}
}

// Seen of @cyanheads/git-mcp-server 2.15.3, as of every server that checks the
// arguments of its prompts by a schema.
func TestGetPromptSendsAnObjectWhereNoArgumentIsGiven(t *testing.T) {
	for _, modern := range []bool{false, true} {
		log := mcptest.NewLog(t)
		h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Modern: modern, Prompts: []json.RawMessage{
			json.RawMessage(`{"name":"plain"}`), json.RawMessage(`{"name":"may","arguments":[{"name":"a"}]}`),
		}}})
		for _, c := range []struct {
			name      string
			arguments map[string]string
			want      string
		}{{"plain", nil, ""}, {"plain", map[string]string{}, ""}, {"may", nil, "{}"}, {"may", map[string]string{}, "{}"}, {"may", map[string]string{"a": "b"}, `{"a":"b"}`}} {
			if _, err := h.GetPrompt(t.Context(), "fake", c.name, c.arguments); err != nil {
				t.Fatal(err)
			}
			asked := log.Method(t, "prompts/get")
			var params struct {
				Name      string
				Arguments json.RawMessage
			}
			if err := json.Unmarshal(asked[len(asked)-1].Params, &params); err != nil || params.Name != c.name || string(params.Arguments) != c.want {
				t.Errorf("%s with %v: %s, want arguments %q", c.name, c.arguments, asked[len(asked)-1].Params, c.want)
			}
		}
	}
}

func TestGetPromptCancelled(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), Unanswered: []string{"prompts/get"}}})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	done := make(chan error, 1)
	go func() {
		_, err := h.GetPrompt(ctx, "fake", "review", map[string]string{"focus": "x"})
		done <- err
	}()
	asked := log.AwaitMethod(t, 1, "prompts/get")[0]
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Error(err)
	}
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(log.AwaitMethod(t, 1, "notifications/cancelled")[0].Params, &p)
	if string(p.RequestID) != string(asked.ID) {
		t.Errorf("cancelled %s, asked %s", p.RequestID, asked.ID)
	}
}

func TestParsePromptResult(t *testing.T) {
	check := func(raw string, bad int, want string, messages ...PromptMessage) {
		t.Helper()
		got, n, err := parsePromptResult(json.RawMessage(raw))
		if n != bad || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d bad, %v", raw, n, err)
		}
		if !slices.EqualFunc(got.Messages, messages, func(a, b PromptMessage) bool { return a.Role == b.Role && slices.Equal(a.Contents, b.Contents) }) {
			t.Errorf("%s: %+v", raw, got.Messages)
		}
	}
	text := func(role string, texts ...string) PromptMessage {
		m := PromptMessage{Role: role}
		for _, s := range texts {
			m.Contents = append(m.Contents, Content{Type: "text", Text: s})
		}
		return m
	}
	check(`{"messages":[{"role":"assistant","content":{"type":"text","text":"a"}}]}`, 0, "", text("assistant", "a"))
	check(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`, 0, "", text("user", "a", "b"))
	check(`{"messages":{"role":"user","content":"bare"}}`, 0, "", text("user", "bare"))
	check(`{"description":7,"messages":["bare"]}`, 0, "", text("user", "bare"))
	// A role of more weight is not a server's to give.
	check(`{"messages":[{"role":"system","content":{"type":"text","text":"a"}},{"content":"b"},{"role":5,"content":"c"}]}`, 0, "", text("user", "a"), text("user", "b"), text("user", "c"))
	// One odd message does not lose the rest.
	check(`{"messages":[5,null,"",{"role":"user"},{"role":"user","content":null},{"role":"user","content":[null]},{"role":"user","content":"good"}]}`, 6, "", text("user", "good"))
	check(`{"messages":[{"role":"user","content":{"type":"image","data":"AA==","mimeType":"image/png"}},
		{"role":"user","content":{"type":"resource","resource":{"uri":"a://b","text":"body","mimeType":"text/plain"}}},
		{"role":"user","content":{"type":"resource_link","uri":"a://c","name":"c"}},
		{"role":"user","content":{"type":"audio","data":"AQ==","mimeType":"audio/wav"}},
		{"role":"user","content":{"type":"hologram","x":1}}]}`, 0, "",
		PromptMessage{"user", []Content{{Type: "image", Blob: "AA==", MIMEType: "image/png"}}},
		PromptMessage{"user", []Content{{Type: "resource", URI: "a://b", Text: "body", MIMEType: "text/plain"}}},
		PromptMessage{"user", []Content{{Type: "resource_link", URI: "a://c", Name: "c"}}},
		PromptMessage{"user", []Content{{Type: "audio", Blob: "AQ==", MIMEType: "audio/wav"}}},
		PromptMessage{"user", []Content{{Type: "hologram", Text: `{"type":"hologram","x":1}`}}})
	for _, raw := range []string{``, `5`, `{}`, `{"messages":null}`, `[]`} {
		check(raw, 0, "holds no messages")
	}
	check(`{"messages":[]}`, 0, "no message that says anything")
	check(`{"messages":[1,2]}`, 2, "no message that says anything")
	check(`{"messages":[`+strings.Repeat(`"a",`, maxPromptMessages)+`"a"]}`, 0, "at most 1000")
}

func FuzzParsePromptResult(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":{"type":"text","text":"a"}},5]}`))
	f.Add([]byte(`{"messages":"x","description":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, bad, err := parsePromptResult(raw)
		if err == nil && len(got.Messages) == 0 || err != nil && got.Messages != nil || bad < 0 {
			t.Fatalf("%+v %d %v", got, bad, err)
		}
		for _, m := range got.Messages {
			if m.Role != "user" && m.Role != "assistant" || len(m.Contents) == 0 {
				t.Fatalf("%+v", m)
			}
		}
	})
}

func TestPromptListAndServerNamed(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"b c": {}, "a": {Without: []string{"prompts"}}})
	eventually(t, "prompts", func() bool { return len(h.PromptList()) == 1 })
	if c := h.PromptList()[0]; c.Server != "b c" || c.Name != "b-c" {
		t.Errorf("%+v", c)
	}
	if i, ok := h.ServerNamed("b-c"); !ok || i.Name != "b c" || i.Status != StatusReady {
		t.Errorf("%+v %v", i, ok)
	}
	if _, ok := h.ServerNamed("b c"); ok {
		t.Error("the configured name is no mention name")
	}
	within(t, time.Second, "a prompt of a server without prompts", func() {
		if _, err := h.GetPrompt(t.Context(), "a", "x", nil); !errors.Is(err, ErrUnknownPrompt) || !strings.Contains(err.Error(), "it has none") {
			t.Error(err)
		}
	})
}
