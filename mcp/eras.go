package mcp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// ProtocolVersions are the versions of MCP that can be negotiated, the newest
// first.
const ProtocolVersions = "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"

// eras remembers, as long as we run, which servers are not spoken to in the
// way that is tried first.
type eras struct {
	mu   sync.Mutex
	ways map[string]way // by fingerprint
}

func (e *eras) get(c ServerConfig) way {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ways[eraKey(c)]
}

func (e *eras) set(c ServerConfig, w way) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ways == nil {
		e.ways = map[string]way{}
	}
	e.ways[eraKey(c)] = w
}

// eraKey has the protocol beside the fingerprint, which does not know it: what
// was found with "auto" must not be tried with "legacy".
func eraKey(c ServerConfig) string { return cmp.Or(c.Fingerprint, c.Name) + "\x00" + c.Protocol }

// noStartError says that there was nothing to talk to: another era would
// change nothing.
type noStartError struct{ error }

func (e *noStartError) Unwrap() error { return e.error }

// settled reports whether another way cannot help.
func settled(ctx context.Context, err error) bool {
	_, noStart := errors.AsType[*noStartError](err)
	e, ok := errors.AsType[*unreachableError](err)
	unreachable := ok && e.dial
	_, login := errors.AsType[*loginError](err)
	_, redirect := errors.AsType[*redirectError](err)
	return err == nil || noStart || unreachable || login || redirect || notNow(err) || ctx.Err() != nil
}

// notNow reports whether err comes from what stands before a server, or asks
// to wait: it says nothing of how the server speaks.
func notNow(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		return false
	}
	switch e.status {
	case http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// connect starts the server and finds the way to speak to it (CONTRACT §9):
// legacy first, which keeps subscribe, ping and roots; after an error or an
// exit once more as modern, on a new child or connection. A remote server that
// answers initialize with a plain 4xx may be one of 2024-11-05.
func (s *session) connect(ctx context.Context) (*connection, error) {
	var legacy way
	switch {
	case s.cfg.Type == "sse" && s.cfg.Protocol == "modern":
		return nil, &noStartError{errors.New(`"protocol": "modern" and "type": "sse" exclude each other`)}
	case s.cfg.Type == "sse":
		return s.dial(ctx, way{sse: true})
	case s.cfg.Protocol == "modern":
		return s.dial(ctx, way{modern: true})
	}
	remembered := s.eras.get(s.cfg)
	if remembered != legacy {
		c, err := s.dial(ctx, remembered)
		if settled(ctx, err) || remembered.modern && saysVersions(err) {
			return c, err
		}
		s.eras.set(s.cfg, legacy)
	}
	c, err := s.dial(ctx, legacy)
	if settled(ctx, err) {
		return c, err
	}
	for _, other := range s.otherWays(err) {
		if other == remembered {
			continue
		}
		c, otherErr := s.dial(ctx, other)
		switch {
		case otherErr == nil:
			if !unwell(err) { // it may speak both, and was out of sorts
				s.eras.set(s.cfg, other)
			}
			return c, nil
		case saysVersions(err) || saysVersions(otherErr) || wantsLogin(otherErr):
			return nil, otherErr // it said that the first was not the way
		case ctx.Err() != nil:
			if _, late := errors.AsType[*timeoutError](otherErr); late {
				return nil, &toldError{otherErr.Error() + "; before that " + err.Error(), otherErr}
			}
			return nil, otherErr
		}
	}
	return nil, err // what it said first says most
}

// saysVersions reports whether the server said which versions it speaks, none
// of them ours. One that says so to server/discover is of the new era, and not
// to be asked with initialize (2026-07-28, versioning).
func saysVersions(err error) bool {
	_, ok := errors.AsType[*versionError](err)
	return ok
}

// otherWays returns what to try when initialize gave err.
func (s *session) otherWays(err error) (ways []way) {
	e, ok := errors.AsType[*statusError](err)
	if s.cfg.remote() && ok && e.status >= 400 && e.status < 500 {
		ways = append(ways, way{sse: true})
	}
	if s.cfg.Protocol != "legacy" {
		ways = append(ways, way{modern: true})
	}
	return ways
}

// dial starts what a connection runs on and says hello in one era.
func (s *session) dial(ctx context.Context, w way) (*connection, error) {
	under, err := s.carry(w)
	if err != nil {
		return nil, &noStartError{err}
	}
	c := &connection{
		carrier: under, modern: w.modern, inbox: newInbox(s.timing.debounce, s.timing.debounceMax), timeout: s.cfg.Timeout, longest: s.timing.longest,
		retry: s.timing.backoff / 4, problem: s.problem, note: func(level, text string) { s.logs.add(logOwn, level, text) }, gap: s.cache.bodies.gap, turns: s.turns,
		redact: s.secrets.Redact, listen: make(chan struct{}, 1),
	}
	s.dialed = c
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx)) // ended by end
	c.link = &link{
		Interface: under.transport, modern: w.modern, mirrored: map[string]bool{}, room: under.room, panics: s.panicked, problem: s.problem,
		notify: func(n mcpgo.JSONRPCNotification) { s.notified(c, n) },
		close: func() error {
			err := under.transport.Close()
			under.close()
			return err
		},
	}
	c.serve = func(ctx context.Context, r serverRequest) (any, error) {
		r.conn = c
		return s.serveRequest(ctx, r)
	}
	c.incoming.conn = c
	if under.requests != nil {
		under.requests(c.incoming.take)
	}
	if under.updates != nil {
		under.updates(func(uri string) {
			defer c.link.recovered("notification")
			s.updated(uri)
		})
	}
	c.missed = func() { s.missed(c) }
	c.deaf.Store(w.modern)
	if p := under.peer; p != nil {
		p.unheard, p.missed = c.gap, c.missed
	}
	c.client = client.NewClient(c.link.forClient(), s.clientOptions(w)...)
	roots := s.watchRoots(w)
	if err := c.hello(ctx, s.name, s.version); err != nil {
		roots.stop()
		c.end(errStopped)
		return nil, err
	}
	if roots != nil && !c.spawn(func() { roots.run(c) }) {
		roots.stop()
	}
	return c, nil
}

func (s *session) clientOptions(w way) []client.ClientOption {
	options := []client.ClientOption{client.WithClientCapabilities(clientCapabilities(s.cfg, w.modern, s.attended))}
	if w.modern {
		return append(options, client.WithDiscoverTimeout(-1)) // ctx bounds it
	}
	return append(options, client.WithLegacyProtocolOnly())
}
