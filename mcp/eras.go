package mcp

import (
	"context"
	"errors"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// ProtocolVersions are the versions of MCP that can be negotiated, the newest
// first.
const ProtocolVersions = "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"

// eras remembers, as long as we run, which servers speak only the protocol of
// 2026-07-28 and later.
type eras struct {
	mu     sync.Mutex
	modern map[string]bool // by fingerprint
}

func (e *eras) get(c ServerConfig) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.modern[eraKey(c)]
}

func (e *eras) set(c ServerConfig, modern bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.modern == nil {
		e.modern = map[string]bool{}
	}
	e.modern[eraKey(c)] = modern
}

func eraKey(c ServerConfig) string {
	if c.Fingerprint != "" {
		return c.Fingerprint
	}
	return c.Name
}

// noStartError says that there was nothing to talk to: another era would
// change nothing.
type noStartError struct{ error }

func (e *noStartError) Unwrap() error { return e.error }

// settled reports whether another era cannot help.
func settled(ctx context.Context, err error) bool {
	_, noStart := errors.AsType[*noStartError](err)
	return err == nil || noStart || ctx.Err() != nil
}

// connect starts the server and finds the era that it speaks (CONTRACT §9):
// legacy first, which keeps subscribe, ping and roots; after an error or an
// exit once more as modern, on a new child.
func (s *session) connect(ctx context.Context) (*connection, error) {
	switch s.cfg.Protocol {
	case "legacy":
		return s.dial(ctx, false)
	case "modern":
		return s.dial(ctx, true)
	}
	var tried error
	if s.eras.get(s.cfg) {
		c, err := s.dial(ctx, true)
		if settled(ctx, err) {
			return c, err
		}
		s.eras.set(s.cfg, false)
		tried = err
	}
	c, err := s.dial(ctx, false)
	if tried != nil || settled(ctx, err) {
		return c, err
	}
	c, modernErr := s.dial(ctx, true)
	if modernErr != nil {
		if ctx.Err() != nil {
			return nil, modernErr
		}
		return nil, err // what it said first says most
	}
	s.eras.set(s.cfg, true)
	return c, nil
}

// dial starts what a connection runs on and says hello in one era.
func (s *session) dial(ctx context.Context, modern bool) (*connection, error) {
	under, err := s.carry()
	if err != nil {
		return nil, &noStartError{err}
	}
	c := &connection{
		carrier: under, modern: modern, inbox: newInbox(s.timing.debounce, s.timing.debounceMax), timeout: s.cfg.Timeout,
		problem: s.problem, gap: s.cache.bodies.gap, redact: s.secrets.Redact, listen: make(chan struct{}, 1),
	}
	s.dialed = c
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx)) // ended by end
	c.link = &link{
		Interface: under.transport, modern: modern, room: under.room, panics: s.panicked,
		notify: func(n mcpgo.JSONRPCNotification) { s.notified(c, n) },
		close: func() error {
			err := under.transport.Close()
			under.close()
			return err
		},
	}
	roots := struct {
		ListChanged bool `json:"listChanged,omitempty"`
	}{}
	options := []client.ClientOption{client.WithRootsHandler(rootsHandler{s.state}), client.WithClientCapabilities(mcpgo.ClientCapabilities{Roots: &roots})}
	if modern {
		options = append(options, client.WithDiscoverTimeout(-1)) // ctx bounds it
	} else {
		options = append(options, client.WithLegacyProtocolOnly())
	}
	c.client = client.NewClient(c.link, options...)
	if err := c.hello(ctx, s.name, s.version); err != nil {
		c.end(errStopped)
		return nil, err
	}
	return c, nil
}
