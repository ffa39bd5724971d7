package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"agentls/mcp/publicnet"
)

const (
	requestTime  = 20 * time.Second // of one request to an authorization server
	dialTime     = 10 * time.Second
	maxHeader    = 256 << 10
	maxDocument  = 1 << 20 // bytes of metadata
	discoverTime = 45 * time.Second
)

// reach is how far what a server names may lead: a public one must not make us
// ask this machine or its networks (SSRF, MCP's security best practices).
type reach struct {
	own      netip.Addr // the server's own address, always allowed
	private  bool       // the server is in a private network
	loopback bool       // the server is on this machine
}

//nolint:gochecknoglobals // a constant: shared by carriers, and used by private overlays
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

func private(a netip.Addr) bool { return a.IsPrivate() || sharedSpace.Contains(a) }

// allows refuses an address that the server may not name.
func (r reach) allows(a netip.Addr) error {
	a = a.Unmap()
	switch {
	case publicnet.Has(a), a == r.own, r.loopback && a.IsLoopback(), (r.private || r.loopback) && private(a):
		return nil
	}
	return errPrivate
}

var errPrivate = errors.New("its address is in a private network, and the server's is not")

// reach finds how far the server may lead; one behind a proxy, whose address
// only the proxy knows, counts as public.
func (g *Guard) reach(ctx context.Context, base *http.Transport) reach {
	g.mu.Lock()
	own := g.addr
	g.mu.Unlock()
	if !own.IsValid() && !proxied(base, &http.Request{Method: http.MethodPost, URL: g.at}) {
		own = lookUp(ctx, g.at.Hostname())
	}
	return reach{own: own, private: private(own), loopback: own.IsLoopback()}
}

// lookUp gives an address of a host; a public one, if it has any.
func lookUp(ctx context.Context, host string) netip.Addr {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap()
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(all) == 0 {
		return netip.Addr{}
	}
	for _, a := range all {
		if publicnet.Has(a) {
			return a.Unmap()
		}
	}
	return all[0].Unmap()
}

// outside asks authorization servers, within reach.
type outside struct {
	reach   reach
	direct  *http.Transport // dials what reach allows
	proxied *http.Transport
}

// outside returns a client for what the server names. done closes it.
func (g *Guard) outside(ctx context.Context) (c *http.Client, done func()) {
	base := &http.Transport{ForceAttemptHTTP2: true}
	if g.logins.o.HTTP != nil {
		base = g.logins.o.HTTP()
	}
	o := &outside{reach: g.reach(ctx, base), direct: base.Clone(), proxied: base.Clone()}
	o.direct.Proxy = nil
	dialer := &net.Dialer{Timeout: dialTime, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return errPrivate
		}
		return o.reach.allows(at.Addr())
	}}
	o.direct.DialContext = dialer.DialContext
	for _, t := range []*http.Transport{o.direct, o.proxied} {
		t.MaxResponseHeaderBytes = maxHeader
	}
	client := &http.Client{Transport: o, CheckRedirect: onlyItself, Timeout: requestTime}
	return client, func() { o.direct.CloseIdleConnections(); o.proxied.CloseIdleConnections() }
}

// RoundTrip sends a request, if it may go there. An answer to GET that is no
// JSON is as good as none: servers show pages where they have no metadata.
func (o *outside) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := o.may(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	via := o.direct
	if proxied(o.proxied, req) {
		via = o.proxied
	}
	resp, err := via.RoundTrip(req)
	if err != nil || req.Method != http.MethodGet {
		return resp, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusOK && kind != "application/json" && !strings.HasSuffix(kind, "+json"):
		resp.StatusCode, resp.Status = http.StatusNotFound, "404 Not Found"
	case resp.StatusCode == http.StatusOK:
		resp.Header.Set("Content-Type", "application/json")
	}
	return resp, nil
}

// proxied reports whether a request goes by a proxy, or would if that could be
// used.
func proxied(t *http.Transport, req *http.Request) bool {
	if t.Proxy == nil {
		return false
	}
	via, err := t.Proxy(req)
	return err != nil || via != nil
}

// may refuses what can be told of an address before it is dialled, which is all
// there is behind a proxy.
func (o *outside) may(u *url.URL) error {
	if err := checkURL(u); err != nil {
		return err
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return o.reach.allows(a)
	}
	if loopbackName(u.Hostname()) && !o.reach.loopback {
		return errPrivate
	}
	return nil
}

// onlyItself follows a redirect of metadata within its own origin, and none of
// what carries a code, a token or a secret.
func onlyItself(req *http.Request, via []*http.Request) error {
	switch {
	case via[0].Method != http.MethodGet:
		return errors.New("it redirects a request that must go to itself alone")
	case !SameOrigin(req.URL, via[0].URL):
		return fmt.Errorf("it redirects to another origin, %s://%s", req.URL.Scheme, req.URL.Host)
	case len(via) > 5:
		return errors.New("it redirects more than 5 times")
	}
	return nil
}

// parseURL parses an address that a server or a configuration names.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is no URL")
	}
	return u, checkURL(u)
}

// checkURL refuses what is not https, or http on this machine.
func checkURL(u *url.URL) error {
	switch {
	case u.Host == "" || u.Opaque != "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("it has to begin with https:// and name a host")
	case u.User != nil:
		return errors.New("it holds a user name")
	case !safe(u):
		return errors.New("it has to begin with https://: what it carries would be open to the network")
	}
	return nil
}

// safe reports whether what is sent to u cannot be read on its way.
func safe(u *url.URL) bool { return u.Scheme == "https" || loopbackName(u.Hostname()) }

func loopbackName(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// SameOrigin compares origins (RFC 6454, 5): a port may be left out.
func SameOrigin(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}
