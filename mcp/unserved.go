package mcp

import (
	"context"
	"errors"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// unservedError says that the server refused a request without looking at it,
// because it does not know the session any more (2025-11-25, transports,
// "Session Management"): it can be sent again, in a new one.
type unservedError struct{ error }

func (e *unservedError) Unwrap() error { return e.error }

// unserved notes that a request was refused so. Others that wait when the
// session ends may have been served.
func (p *peer) unserved(id mcpgo.RequestId) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.waiting[idKey(id)]; w != nil {
		w.unserved = true
	}
}

// wasUnserved reports whether it was.
func (p *peer) wasUnserved(w *waiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.unserved
}

// served calls, and calls once more in the next session what the server refused
// for want of one.
func served[T any](ctx context.Context, s *session, call func() (T, error)) (T, error) {
	s.mu.Lock()
	before := s.conn
	s.mu.Unlock()
	out, err := call()
	if _, ok := errors.AsType[*unservedError](err); !ok || !s.awaitAnother(ctx, before) {
		return out, err
	}
	return call()
}

// awaitAnother waits until a connection is not the session's any more; it is
// lost already. false: ctx ended.
func (s *session) awaitAnother(ctx context.Context, old *connection) bool {
	for {
		s.mu.Lock()
		conn, changed := s.conn, s.changed
		s.mu.Unlock()
		if conn != old || conn == nil {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
