package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"agentls/mcp/oauth"
)

// OAuthConfig is what a person configured of a server's login; all may be
// empty. A server with an Authorization header is not logged into.
type OAuthConfig struct {
	ClientID, ClientSecret string
	ClientMetadata         string // URL of a client ID metadata document
	Scopes                 []string
	RedirectPort           int // on 127.0.0.1; 0: any
}

// Errors of a login.
var (
	// ErrNeedsLogin is in the chain of an error that a login would mend.
	ErrNeedsLogin = errors.New("the server wants a login")
	// ErrNoLogin says that there is no login for this kind of server.
	ErrNoLogin = errors.New("the server is not logged into by OAuth")
	// ErrOtherLogin says of an address that it is of no login that waits.
	ErrOtherLogin = oauth.ErrOtherLogin
	// ErrNoOAuth says that a server wants a login of a kind that agentls has not.
	ErrNoOAuth = oauth.ErrNoOAuth

	errLoginDeclined = errors.New("the login was refused")
	errLoginUnseen   = errors.New("the login's page could not be shown to anybody")
	errLoginLeft     = errors.New("the login was given up")
	errLoginGone     = errors.New("the server was disabled, or its configuration changed, while the login waited; log in again if that is still wanted")
)

// loginFlow is a login under way. Whoever asks for it as well joins it.
type loginFlow struct {
	guard   *oauth.Guard
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when err is there
	err     error
	waiters int    // under the manager's lock
	left    bool   // likewise: the last one has gone, it is ending
	show    func() // likewise: asks a person once more; nil: there is no page yet
}

// guarded makes the address one that can be logged into, unless an
// Authorization header is configured: that one counts.
func (r *address) guarded(c OAuthConfig, logins *oauth.Logins, base http.RoundTripper) *oauth.Guard {
	if r.headers.Get("Authorization") != "" {
		return nil
	}
	r.guard = logins.Guard(r.url, oauth.Client{ID: c.ClientID, Secret: c.ClientSecret, Metadata: c.ClientMetadata, Scopes: c.Scopes, Port: c.RedirectPort}, base)
	r.client.Transport = r.guard
	return r.guard
}

// Login logs into a remote server: a [Request] of the kind [RequestLogin] has
// the page for a person's browser. It returns when the server has been tried
// with the new login, when ctx ends, or after 10 minutes. Two logins of one
// server are one.
func (m *Manager) Login(ctx context.Context, server string) (ServerInfo, error) {
	s, g, err := m.loginOf(server)
	if err != nil {
		return ServerInfo{}, err
	}
	m.mu.Lock()
	f := m.flows[server]
	for f != nil && f.left { // it has the port that the next one may need
		m.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return s.info(), context.Cause(ctx)
		}
		m.mu.Lock()
		f = m.flows[server]
	}
	switch {
	case m.closed:
		m.mu.Unlock()
		return s.info(), errStopped
	case f == nil || f.guard != g:
		f = m.startLogin(s, g) //nolint:contextcheck // it ends with its last waiter
	case f.show != nil:
		f.show()
	}
	f.waiters++
	m.mu.Unlock()
	return m.awaitLogin(ctx, s, f)
}

// FinishLogin hands in the address that the browser came back to, where that
// could not reach us, and waits for the login that it is of.
func (m *Manager) FinishLogin(ctx context.Context, server, address string) (ServerInfo, error) {
	s, g, err := m.loginOf(server)
	if err != nil {
		return ServerInfo{}, err
	}
	m.mu.Lock()
	f := m.flows[server]
	if f != nil && f.guard == g && !f.left {
		f.waiters++
	} else {
		f = nil
	}
	m.mu.Unlock()
	if err := g.Finish(address); err != nil {
		if f != nil {
			m.leaveLogin(f, nil)
		}
		return s.info(), err
	}
	if f == nil { // it ended just now
		return s.info(), ErrOtherLogin
	}
	return m.awaitLogin(ctx, s, f)
}

// DeliverLogin brings the address that a browser ended on to the login that
// another process on this machine waits for, and gives what its page says.
func DeliverLogin(ctx context.Context, address string) (string, error) {
	return oauth.Deliver(ctx, address)
}

// loginOf finds how a server is logged into.
func (m *Manager) loginOf(server string) (*session, *oauth.Guard, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, nil, err
	}
	if g := s.loginGuard.Load(); g != nil {
		return s, g, nil
	}
	if info := s.info(); s.cfg.remote() && info.Status != StatusReady && info.Status != StatusNeedsLogin {
		return nil, nil, s.notReady(info.Status, info.Error)
	}
	return nil, nil, fmt.Errorf("%q: %w", server, ErrNoLogin)
}

// loginKept is loginOf for the end of a login: it may be of a server that was
// never asked since we run, as it is disabled.
func (m *Manager) loginKept(server string) (*session, *oauth.Guard, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, nil, err
	}
	if g := s.loginGuard.Load(); g != nil {
		return s, g, nil
	}
	if info := s.info(); info.Status == StatusUntrusted { // it may name the address of another one
		return nil, nil, s.notReady(info.Status, info.Error)
	}
	if s.cfg.remote() {
		r, err := newAddress(s.cfg, s.http.get(), func(string) {})
		if err != nil {
			return nil, nil, err
		}
		if g := r.guarded(s.cfg.OAuth, s.logins, s.http.get()); g != nil {
			return s, g, nil
		}
	}
	return nil, nil, fmt.Errorf("%q: %w", server, ErrNoLogin)
}

// startLogin starts a login. m.mu is held.
func (m *Manager) startLogin(s *session, g *oauth.Guard) *loginFlow {
	ctx, cancel := context.WithCancelCause(m.ctx)
	f := &loginFlow{guard: g, cancel: cancel, done: make(chan struct{})}
	name := s.cfg.Name
	m.flows[name] = f
	m.wg.Go(func() { // ends with ctx
		select {
		case <-s.done:
			cancel(errLoginGone)
		case <-ctx.Done():
		}
	})
	m.wg.Go(func() { // ends with its last waiter, with the session, or with the manager
		err := g.Login(ctx, func(p oauth.Page) error { return m.showLogin(ctx, f, name, p) })
		if errors.Is(err, oauth.ErrNotKept) {
			s.problem(err.Error())
			err = nil
		}
		if err == nil {
			s.forgetPrivate() // it may be another user's
		}
		cancel(nil)
		m.mu.Lock()
		if m.flows[name] == f {
			delete(m.flows, name)
		}
		f.err, f.show = err, nil
		m.mu.Unlock()
		close(f.done)
	})
	return f
}

// showLogin asks a person to open the page.
func (m *Manager) showLogin(ctx context.Context, f *loginFlow, server string, p oauth.Page) error {
	link, err := ParseLink(p.URL)
	if err != nil {
		return fmt.Errorf("the page of the login cannot be opened: %w", err)
	}
	r := LoginRequest{Link: link, Issuer: p.Issuer, Scopes: p.Scopes, Redirect: p.Redirect}
	m.mu.Lock()
	defer m.mu.Unlock()
	f.show = func() {
		m.requests.ask(ctx, Request{Server: server, Kind: RequestLogin, Login: r}, func(a RequestAnswer) {
			switch {
			case a.Accept:
			case a.Decline:
				f.cancel(errLoginDeclined)
			default:
				f.cancel(errLoginUnseen)
			}
		})
	}
	f.show()
	return nil
}

// awaitLogin waits for a login, then until the server has been tried with it.
func (m *Manager) awaitLogin(ctx context.Context, s *session, f *loginFlow) (ServerInfo, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		m.leaveLogin(f, context.Cause(ctx))
		return s.info(), context.Cause(ctx)
	}
	if f.err != nil {
		return s.info(), f.err
	}
	if s.info().Status != StatusReady {
		s.restart()
	}
	if !s.decided(ctx) {
		return s.info(), context.Cause(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, s.timing.use)
	defer cancel()
	s.settle(soon) // what the login before could see was forgotten, and is being fetched
	return s.info(), nil
}

// decided waits until it is known whether the server can be used: what it lost
// with a login it may be finding out, too. One that cannot be reached is not
// waited for longer than a start may take. False: ctx ended before.
func (s *session) decided(ctx context.Context) bool {
	timer := time.NewTimer(s.cfg.StartupTimeout)
	defer timer.Stop()
	for {
		s.mu.Lock()
		status, needs, changed := s.status, s.needs, s.changed
		s.mu.Unlock()
		if status != StatusRestarting && (status != StatusStarting || needs != "") {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// leaveLogin ends a login that nobody waits for any more, and waits for its end.
func (m *Manager) leaveLogin(f *loginFlow, cause error) {
	m.mu.Lock()
	f.waiters--
	last := f.waiters == 0
	f.left = f.left || last
	m.mu.Unlock()
	if last {
		if cause == nil {
			cause = errLoginLeft
		}
		f.cancel(cause)
		<-f.done
	}
}

// Logout ends the login of a server: it is forgotten here, revoked at its
// authorization server where that takes it, and the server is tried without.
// was says whether there was one; rest, what may be left of it.
func (m *Manager) Logout(ctx context.Context, server string) (info ServerInfo, was bool, rest, err error) {
	s, g, err := m.loginKept(server)
	if err != nil {
		return ServerInfo{}, false, nil, err
	}
	was, rest = g.Logout(ctx)
	if was {
		s.forgetPrivate()
		s.restart()
		s.decided(ctx)
	}
	return s.info(), was, rest, nil
}

// LoginWanted reports whether a login would give what a server lacks: it was
// refused something for want of one, or of a scope.
func (m *Manager) LoginWanted(server string) bool {
	s, err := m.find(server)
	if err != nil {
		return false
	}
	g := s.loginGuard.Load()
	return g != nil && g.Wanted()
}
