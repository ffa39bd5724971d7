package mcp

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// heard lists what a server got, as verb or method.
func heard(srv *mcptest.HTTPServer, first int) string {
	var out []string
	for _, r := range srv.Requests() {
		what := r.Method
		if what == "" {
			what = r.Verb
		}
		out = append(out, what)
	}
	return strings.Join(out[:min(first, len(out))], " ")
}

func TestWaysToARemoteServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind, protocol string
		mode                 mcptest.HTTPMode
		status               Status
		first                string
	}{
		{"legacy first", "http", "auto", mcptest.Streamable, StatusReady, "initialize notifications/initialized GET tools/list"},
		{"no type", "", "", mcptest.Stateless, StatusReady, "initialize notifications/initialized GET tools/list"},
		{"then modern", "http", "auto", mcptest.Modern, StatusReady, "initialize server/discover subscriptions/listen tools/list"},
		{"modern alone", "http", "modern", mcptest.Modern, StatusReady, "server/discover subscriptions/listen tools/list"},
		{"modern alone, of a legacy one", "http", "modern", mcptest.Streamable, StatusFailed, "server/discover"},
		{"legacy alone, of a modern one", "http", "legacy", mcptest.Modern, StatusFailed, "initialize"},
		// The specification of 2025-11-25, transports, backwards compatibility.
		{"an old one that is said to be new", "http", "auto", mcptest.SSE, StatusReady, "initialize GET initialize notifications/initialized tools/list"},
		{"likewise, legacy alone", "http", "legacy", mcptest.SSE, StatusReady, "initialize GET initialize notifications/initialized tools/list"},
		{"an old one", "sse", "auto", mcptest.SSE, StatusReady, "GET initialize notifications/initialized tools/list"},
		{"a new one that is said to be old", "sse", "auto", mcptest.Streamable, StatusFailed, "GET"},
		{"a contradiction", "sse", "modern", mcptest.SSE, StatusFailed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: c.mode})
			h := newHouse(t, Options{}, fast())
			cfg := remoteConfig("fake", srv.URL)
			cfg.Type, cfg.Protocol = c.kind, c.protocol
			h.Configure([]ServerConfig{cfg})
			h.started()
			if i := h.status("fake"); i.Status != c.status {
				t.Errorf("%+v", i)
			}
			n := len(strings.Fields(c.first))
			if c.status != StatusReady {
				n++
			}
			if got := heard(srv, n); got != c.first {
				t.Errorf("%s, want %s", got, c.first)
			}
		})
	}
}

func TestWayIsRememberedAndForgotten(t *testing.T) {
	t.Parallel()
	for _, mode := range []mcptest.HTTPMode{mcptest.Modern, mcptest.SSE} {
		srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mode})
		h := newHouse(t, Options{}, fast())
		cfg := remoteConfig("fake", srv.URL)
		cfg.Type = "http"
		h.Configure([]ServerConfig{cfg})
		h.started()
		posted := func() int {
			return len(srv.Requests(mcptest.Method("initialize"), mcptest.Path(srv.URL[strings.LastIndex(srv.URL, "/"):])))
		}
		for range 2 {
			if _, err := h.Restart("fake"); err != nil {
				t.Fatal(err)
			}
			h.started()
			eventually(t, "ready", func() bool { return h.status("fake").Status == StatusReady })
		}
		if n := posted(); n != 1 {
			t.Errorf("the wrong way was tried %d times", n)
		}
		// The same fingerprint, another server.
		now := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
		cfg.URL = now.URL
		h.Configure([]ServerConfig{cfg})
		h.started()
		if i := h.status("fake"); i.Status != StatusReady {
			t.Errorf("%+v", i)
		}
	}
}

// However many ways are tried, and however often.
func TestRemoteConfigurationIsToldOnce(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
	h := newHouse(t, Options{}, fast())
	cfg := remoteConfig("fake", srv.URL)
	cfg.Headers = map[string]string{"Accept": "text/plain"}
	h.Configure([]ServerConfig{cfg})
	h.started()
	if _, err := h.Restart("fake"); err != nil {
		t.Fatal(err)
	}
	h.started()
	h.mustCall("fake", "echo", args{"text": "x"})
	h.Close()
	h.await("fake", EventProblem)
	if told := h.kind("fake", EventProblem); len(told) != 1 {
		t.Errorf("%+v", told)
	}
}

// A server that speaks both ways and failed once to answer initialize is not
// spoken to as a modern one ever after.
func TestWayIsNotLearnedFromAnAccident(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
	srv.Break(mcptest.Method("initialize"), mcptest.First(1, mcptest.Cut))
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	for range 2 {
		if i := h.status("fake"); i.Status != StatusReady {
			t.Errorf("%+v", i)
		}
		if _, err := h.Restart("fake"); err != nil {
			t.Fatal(err)
		}
		h.started()
	}
	// The second time it refused, which counts.
	if n := len(srv.Requests(mcptest.Method("initialize"))); n != 2 {
		t.Errorf("initialize was tried %d times", n)
	}
}

// A server of the new era that refuses initialize before it looks at who asks
// wants a login all the same.
func TestWayThatWantsALogin(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
	auth := mcptest.ServeAuth(t, mcptest.AuthOptions{Iss: "own"})
	auth.Protect(srv, mcptest.Protection{})
	srv.Break(mcptest.Method("initialize"), mcptest.Status(http.StatusBadRequest))
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	if i := h.status("fake"); i.Status != StatusNeedsLogin {
		t.Errorf("%+v", i)
	}
}

// The protocol is not part of the fingerprint.
func TestWayIsForgottenWithTheProtocol(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
	h := newHouse(t, Options{}, fast())
	cfg := remoteConfig("fake", srv.URL)
	cfg.Protocol = "auto"
	h.Configure([]ServerConfig{cfg})
	h.started()
	if i := h.status("fake"); i.Status != StatusReady {
		t.Errorf("%+v", i)
	}
	cfg.Protocol = "legacy"
	h.Configure([]ServerConfig{cfg})
	h.started()
	if i := h.status("fake"); i.Status != StatusFailed {
		t.Errorf("%+v", i)
	}
}

func TestRemoteServerThatCannotBeSpokenTo(t *testing.T) {
	t.Parallel()
	other := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	for _, c := range []struct {
		name  string
		fault mcptest.Fault
		want  []string
		once  bool // no other way is tried
	}{
		{"a login", mcptest.Unauthorized(`Bearer resource_metadata="https://x"`), []string{"wants a login (HTTP 401)", `"headers"`}, true},
		{"forbidden", mcptest.Status(http.StatusForbidden), []string{"refuses the request (HTTP 403: Forbidden)"}, true},
		{"not found", mcptest.Status(http.StatusNotFound), []string{"HTTP 404 Not Found"}, false},
		{"broken", mcptest.Status(http.StatusInternalServerError), []string{"HTTP 500 Internal Server Error"}, false},
		{"not up yet", mcptest.Status(http.StatusServiceUnavailable), []string{"HTTP 503 Service Unavailable"}, true},
		{"not up yet, in JSON", mcptest.Answer(503, "application/json", `{"jsonrpc":"2.0","id":{id},"error":{"code":-32000,"message":"I am starting"}}`), []string{"HTTP 503 Service Unavailable: I am starting"}, true},
		{"too often", mcptest.Status(http.StatusTooManyRequests), []string{"HTTP 429 Too Many Requests"}, true},
		{"a page", mcptest.HTML(), []string{`"text/html"`, "Please log in."}, false},
		{"accepted and not answered", mcptest.Status(http.StatusAccepted), []string{"without answering it"}, false},
		{"no message", mcptest.Answer(200, "application/json", `{"hello":1}`), []string{"no answer of MCP", "hello"}, false},
		{"an error without an id", mcptest.Answer(200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"go away"}}`), []string{"go away"}, false},
		{"a refusal in JSON", mcptest.Answer(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"go away"}}`), []string{"go away"}, false},
		{"cut off", mcptest.Cut, []string{"broke"}, false},
		{"another origin", mcptest.Redirect(307, other.URL+"/x?token=abcdefghij"), []string{"redirects to another origin, http://127.0.0.1:", `put it into "url"`}, true},
		{"a page elsewhere", mcptest.Redirect(302, "/login"), []string{"redirects to a page"}, true},
		{"in a circle", mcptest.Redirect(308, "/mcp"), []string{"more than 10 times"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
			srv.Break(mcptest.Any, c.fault)
			h := newHouse(t, Options{}, fast())
			cfg := remoteConfig("fake", srv.URL+"?access_token=query-secret-1")
			cfg.Headers = map[string]string{"Authorization": "Bearer header-secret-1"}
			h.Configure([]ServerConfig{cfg})
			e := h.await("fake", EventFailed)
			i := h.status("fake")
			want := StatusFailed
			if c.name == "a login" {
				want = StatusNeedsLogin
			}
			if i.Status != want || i.Error != e.Err {
				t.Errorf("%+v", i)
			}
			for _, w := range c.want {
				if !strings.Contains(e.Err, w) {
					t.Errorf("%q does not say %q", e.Err, w)
				}
			}
			// CherryHQ/cherry-studio#18648
			for _, secret := range []string{"query-secret", "header-secret", "abcdefghij"} {
				if strings.Contains(e.Err+i.URL, secret) {
					t.Errorf("%q tells a secret", e.Err+i.URL)
				}
			}
			if n := len(srv.Requests(mcptest.Method("server/discover"))); c.once != (n == 0) {
				t.Errorf("asked as a modern one %d times", n)
			}
		})
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("the other origin got %d requests", n)
	}
}

func TestRemoteRedirectWithinTheOrigin(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	srv.Break(mcptest.Path("/mcp"), mcptest.Redirect(307, "/mcp/v2"))
	h := newHouse(t, Options{}, fast())
	cfg := remoteConfig("fake", srv.URL)
	cfg.Headers = map[string]string{"X-Key": "k"}
	h.Configure([]ServerConfig{cfg})
	h.started()
	if got := h.mustCall("fake", "echo", args{"text": "there"}); got != "there" {
		t.Errorf("%q", got)
	}
	for _, r := range srv.Requests(mcptest.Path("/mcp/v2")) {
		if r.Header.Get("X-Key") != "k" {
			t.Errorf("%s without the headers", r)
		}
	}
}

func TestRemoteServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	srv.Stop()
	h := newHouse(t, Options{}, fast())
	within(t, 5*time.Second, "the start", func() {
		h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
		if e := h.await("fake", EventFailed); !strings.HasPrefix(e.Err, "cannot reach http://127.0.0.1:") || !strings.Contains(e.Err, "refused") {
			t.Errorf("%+v", e)
		}
	})
	srv.Restart(t)
	if got := h.mustCall("fake", "echo", args{"text": "late"}); got != "late" { // the next use tries again
		t.Errorf("%q", got)
	}
	h.await("fake", EventReady)
}

func TestHeadersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"X Team": "blue", "X-Team": "secret-value-1\r\nX-Evil: 1", "": "x", "X-Naïve": "x"} {
		srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
		h := newHouse(t, Options{}, fast())
		cfg := remoteConfig("fake", srv.URL)
		cfg.Headers = map[string]string{name: value}
		h.Configure([]ServerConfig{cfg})
		e := h.await("fake", EventFailed)
		if !strings.Contains(e.Err, "headers") || !strings.Contains(e.Err, name) || strings.Contains(e.Err, "secret-value-1") {
			t.Errorf("%+v", e)
		}
		if n := len(srv.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	}
}
