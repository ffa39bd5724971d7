package oauth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

// MCP.md 64–68: each way to the authorization server, and to a client there.
func TestLogins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o mcptest.AuthOptions
		p mcptest.Protection
		c Client
	}{
		"as the challenge says":      {},
		"OpenID Connect":             {o: mcptest.AuthOptions{OIDC: true}},
		"an issuer with a path":      {o: mcptest.AuthOptions{Path: "/tenant"}},
		"OpenID Connect with a path": {o: mcptest.AuthOptions{Path: "/tenant", OIDC: true}},
		"no hint":                    {p: mcptest.Protection{NoHint: true}},
		"no hint, at the origin":     {p: mcptest.Protection{NoHint: true, Origin: true}},
		"by basic":                   {o: mcptest.AuthOptions{Methods: []string{"client_secret_basic"}}},
		"by post":                    {o: mcptest.AuthOptions{Methods: []string{"private_key_jwt", "client_secret_post"}}},
		"registered beforehand":      {o: mcptest.AuthOptions{Closed: true, Clients: map[string]string{"me": "my secret/+"}, Methods: []string{"client_secret_basic"}}, c: Client{ID: "me", Secret: "my secret/+"}},
		"beforehand, without secret": {o: mcptest.AuthOptions{Closed: true, Clients: map[string]string{"me": ""}}, c: Client{ID: "me"}},
		"a document":                 {o: mcptest.AuthOptions{Closed: true, Document: true}, c: Client{Metadata: "https://client.example/me.json"}},
		"a document, not taken":      {c: Client{Metadata: "https://client.example/me.json"}},
		"its issuer is told":         {o: mcptest.AuthOptions{Iss: "own"}},
		"told, not announced":        {o: mcptest.AuthOptions{Iss: "own", Metadata: map[string]any{"authorization_response_iss_parameter_supported": nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.o, c.p, c.c)
			w.want(ping, 401)
			if err := w.login(); err != nil {
				t.Fatal(err)
			}
			w.want(ping, 200)
			q := w.asked()
			if q.Get("resource") != w.url || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Has("scope") {
				t.Errorf("%v", q)
			}
			if c.c.ID != "" && (q.Get("client_id") != "me" || len(w.as.Requests("/register")) > 0) {
				t.Errorf("logged in as %q", q.Get("client_id"))
			}
			w.again()
			before := len(w.as.Requests(""))
			w.want(ping, 200)
			if after := len(w.as.Requests("")); after != before {
				t.Error("a new process asked the authorization server")
			}
			for _, r := range w.server.Requests() {
				if strings.Contains(r.Path, "token") || strings.Contains(r.Path, "access") {
					t.Errorf("a token in a URL: %s", r.Path)
				}
			}
		})
	}
}

// The way of 2025-03-26: the server is its own authorization server.
func TestLoginOfAnOrigin(t *testing.T) {
	t.Parallel()
	for name, metadata := range map[string]bool{"with metadata": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := mcptest.ServeAuth(t, mcptest.AuthOptions{})
			at := as.URL + "/mcp"
			as.Break("/mcp", func(w http.ResponseWriter, r *http.Request) {
				token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
				if _, ok := as.Allows(token, at); !ok {
					w.WriteHeader(http.StatusUnauthorized)
				}
			})
			// Servers show pages where they have no metadata.
			page := func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }
			as.Break("/.well-known/oauth-protected-resource/mcp", page)
			as.Break("/.well-known/oauth-protected-resource", page)
			if !metadata {
				as.Break("/.well-known/oauth-authorization-server", page)
			}
			w := &world{t: t, as: as, url: at, file: filepath.Join(t.TempDir(), "mcp-auth.json")}
			w.again()
			w.mustLogin()
			w.want(ping, 200)
		})
	}
}

func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	metadata := func(name string, value any) mcptest.AuthOptions {
		return mcptest.AuthOptions{Metadata: map[string]any{name: value}}
	}
	for name, c := range map[string]struct {
		o    mcptest.AuthOptions
		p    mcptest.Protection
		c    Client
		says string
		page bool // was opened
	}{
		"without PKCE":          {o: metadata("code_challenge_methods_supported", nil), says: "PKCE"},
		"without S256":          {o: metadata("code_challenge_methods_supported", []string{"plain"}), says: "does not do PKCE with S256"},
		"another issuer":        {o: metadata("issuer", "https://evil.example"), says: "does not match issuer"},
		"an endpoint in clear":  {o: metadata("token_endpoint", "http://as.example/token"), says: "token_endpoint: URL \"http://as.example/token\" does not use HTTPS"},
		"a script":              {o: metadata("authorization_endpoint", "javascript:alert(1)"), says: "authorization_endpoint"},
		"registers nobody":      {o: mcptest.AuthOptions{Closed: true}, says: `"clientId"`},
		"refuses to register":   {o: mcptest.AuthOptions{Closed: true, Metadata: map[string]any{"registration_endpoint": "http://127.0.0.1:1/register"}}, says: "cannot register"},
		"keys alone":            {o: mcptest.AuthOptions{Methods: []string{"private_key_jwt"}}, says: "private_key_jwt"},
		"another resource":      {p: mcptest.Protection{Resource: "https://evil.example/mcp"}, says: `another resource, "https://evil.example/mcp"`},
		"no issuer":             {p: mcptest.Protection{Issuers: []string{}}, says: "names no authorization server"},
		"an issuer in clear":    {p: mcptest.Protection{Issuers: []string{"http://as.example"}}, says: "has to begin with https://"},
		"no way at all":         {p: mcptest.Protection{Nothing: true}, says: ErrNoOAuth.Error()},
		"refused":               {o: mcptest.AuthOptions{Error: "access_denied"}, says: "the login was refused", page: true},
		"an unknown error":      {o: mcptest.AuthOptions{Error: "tuesday"}, says: "did not let you log in (tuesday)", page: true},
		"another's answer":      {o: mcptest.AuthOptions{Iss: "https://evil.example"}, says: "mix up two logins", page: true},
		"another's error":       {o: mcptest.AuthOptions{Iss: "https://evil.example", Error: "access_denied"}, says: "mix up two logins", page: true},
		"nobody's answer":       {o: mcptest.AuthOptions{Iss: "none"}, says: "does not say who gave it", page: true},
		"another's, unexpected": {o: mcptest.AuthOptions{Iss: "https://evil.example", Metadata: map[string]any{"authorization_response_iss_parameter_supported": nil}}, says: "mix up two logins", page: true},
		"a wrong secret":        {o: mcptest.AuthOptions{Clients: map[string]string{"me": "right"}, Methods: []string{"client_secret_post"}}, c: Client{ID: "me", Secret: "very wrong"}, says: "gives no token (invalid_client)", page: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.o, c.p, c.c)
			w.ask(ping)
			err := w.login()
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, not %q", err, c.says)
			}
			w.hidesAll(err.Error())
			if opened := len(w.as.Requests("/authorize")) > 0; opened != c.page {
				t.Errorf("the page was opened: %v", opened)
			}
			if c.says == "mix up two logins" && len(w.as.Requests("/token")) > 0 {
				t.Error("the code was sent")
			}
			w.want(ping, 401)
		})
	}
}

// hidesAll checks that a text holds nothing that is secret.
func (w *world) hidesAll(text string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.learned {
		if len(v) >= 8 && strings.Contains(text, v) {
			w.t.Errorf("%q holds %q", text, v)
		}
	}
}

// CherryHQ/cherry-studio#18648: whatever is secret is known as such before it
// can come to a log.
func TestSecretsOfLoginsAreLearned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{Methods: []string{"client_secret_post"}, Life: -1}, mcptest.Protection{}, Client{})
	w.mustLogin()
	l, _ := w.guard.login()
	form := w.as.Requests("/token")[0].Form
	for _, v := range []string{l.Access, l.Refresh, l.Secret, form.Get("code"), form.Get("code_verifier"), form.Get("client_secret")} {
		if v == "" || !w.knows(v) {
			t.Errorf("%q is not known as a secret", v)
		}
	}
	w.again()
	w.learned = nil
	w.want(ping, 200)
	for _, v := range []string{l.Access, l.Refresh, l.Secret} {
		if !w.knows(v) {
			t.Errorf("%q of the file is not known as a secret", v)
		}
	}
	st, err := os.Stat(w.file)
	if err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
}

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

// MCP.md 72: a token goes to its own server alone.
func TestTokensStayWithTheirServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.mustLogin()
	other := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Stateless})
	for _, at := range []string{other.URL, strings.Replace(w.url, "127.0.0.1", "localhost", 1), strings.Replace(w.url, "http://", "http://user@", 1)} {
		req, err := http.NewRequest(http.MethodPost, at, strings.NewReader(ping))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := w.guard.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		if req.Header.Get("Authorization") != "" {
			t.Error("the caller's request was changed")
		}
	}
	for _, r := range other.Requests() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("another server got %q", r.Header.Get("Authorization"))
		}
	}
	// The login of another server is none of this one.
	w.url = other.URL
	w.again()
	w.ask(ping)
	for _, r := range other.Requests() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("another server got %q", r.Header.Get("Authorization"))
		}
	}
	// Nor is it sent where it can be read.
	clear, _ := url.Parse("http://mcp.example/mcp")
	g := w.logins.Guard(clear, Client{}, http.DefaultTransport)
	if err := g.Login(t.Context(), func(Page) error { return nil }); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Errorf("%v", err)
	}
}

// MCP, SEP-2352: what one authorization server gave is not shown to another.
func TestAnotherAuthorizationServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.mustLogin()
	first, _ := w.guard.login()
	second := mcptest.ServeAuth(t, mcptest.AuthOptions{})
	second.Protect(w.server, mcptest.Protection{})
	w.want(ping, 401)
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	w.want(ping, 200)
	for _, r := range second.Requests("") {
		for _, values := range r.Form {
			for _, v := range values {
				if v == first.ClientID || v == first.Refresh || v == first.Access {
					t.Errorf("%s: the second one got %q of the first", r.Path, v)
				}
			}
		}
	}
	if n := len(second.Requests("/register")); n != 1 {
		t.Errorf("registered %d times", n)
	}

	// A configured client belongs to the first.
	mine := Client{ID: "me", Secret: "my own secret"}
	known := mcptest.AuthOptions{Clients: map[string]string{"me": "my own secret"}, Methods: []string{"client_secret_basic"}}
	w = newWorld(t, known, mcptest.Protection{}, mine)
	w.mustLogin()
	second = mcptest.ServeAuth(t, known)
	second.Protect(w.server, mcptest.Protection{})
	w.ask(ping)
	if err := w.login(); err == nil || !strings.Contains(err.Error(), "agentls.mcp.logout") {
		t.Errorf("%v", err)
	}
	if len(second.Requests("/token")) > 0 {
		t.Error("the secret was sent")
	}
	if was, err := w.guard.Logout(t.Context()); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	w.ask(ping)
	if err := w.login(); err != nil {
		t.Error(err)
	}
}

// What a public server names leads to no private place (MCP's security best
// practices, SSRF).
func TestPublicServersNameNothingPrivate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.ask(ping)
	w.guard.mu.Lock()
	w.guard.addr = netip.MustParseAddr("93.184.215.14")
	w.guard.mu.Unlock()
	err := w.login()
	if err == nil || !strings.Contains(err.Error(), "private network") || len(w.as.Requests("")) > 0 {
		t.Errorf("%v, %d requests", err, len(w.as.Requests("")))
	}

	public := reach{own: netip.MustParseAddr("93.184.215.14")}
	near := reach{own: netip.MustParseAddr("10.1.2.3"), private: true}
	here := reach{own: netip.MustParseAddr("127.0.0.1"), loopback: true}
	for _, c := range []struct {
		addr               string
		public, near, here bool
	}{
		{"8.8.8.8", true, true, true},
		{"93.184.215.14", true, true, true},
		{"10.9.9.9", false, true, true},
		{"100.64.1.1", false, true, true},
		{"fd00::1", false, true, true},
		{"127.0.0.1", false, false, true},
		{"::1", false, false, true},
		{"::ffff:127.0.0.1", false, false, true},
		{"169.254.169.254", false, false, false},
		{"168.63.129.16", false, false, false},
		{"0.0.0.0", false, false, false},
		{"fe80::1", false, false, false},
		{"64:ff9b::7f00:1", false, false, false},
	} {
		a := netip.MustParseAddr(c.addr)
		for name, got := range map[string][2]bool{"public": {public.allows(a) == nil, c.public}, "near": {near.allows(a) == nil, c.near}, "here": {here.allows(a) == nil, c.here}} {
			if got[0] != got[1] {
				t.Errorf("%s from %s: %v", c.addr, name, got[0])
			}
		}
	}
	for _, text := range []string{"http://localhost:1/x", "http://127.0.0.1/x", "https://[::1]/x", "http://a.localhost/x", "https://user@as.example/x", "ftp://as.example/", "http://as.example/", "https:as.example"} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if (&outside{reach: public}).may(u) == nil {
			t.Errorf("%s may be asked", text)
		}
	}
}

func TestRedirectsOfAuthorizationServersAreNotFollowed(t *testing.T) {
	t.Parallel()
	other := mcptest.ServeAuth(t, mcptest.AuthOptions{})
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/register", "/token"} {
		w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
		w.as.Break(path, func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, other.URL+path, http.StatusPermanentRedirect)
		})
		w.ask(ping)
		if err := w.login(); err == nil || !strings.Contains(err.Error(), "redirects") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n := len(other.Requests("")); n > 0 {
		t.Errorf("%d requests to another origin", n)
	}
}

// The browser's answer of another login is sent away; the right one counts.
func TestWrongState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.ask(ping)
	if err := w.guard.Finish("http://127.0.0.1:1/callback?code=a&state=b"); err == nil || !strings.Contains(err.Error(), "start one first") {
		t.Errorf("%v", err)
	}
	err := w.loginBy(func(p Page) error {
		for _, query := range []string{"?code=stolen&state=wrong", "?code=stolen", "?error=access_denied", ""} {
			if at, status, text := mcptest.Browse(t, p.Redirect+query); status != 400 || !strings.Contains(text, "belongs to no login") || at.Path != callback {
				t.Errorf("%s: %d %s", query, status, text)
			}
		}
		if _, status, _ := mcptest.Browse(t, strings.TrimSuffix(p.Redirect, callback)+"/"); status != 404 {
			t.Errorf("another path: %d", status)
		}
		if err := w.guard.Finish(p.Redirect + "?code=stolen&state=wrong"); !errors.Is(err, ErrOtherLogin) {
			t.Errorf("%v", err)
		}
		if err := w.guard.Finish("the page says hello"); err == nil || !strings.Contains(err.Error(), "copy it whole") {
			t.Errorf("%v", err)
		}
		return w.browse(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.want(ping, 200)
}

// The page that the browser ends on says how it went.
func TestPageOfALogin(t *testing.T) {
	t.Parallel()
	for says, o := range map[string]mcptest.AuthOptions{"You are logged in": {}, "did not work": {Error: "access_denied"}} {
		w := newWorld(t, o, mcptest.Protection{}, Client{})
		w.ask(ping)
		shown := make(chan string, 1)
		_ = w.loginBy(func(p Page) error {
			go func() {
				_, _, text := mcptest.Browse(t, p.URL)
				shown <- text
			}()
			return nil
		})
		if text := <-shown; !strings.Contains(text, says) || strings.Contains(text, "code-") {
			t.Errorf("%q, not %q", text, says)
		}
	}
}

// A person whose browser is elsewhere pastes the address.
func TestPastedAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.ask(ping)
	err := w.loginBy(func(p Page) error { return w.guard.Finish(" " + mcptest.Elsewhere(t, p.URL) + "\n") })
	if err != nil {
		t.Fatal(err)
	}
	w.want(ping, 200)
}

func TestCancelledLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.ask(ping)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var redirect string
	err := w.guard.Login(ctx, func(p Page) error {
		redirect = p.Redirect
		cancel(why)
		return nil
	})
	if !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	u, _ := url.Parse(redirect)
	if c, err := net.Dial("tcp", u.Host); err == nil {
		c.Close()
		t.Error("its port is still open")
	}
	w.want(ping, 401)
	if err := w.login(); err != nil {
		t.Error(err)
	}
	if n := len(w.as.Requests("/register")); n > 2 {
		t.Errorf("registered %d times", n)
	}
}

// The registration of before needs its port; where another program has that by
// now, agentls registers anew. A configured port is told of.
func TestPortsOfLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.mustLogin()
	w.as.Expire(true)
	w.want(ping, 401)
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	if n := len(w.as.Requests("/register")); n != 1 {
		t.Errorf("registered %d times", n)
	}
	u, _ := url.Parse(w.asked().Get("redirect_uri"))
	busy, err := net.Listen("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	w.as.Expire(true)
	w.want(ping, 401)
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	if n := len(w.as.Requests("/register")); n != 2 {
		t.Errorf("registered %d times", n)
	}
	port, _ := strconv.Atoi(u.Port())
	w = newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{Port: port})
	w.ask(ping)
	if err := w.login(); err == nil || !strings.Contains(err.Error(), `"redirectPort"`) {
		t.Errorf("%v", err)
	}
}

// An authorization server that has forgotten us shows that in the browser, and
// nobody comes back: the next login registers anew.
func TestForgottenRegistration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.mustLogin()
	w.as.Forget()
	w.as.Expire(true)
	w.want(ping, 401) // the renewal is told that the client is unknown
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	w.as.Forget()
	w.as.Expire(true)
	ctx, cancel := context.WithCancel(t.Context())
	err := w.guard.Login(ctx, func(p Page) error {
		if _, status, _ := mcptest.Browse(t, p.URL); status != 400 {
			t.Errorf("%d", status)
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := w.login(); err != nil {
		t.Fatal(err)
	}
	w.want(ping, 200)
}

func TestLogout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{Methods: []string{"client_secret_basic"}}, mcptest.Protection{}, Client{})
	if was, err := w.guard.Logout(t.Context()); was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	w.mustLogin()
	l, _ := w.guard.login()
	if was, err := w.guard.Logout(t.Context()); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	var revoked []string
	for _, r := range w.as.Requests("/revoke") {
		revoked = append(revoked, r.Form.Get("token"))
	}
	if !slices.Equal(revoked, []string{l.Refresh, l.Access}) {
		t.Errorf("%q", revoked)
	}
	w.want(ping, 401)
	data, err := os.ReadFile(w.file)
	if err != nil || strings.Contains(string(data), l.Access) || strings.Contains(string(data), l.Refresh) || strings.Contains(string(data), l.Secret) {
		t.Errorf("%s, %v", data, err)
	}

	w = newWorld(t, mcptest.AuthOptions{Metadata: map[string]any{"revocation_endpoint": nil}}, mcptest.Protection{}, Client{})
	w.mustLogin()
	if was, err := w.guard.Logout(t.Context()); !was || err == nil || !strings.Contains(err.Error(), "takes no token back") {
		t.Errorf("%v, %v", was, err)
	}
	w.want(ping, 401)

	w = newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.mustLogin()
	w.as.Break("/revoke", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) })
	if was, err := w.guard.Logout(t.Context()); !was || err == nil || !strings.Contains(err.Error(), "did not take the refresh token back: HTTP 500") {
		t.Errorf("%v, %v", was, err)
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		resource, server string
		want             bool
	}{
		{"https://a.example/mcp", "https://a.example/mcp", true},
		{"https://a.example/mcp/", "https://a.example/mcp", true},
		{"https://a.example", "https://a.example/mcp", true},
		{"https://A.example:443/", "https://a.example/mcp/x", true},
		{"https://a.example/mcp", "https://a.example/mcp?tenant=1", true},
		{"https://a.example/mcp?tenant=2", "https://a.example/mcp?tenant=1", false},
		{"https://a.example/mcp", "https://a.example/mcp2", false},
		{"https://a.example/mcp", "https://a.example/", false},
		{"https://a.example/m%2Fcp", "https://a.example/m/cp", false},
		{"http://a.example/mcp", "https://a.example/mcp", false},
		{"https://b.example/mcp", "https://a.example/mcp", false},
		{"https://a.example:8443/mcp", "https://a.example/mcp", false},
		{"https://me@a.example/mcp", "https://a.example/mcp", false},
		{"", "https://a.example/mcp", false},
	} {
		u, _ := url.Parse(c.server)
		if got := covers(c.resource, u); got != c.want {
			t.Errorf("%s for %s: %v", c.resource, c.server, got)
		}
	}
}
