package oauth

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
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
		"an issuer with a slash":     {o: mcptest.AuthOptions{Path: "/", Iss: "own"}},
		"such a path":                {o: mcptest.AuthOptions{Path: "/tenant/", OIDC: true, Iss: "own"}},
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
			w := &world{t: t, as: as, url: at + "?key=sesame-sesame", file: filepath.Join(t.TempDir(), "mcp-auth.json")}
			w.again()
			w.mustLogin()
			w.want(ping, 200)
			if asked := w.asked().Encode(); strings.Contains(asked, "sesame") {
				t.Errorf("the page is told the key of the server's address: %s", asked)
			}
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

// The answer of a registration that cannot be read may hold the client's secret.
func TestRegistrationThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcptest.AuthOptions{}, mcptest.Protection{}, Client{})
	w.as.Break("/register", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(rw, `{"client_id":"me","client_secret":"sesame-sesame","redirect_uris":3}`)
	})
	w.ask(ping)
	if err := w.login(); err == nil || !strings.Contains(err.Error(), "its answer cannot be read") || strings.Contains(err.Error(), "sesame") {
		t.Errorf("%v", err)
	}
}
