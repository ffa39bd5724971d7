package oauth

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

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

func TestPlacesOfMetadata(t *testing.T) {
	t.Parallel()
	const at = "https://a.example/.well-known/oauth-protected-resource"
	for _, c := range []struct {
		server, named string
		want          []string
	}{
		{"https://a.example", "", []string{at}},
		{"https://a.example/", "", []string{at}},
		{"https://a.example/mcp", "", []string{at + "/mcp", at}},
		{"https://a.example/mcp/", "", []string{at + "/mcp/", at + "/mcp", at}},
		{"https://a.example/a%2Fb?t=1", "", []string{at + "/a%2Fb?t=1", at}},
		{"https://a.example/mcp", at + "/mcp", []string{at + "/mcp", at}},
		{"https://a.example/mcp", "https://b.example/m", []string{"https://b.example/m", at + "/mcp", at}},
	} {
		u, err := url.Parse(c.server)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Guard{at: u}).metadataURLs(c.named); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.server, got)
		}
	}
}

// A browser is not sent either where a server may not send us: what listens on
// this machine may act on a mere GET.
func TestPublicServersShowNoPrivatePage(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"http://localhost:1/authorize", "https://10.0.0.1/authorize", "https://169.254.169.254/authorize", "https://[::1]/authorize"} {
		w := newWorld(t, mcptest.AuthOptions{Metadata: map[string]any{"authorization_endpoint": page}}, mcptest.Protection{}, Client{})
		direct := &http.Transport{}
		t.Cleanup(direct.CloseIdleConnections)
		via := &http.Client{Transport: &outside{reach: reach{own: netip.MustParseAddr("127.0.0.1")}, direct: direct, proxied: direct}}
		if _, err := issuerMetadata(t.Context(), w.as.URL, via); err == nil || !strings.Contains(err.Error(), "authorization_endpoint: ") {
			t.Errorf("%s: %v", page, err)
		}
	}
}
