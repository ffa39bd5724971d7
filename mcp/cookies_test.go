package mcp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"agentls/mcp/mcptest"
)

// balancer stands before two servers of one address: it sends who has no cookie
// of its to one after the other, and who has to the one that it names.
func balancer(t *testing.T, o mcptest.HTTPOptions) (address string, servers [2]*mcptest.HTTPServer) {
	t.Helper()
	var behind [2]*httputil.ReverseProxy
	for i := range servers {
		servers[i] = mcptest.ServeHTTP(t, o)
		u, err := url.Parse(servers[i].URL)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = ""
		behind[i] = httputil.NewSingleHostReverseProxy(u)
		behind[i].FlushInterval = -1
	}
	var turn atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := turn.Add(1) % 2
		if c, err := r.Cookie("AWSALB"); err == nil {
			_, _ = fmt.Sscan(c.Value, &n)
		}
		http.SetCookie(w, &http.Cookie{Name: "AWSALB", Value: fmt.Sprint(n), Path: "/", Domain: "127.0.0.1"})
		behind[n].ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + servers[0].URL[strings.LastIndex(servers[0].URL, "/"):], servers
}

// punkpeye/mcp-remote#168: behind a balancer whose sessions are kept together by
// a cookie, each request goes to another server, which does not know the session.
func TestSessionStaysWithItsServerBehindABalancer(t *testing.T) {
	t.Parallel()
	for _, mode := range []mcptest.HTTPMode{mcptest.Streamable, mcptest.SSE} {
		address, servers := balancer(t, mcptest.HTTPOptions{Mode: mode})
		h := newHouse(t, Options{}, fast())
		cfg := remoteConfig("fake", address)
		cfg.Headers = map[string]string{"Cookie": "mine=1"}
		h.Configure([]ServerConfig{cfg})
		h.started()
		for n := range 10 {
			if got := h.mustCall("fake", "echo", args{"text": fmt.Sprint(n)}); got != fmt.Sprint(n) {
				t.Errorf("%q", got)
			}
		}
		if n := len(h.kind("fake", EventLost)); n != 0 {
			t.Errorf("lost %d times", n)
		}
		busy := 0
		for _, s := range servers {
			calls := s.Requests(mcptest.Call("echo"))
			if len(calls) > 0 {
				busy++
			}
			for _, r := range calls {
				if c := r.Header.Get("Cookie"); !strings.Contains(c, "mine=1") || !strings.Contains(c, "AWSALB=") {
					t.Errorf("with the cookies %q", c)
				}
			}
		}
		if busy != 1 {
			t.Errorf("%d servers were called", busy)
		}
		h.Close()
	}
}

func TestCookiesAreBoundedAndEndWithTheConnection(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	var set []string
	for n := range 3 * maxCookies {
		set = append(set, "Set-Cookie", fmt.Sprintf("c%02d=%s", n, strings.Repeat("x", n)))
	}
	set = append(set, "Set-Cookie", "long="+strings.Repeat("x", maxCookie), "Set-Cookie", "c00=", "Set-Cookie", "c01=gone; Max-Age=-1")
	srv.Break(mcptest.Call("echo"), mcptest.First(1, adding(set)))
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	h.mustCall("fake", "echo", nil)
	h.mustCall("fake", "echo", nil)
	calls := srv.Requests(mcptest.Call("echo"))
	got := calls[1].Header.Get("Cookie")
	if n := strings.Count(got, "="); n != maxCookies-1 || strings.Contains(got, "long=") || strings.Contains(got, "c01=") {
		t.Errorf("%d cookies: %s", n, got)
	}
	if _, err := h.Restart("fake"); err != nil {
		t.Fatal(err)
	}
	h.started()
	h.mustCall("fake", "echo", nil)
	calls = srv.Requests(mcptest.Call("echo"))
	if got := calls[2].Header.Get("Cookie"); got != "" {
		t.Errorf("a new session is begun with %s", got)
	}
}

// A name has room for one cookie, not for one of each path that a server makes up.
func TestCookiesOfOneName(t *testing.T) {
	t.Parallel()
	at, err := url.Parse("https://mcp.example/mcp")
	if err != nil {
		t.Fatal(err)
	}
	c := &cookies{}
	for n := range 1000 {
		c.SetCookies(at, []*http.Cookie{{Name: "a", Value: fmt.Sprint(n), Path: fmt.Sprintf("/p%d", n)}})
	}
	for _, path := range []string{"/mcp", "/p7", "/p999"} {
		got := c.Cookies(at.ResolveReference(&url.URL{Path: path}))
		if len(got) != 1 || got[0].Value != "999" {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// adding answers a call, with headers.
func adding(headers []string) mcptest.Fault {
	return mcptest.Answer(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":{id},"result":{"content":[]}}`, headers...)
}
