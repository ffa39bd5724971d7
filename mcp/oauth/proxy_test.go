package oauth

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"agentls/mcp/mcptest"
)

// proxy is an HTTP proxy that knows some hosts; the names that it was asked
// for are kept.
type proxy struct {
	hosts map[string]string // host:port → address
	mu    sync.Mutex
	asked []string
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host)
	to, known := p.hosts[r.Host]
	p.mu.Unlock()
	if r.Method != http.MethodConnect || !known {
		http.Error(w, "unknown", http.StatusBadGateway)
		return
	}
	there, err := net.Dial("tcp", to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		there.Close()
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(there, here); there.Close() })
	both.Go(func() { _, _ = io.Copy(here, there); here.Close() })
	both.Wait()
}

// A public server behind the proxy and the certificates of the environment: so
// is all that its login takes, and nothing is looked up or dialled beside it.
// What it names on this machine is not asked.
func TestLoginByProxy(t *testing.T) {
	t.Parallel()
	const server, issuer = "https://example.com/mcp", "https://example.com:8443"
	as := mcptest.ServeAuth(t, mcptest.AuthOptions{TLS: true, Outside: issuer})
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Stateless, JSON: true, TLS: true})
	as.Protect(srv, mcptest.Protection{Resource: server, NoHint: true})
	at, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{hosts: map[string]string{"example.com:443": at.Host, "example.com:8443": as.Address()}}
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	via, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := func() *http.Transport {
		return &http.Transport{
			Proxy: func(r *http.Request) (*url.URL, error) {
				if loopbackName(r.URL.Hostname()) {
					return nil, nil //nolint:nilnil // as httpproxy has it
				}
				return via, nil
			},
			TLSClientConfig: &tls.Config{RootCAs: srv.TLSConfig().RootCAs, MinVersion: tls.VersionTLS12},
		}
	}
	w := &world{t: t, as: as, url: server, file: "", server: srv}
	w.logins = New(Options{HTTP: transport, Name: "agentls"})
	t.Cleanup(w.logins.Close)
	known, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	base := transport()
	t.Cleanup(base.CloseIdleConnections)
	w.guard = w.logins.Guard(known, Client{}, base)
	w.want(ping, 401)
	browser := transport()
	t.Cleanup(browser.CloseIdleConnections)
	err = w.loginBy(func(p Page) error {
		go func() { // ends with the listener
			resp, err := (&http.Client{Transport: browser}).Get(p.URL)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		}()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.want(ping, 200)
	as.Expire(false)
	w.want(ping, 200)
	p.mu.Lock()
	if !slices.Contains(p.asked, "CONNECT example.com:8443") || slices.ContainsFunc(p.asked, func(a string) bool { return !strings.HasPrefix(a, "CONNECT example.com:") }) {
		t.Errorf("%q", p.asked)
	}
	p.mu.Unlock()

	near := mcptest.ServeAuth(t, mcptest.AuthOptions{})
	near.Protect(srv, mcptest.Protection{Resource: server, NoHint: true})
	w.want(ping, 401)
	if err := w.login(); err == nil || !strings.Contains(err.Error(), "private network") || len(near.Requests("")) > 0 {
		t.Errorf("%v", err)
	}
}
