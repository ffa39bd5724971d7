package oauth

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

func TestScopesOfLogins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known []string // of the authorization server
		p     mcptest.Protection
		c     Client
		want  string
	}{
		"of the challenge":     {p: mcptest.Protection{Scopes: []string{"a"}, Named: []string{"a", "b"}}, want: "a"},
		"of the metadata":      {p: mcptest.Protection{Scopes: []string{"a"}, Named: []string{"a", "b"}, NoScopes: true}, want: "a b"},
		"none":                 {want: ""},
		"configured":           {p: mcptest.Protection{Scopes: []string{"a"}, Named: []string{"b"}}, c: Client{Scopes: []string{"a", "mine"}}, want: "a mine"},
		"and offline":          {known: []string{"a", "offline_access"}, p: mcptest.Protection{Scopes: []string{"a"}}, want: "a offline_access"},
		"offline, never alone": {known: []string{"offline_access"}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mcptest.AuthOptions{Scopes: c.known}, c.p, c.c)
			w.mustLogin()
			w.want(ping, 200)
			q := w.asked()
			if q.Get("scope") != c.want || q.Has("scope") != (c.want != "") || strings.Contains(c.want, "offline") != (q.Get("prompt") == "consent") {
				t.Errorf("%v", q)
			}
		})
	}
}

// Step up (MCP, Scope Challenge Handling): with what there was, and not for ever.
func TestStepUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{Scopes: []string{"read"}, Of: map[string][]string{"echo": {"write"}}}, Client{})
	refused := func() (Refusal, bool) {
		req, _ := http.NewRequest(http.MethodPost, w.url, strings.NewReader(echo))
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
		resp, err := w.guard.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return w.guard.Refused(resp)
	}
	w.mustLogin()
	w.want(ping, 200)
	if r, ok := refused(); !ok || r.Futile || !slices.Equal(r.Scopes, []string{"write"}) {
		t.Fatalf("%+v, %v", r, ok)
	}
	w.again() // what was granted is not forgotten
	w.want(echo, 403)
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	w.want(echo, 200)
	if got := w.asked().Get("scope"); got != "read write" {
		t.Errorf("asked for %q", got)
	}
	if n := len(w.as.Requests("/register")); n != 1 {
		t.Errorf("registered %d times", n)
	}
	// A server that is never content.
	w.server.Break(mcptest.Any, mcptest.Answer(403, "application/json", "{}", "WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`))
	if r, ok := refused(); !ok || !r.Futile {
		t.Errorf("%+v, %v", r, ok)
	}
	w.server.Break(mcptest.Any, mcptest.Answer(403, "text/plain", "no"))
	if r, ok := refused(); ok {
		t.Errorf("%+v", r)
	}
}
