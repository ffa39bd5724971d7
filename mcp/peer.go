package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

const (
	cancelTimeout  = 5 * time.Second        // of a notifications/cancelled
	replyTimeout   = 30 * time.Second       // of sending an answer to the server
	farewellGrace  = 500 * time.Millisecond // at the end, for what is still to be said
	maxLate        = 2                      // requests without an answer in time
	maxReason      = 200                    // bytes of why a request was cancelled
	maxWireMessage = maxFrame               // bytes of one message over HTTP
)

// peer is what both carriers over HTTP have in common: the requests that wait
// for an answer, what the server sends of itself, and how the connection ends.
//
// The carriers are ours rather than mcp-go's. Its own ones say nothing when
// the stream from the server opens, ends or misses something, drop what they
// cannot decode, have no bound on what they read, end a question of the
// server's after 30 s or cannot be asked any (SSE), let configured headers
// replace the protocol's, and never send notifications/cancelled.
type peer struct {
	*address
	log     *slog.Logger
	problem func(text string)
	post    func(ctx context.Context, message []byte) error // sends what has no answer; set once

	ctx    context.Context //nolint:containedctx // its lifetime; ends by lose or shut
	cancel context.CancelCauseFunc
	last   context.Context //nolint:containedctx // of what is still said at the end
	silent context.CancelFunc
	lost   chan struct{} // closed by lose
	doubt  chan struct{} // capacity 1: something broke; is the server still there?
	heard  chan struct{} // closed when notifications come, or it is known that none will
	deaf   atomic.Bool   // no notifications come for now
	late   atomic.Int32  // requests that ran into their deadline since one was answered
	// Set before the start: told when none come for now, and when they come
	// again and some may have been missed.
	unheard, missed func()
	asked           func(m json.RawMessage) // set before the start: takes the server's requests
	once            sync.Once
	junk            atomic.Bool // was told

	mu       sync.Mutex
	notify   func(mcpgo.JSONRPCNotification)
	version  string
	session  string
	waiting  map[string]*waiter
	closed   bool
	cause    error
	hearOnce sync.Once
	wg       sync.WaitGroup // what spawn started
	notes    sync.WaitGroup // the cancels on their way
}

func newPeer(r *address, log *slog.Logger, problem func(string)) *peer {
	p := &peer{
		address: r, log: log, problem: problem, unheard: func() {}, missed: func() {}, lost: make(chan struct{}), doubt: make(chan struct{}, 1),
		heard: make(chan struct{}), asked: func(json.RawMessage) {}, waiting: map[string]*waiter{},
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.last, p.silent = context.WithCancel(context.Background())
	return p
}

// spawn runs f on a goroutine that shut waits for; f ends with p.ctx.
func (p *peer) spawn(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.wg.Go(f)
	return true
}

// lose ends the connection from the server's side. It may be called from any
// goroutine, and the first one tells why.
func (p *peer) lose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.cause != nil {
		return
	}
	p.cause = err
	close(p.lost)
	p.cancel(fmt.Errorf("%w: %w", errLost, err))
	p.silent()
}

// why returns what ended the connection.
func (p *peer) why() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == nil {
		return transport.ErrTransportClosed
	}
	return p.cause
}

func (p *peer) reason() string { return p.why().Error() }

// shut ends the connection from our side, once, and waits for all of it. What
// is still to be said, farewell last, has farewellGrace.
func (p *peer) shut(farewell func(context.Context)) {
	p.once.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		timer := time.AfterFunc(farewellGrace, p.silent)
		p.notes.Wait() // while there is a session to which they belong
		p.cancel(errStopped)
		if farewell != nil && p.last.Err() == nil {
			farewell(p.last)
		}
		timer.Stop()
		p.silent()
	})
	p.wg.Wait()
}

// suspect asks for a look whether the server is still there.
func (p *peer) suspect() {
	select {
	case p.doubt <- struct{}{}:
	default:
	}
}

// broke takes note of an error that says that a connection failed.
func (p *peer) broke(err error) {
	if _, ok := errors.AsType[*unreachableError](err); ok {
		p.suspect()
	}
}

// hear notes that notifications come from now on, or that there will be none.
func (p *peer) hear(deaf bool) {
	p.deaf.Store(deaf)
	p.hearOnce.Do(func() { close(p.heard) })
}

// spill reads the rest of an answer that has nothing to say, so that the
// connection can be used again. One that does not end, as some servers begin a
// stream, holds up nothing: end ends it.
func spill(resp *http.Response, end func()) {
	timer := time.AfterFunc(drainTime, end)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
}

// SetNotificationHandler sets who is told of notifications.
func (p *peer) SetNotificationHandler(f func(mcpgo.JSONRPCNotification)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notify = f
}

// SetProtocolVersion sets what was negotiated.
func (p *peer) SetProtocolVersion(version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version = version
}

// GetSessionId returns the id that the server gave; empty: none.
//
//nolint:revive,staticcheck // mcp-go's name
func (p *peer) GetSessionId() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session
}

// Close does nothing; see shut.
func (p *peer) Close() error { return nil }

// protocolHeaders are those of every request, beside those of its kind.
func (p *peer) protocolHeaders() http.Header {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := http.Header{}
	if p.version != "" {
		h.Set(transport.HeaderKeyProtocolVersion, p.version)
	}
	if p.session != "" && !mcpgo.IsModernProtocol(p.version) {
		h.Set(transport.HeaderKeySessionID, p.session)
	}
	return h
}
