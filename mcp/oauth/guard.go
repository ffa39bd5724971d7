package oauth

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Guard is how one server is logged into. As a [http.RoundTripper] it adds the
// token of the login to each request, renews it before it runs out and when the
// server takes it no more, and remembers what the server wants otherwise. It
// asks nobody: that is [Guard.Login].
type Guard struct {
	logins *Logins
	at     *url.URL // the server
	server string   // at, as it is kept
	client Client
	base   http.RoundTripper

	mu     sync.Mutex
	want   challenge  // the last
	wanted bool       // since the last login
	addr   netip.Addr // where the server answered last; zero: not known
	flow   *flow      // the login under way, if any
}

// Guard returns how the server at a URL is logged into, over base.
func (l *Logins) Guard(server *url.URL, c Client, base http.RoundTripper) *Guard {
	at := *server
	at.Fragment, at.User = "", nil
	at.Scheme, at.Host = strings.ToLower(at.Scheme), strings.ToLower(at.Host)
	l.o.Learn(c.Secret)
	return &Guard{logins: l, at: &at, server: at.String(), client: c, base: base}
}

// login returns the login that is kept.
func (g *Guard) login() (login, bool) { return g.logins.store.read().of(g.server, g.client.name()) }

// RoundTrip sends a request. A token goes to the origin of its server alone,
// and never in a URL.
func (g *Guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if !SameOrigin(req.URL, g.at) || !safe(req.URL) {
		return g.base.RoundTrip(req)
	}
	l, ok := g.login()
	if ok && !l.fresh(time.Now()) && l.Refresh != "" {
		renewed, err := g.renew(req.Context(), l)
		switch {
		case err == nil:
			l = renewed
		case errors.Is(err, errNoLogin):
			ok = false
		case req.Context().Err() != nil || !l.usable(time.Now()):
			return nil, err
		}
	}
	if !ok {
		l = login{}
	}
	resp, err := g.send(req, l.Access)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || l.Access == "" || req.Body != nil && req.GetBody == nil {
		return g.noted(resp, err)
	}
	l, err = g.renew(req.Context(), l)
	if err != nil { // the server has said what it wants
		return g.noted(resp, nil)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	_ = resp.Body.Close()
	return g.noted(g.send(req, l.Access))
}

// send sends a request once, with a token if there is one.
func (g *Guard) send(req *http.Request, token string) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { g.answeredAt(req, info) }})
	out := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	if token != "" {
		out.Header.Set("Authorization", "Bearer "+token)
	}
	return g.base.RoundTrip(out)
}

// noted remembers what an answer wants, which is the caller's now.
func (g *Guard) noted(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	c := challengeOf(resp)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		c.more = false
		g.want, g.wanted = c, true
	case http.StatusForbidden:
		if c.more {
			g.want, g.wanted = c, true
		}
	case http.StatusOK, http.StatusAccepted:
		g.wanted = g.wanted && g.want.more // for which it may have been asked elsewhere
	}
	return resp, nil
}

// answeredAt notes where the server is, which bounds what its metadata may
// name; behind a proxy that is not known.
func (g *Guard) answeredAt(req *http.Request, info httptrace.GotConnInfo) {
	if t, ok := g.base.(*http.Transport); ok && proxied(t, req) {
		return
	}
	at, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String())
	if err != nil {
		return
	}
	g.mu.Lock()
	g.addr = at.Addr().Unmap()
	g.mu.Unlock()
}

// Refusal is why a server refused a request that it understood.
type Refusal struct {
	// Scopes are those that the login lacks. Another login asks for them.
	Scopes []string
	// Futile: the login was asked for all that the server wants, so another one
	// is of no use (the retry limit of MCP's step-up flow).
	Futile bool
}

// Refused reads a 403. ok is false where it is not for want of a scope.
func (g *Guard) Refused(resp *http.Response) (r Refusal, ok bool) {
	c := challengeOf(resp)
	if !c.more {
		return r, false
	}
	l, known := g.login()
	r.Scopes = without(c.scopes, l.Scopes)
	r.Futile = known && len(r.Scopes) == 0
	return r, true
}

// Wanted reports whether the server has refused something that a login would
// give, since the last one.
func (g *Guard) Wanted() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wanted
}
