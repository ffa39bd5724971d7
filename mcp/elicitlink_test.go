package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// MCP, client/elicitation, Safe URL Handling.
func TestParseLink(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Link{
		"https://mcp.example.com/connect?id=1&x=%20#f": {"https://mcp.example.com/connect?id=1&x=%20#f", "mcp.example.com", ""},
		"https://Example.COM:8443/":                    {"https://example.com:8443/", "example.com:8443", ""},
		"http://127.0.0.1:9/x":                         {"http://127.0.0.1:9/x", "127.0.0.1:9", ""},
		"http://localhost/x":                           {"http://localhost/x", "localhost", ""},
		"http://[::1]:80/":                             {"http://[::1]:80/", "[::1]:80", ""},
		"https://bücher.example/ä":                     {"https://xn--bcher-kva.example/%C3%A4", "xn--bcher-kva.example", "bücher.example"},
		"https://xn--80ak6aa92e.com/":                  {"https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com", "аррӏе.com"},
	} {
		if got, err := ParseLink(raw); err != nil || got != want {
			t.Errorf("%s: %+v %v", raw, got, err)
		}
	}
	for raw, want := range map[string]string{
		"": "missing", "://": "cannot be read", "https://": "no host", "/here": "no host", "mailto:a@b.c": "no host", "javascript:alert(1)": "no host", "file:///etc/passwd": "no host",
		"http://example.com/": "must be https", "ftp://example.com/": "must be https", "vscode://x/y": "must be https", "http://127.0.0.1.evil.example/": "must be https",
		"https://good.example@evil.example/": "user name", "https://a:b@evil.example/": "user name", "https://x.example/\x00": "cannot be read", "https://ex\u202eample.com/": "no name",
		"https://x.example/?q=a\"b": "percent-encoded", "https://x.example/?q=<script>": "percent-encoded", "https://x.example/?q=\u202e": "percent-encoded",
		"https://x.example/" + strings.Repeat("a", maxLink): "at most 2000",
	} {
		if got, err := ParseLink(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v %v, want %s", clip(raw, 60), got, err, want)
		}
	}
}

func linkParams(id string) map[string]any {
	p := map[string]any{"mode": "url", "url": "https://mcp.example.com/connect", "message": "Sign in"}
	if id != "" {
		p["elicitationId"] = id
	}
	return p
}

// complete is the params of notifications/elicitation/complete.
func (h *house) complete(id string) {
	h.t.Helper()
	if got := h.mustCall("fake", "notify", args{"method": "notifications/elicitation/complete", "params": map[string]any{"elicitationId": id}}); got != "notified" {
		h.t.Fatal(got)
	}
}

func TestLinkIsConsentedToAndCompleted(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, h *house) {
		end := h.calling(t.Context(), "ask", args{"method": "elicitation/create", "params": linkParams("e1")})
		r := h.asked()
		if e := r.Elicit; e.Mode != "url" || e.Link.URL != "https://mcp.example.com/connect" || e.Link.Host != "mcp.example.com" || e.Opened || e.Message != "Sign in" {
			t.Errorf("%+v", e)
		}
		r.Reply(RequestAnswer{Accept: true, Content: json.RawMessage(`{"none":"of the server's business"}`)})
		if got, err := end(); err != nil || !strings.Contains(got, `"result":{"action":"accept"}`) {
			t.Error(got, err)
		}
		h.complete("unknown") // MUST be ignored
		h.complete("e1")
		h.complete("e1") // already completed
		h.await("fake", EventCompleted)
		h.mustCall("fake", "echo", nil)
		if n := len(h.kind("fake", EventCompleted)); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// What is done without us needs no answer any more.
func TestLinkThatIsCompletedWhileItIsAskedAbout(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {}})
	end := h.calling(t.Context(), "ask", args{"method": "elicitation/create", "params": linkParams("e1")})
	r := h.asked()
	h.complete("e1")
	select {
	case <-r.Done:
	case <-time.After(10 * time.Second):
		t.Error("the question is still asked")
	}
	if got, err := end(); err != nil || !strings.Contains(got, `"action":"accept"`) {
		t.Error(got, err)
	}
}

// MCP 2025-11-25, error -32042: what is to be opened is asked about, then
// whether it is done, and the call is sent once more.
func TestURLElicitationRequired(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, h *house) {
		refusing := func() func() (string, error) {
			return h.calling(WithOrigin(t.Context(), Origin{RunID: "r"}), "refuse", args{"code": -32042, "text": "Sign in first", "params": map[string]any{"elicitations": []any{linkParams("e1")}}})
		}
		// The person says when it is done.
		end := refusing()
		r := h.asked()
		if r.Elicit.Opened || r.Origin.RunID != "r" {
			t.Errorf("%+v", r)
		}
		r.Reply(RequestAnswer{Accept: true})
		if r = h.asked(); !r.Elicit.Opened || r.Elicit.Link.Host != "mcp.example.com" {
			t.Errorf("%+v", r)
		}
		r.Reply(RequestAnswer{Accept: true})
		if got, err := end(); err != nil || got != "not refused" {
			t.Error(got, err)
		}
		// The server does.
		end = refusing()
		h.asked().Reply(RequestAnswer{Accept: true})
		r = h.asked()
		h.complete("e1")
		<-r.Done
		if got, err := end(); err != nil || got != "not refused" {
			t.Error(got, err)
		}
		// The person does not.
		for want, a := range map[string]RequestAnswer{"(decline)": {Decline: true}, "(cancel)": {}} {
			end = refusing()
			h.asked().Reply(a)
			if _, err := end(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Sign in first") || !isCode(err, -32042) {
				t.Error(err)
			}
			h.mustCall("fake", "refuse", args{"code": 0}) // the next one is refused again
		}
	})
}

func TestURLElicitationRequiredThatCannotBeServed(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {}})
	for data, want := range map[string]string{
		`null`:                 "does not say what",
		`{"elicitations":[]}`:  "does not say what",
		`{"elicitations":"x"}`: "does not say what",
		`{"elicitations":[{"mode":"url","url":"http://evil.example/"}]}`:                       "must be https",
		`{"elicitations":[{"mode":"form","message":"?","requestedSchema":{"type":"object"}}]}`: "something else than links",
	} {
		_, err := h.call("fake", "refuse", args{"code": -32042, "text": "no", "params": json.RawMessage(data)})
		if err == nil || !strings.Contains(err.Error(), want) || !isCode(err, -32042) {
			t.Errorf("%s: %v", data, err)
		}
		h.mustCall("fake", "refuse", args{"code": 0})
	}
}

// In MRTR the same link in the next round is one that was opened already.
func TestLinkOfInputRequiredIsOpenedOnce(t *testing.T) {
	t.Parallel()
	modernWays(t, func(t *testing.T, h *house) {
		in := map[string]any{"sign": map[string]any{"method": "elicitation/create", "params": linkParams("")}}
		end := h.calling(t.Context(), "need", args{"inputs": in, "state": "s", "n": 3})
		for i := range 3 {
			r := h.asked()
			if r.Elicit.Opened != (i > 0) {
				t.Errorf("round %d: %+v", i, r.Elicit)
			}
			r.Reply(RequestAnswer{Accept: true})
		}
		if got, err := end(); err != nil || got != `{"inputResponses":{"sign":{"action":"accept"}},"requestState":"s"}` {
			t.Error(got, err)
		}
	})
}

// What was given for a secret is one.
func TestSecretsOfAForm(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {}})
	p := map[string]any{"message": "?", "requestedSchema": json.RawMessage(`{"type":"object","properties":{"password":{"type":"string"},"name":{"type":"string"}}}`)}
	end := h.calling(t.Context(), "ask", args{"method": "elicitation/create", "params": p})
	h.asked().Reply(RequestAnswer{Accept: true, Content: json.RawMessage(`{"password":"correct-horse","name":"battery-staple"}`)})
	if got, err := end(); err != nil || !strings.Contains(got, "correct-horse") {
		t.Error(got, err)
	}
	if got := h.secrets.Redact("correct-horse battery-staple"); got != Redacted+" battery-staple" {
		t.Error(got)
	}
}

// An answer that the form does not take is never sent.
func TestAnswerThatTheFormDoesNotTake(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {}})
	end := h.calling(t.Context(), "ask", args{"method": "elicitation/create", "params": form("?")})
	h.asked().Reply(RequestAnswer{Accept: true, Content: json.RawMessage(`{"alpha":"wrong-type"}`)})
	if got, err := end(); err != nil || strings.Contains(got, "wrong-type") || !strings.Contains(got, "-32603") {
		t.Error(got, err)
	}
}
