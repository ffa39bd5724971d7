package mcp

import (
	"errors"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// unservedError says that the server refused a request without looking at it,
// because it does not know the session any more (2025-11-25, transports,
// "Session Management"), or who asks: it can be sent again, on the next
// connection.
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

// refused reports whether err says that the server did not look at a request:
// even a call can be sent again.
func refused(err error) bool {
	_, ok := errors.AsType[*unservedError](err)
	return ok
}

// lost reports whether err may be gone on another connection.
func lost(err error) bool { return refused(err) || errors.Is(err, errLost) }
