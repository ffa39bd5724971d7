package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

const (
	// drainTime is how long a stream may go on after its answer, so that the
	// connection can be used again.
	drainTime = 250 * time.Millisecond
	// maxResumes bounds how often a stream is taken up again that brings nothing
	// and ends at once.
	maxResumes = 5

	acceptBoth   = "application/json, text/event-stream"
	acceptStream = "text/event-stream"
)

// stream reads an answer that is a stream. One that ends early is taken up
// again where the server gave its events ids (2025-11-25, resumability).
func (t *streamable) stream(ctx context.Context, body io.Reader, req transport.JSONRPCRequest) error {
	events, closeLast := newEventStream(body, maxWireMessage), func() {}
	defer func() { closeLast() }()
	for tries := 0; ; {
		from, began := events.lastID, time.Now()
		got, err := t.drain(events)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if got || events.lastID != from || time.Since(began) > t.backoff {
			tries = 0 // a server may let us poll for as long as it works (SEP-1699)
		}
		done := t.answeredAlready(req.ID)
		legacy := !mcpgo.IsModernProtocol(t.protocolHeaders().Get(transport.HeaderKeyProtocolVersion))
		if done || events.lastID == "" || !legacy || tries >= maxResumes {
			if !done && !errors.Is(err, io.EOF) {
				err = &unreachableError{origin(t.url), false, err}
				t.broke(err)
				return err
			}
			if !done {
				t.suspect()
			}
			return errStreamEnded
		}
		tries++
		next, closeBody, err := t.resume(ctx, events)
		if err != nil {
			t.suspect()
			return err
		}
		if next != nil {
			closeLast()
			events, closeLast = next, closeBody
		}
	}
}

func (t *streamable) answeredAlready(id mcpgo.RequestId) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[idKey(id)] == nil
}

// drain takes in the events of a stream until it ends with err.
func (t *streamable) drain(events *eventStream) (got bool, err error) {
	for {
		e, err := events.next()
		if err != nil {
			return got, err
		}
		got = true
		if e.name == "message" {
			t.event(e)
		}
	}
}

// resume opens a stream after the last event of the one that ended. nil: not
// yet, the server cannot be reached.
func (t *streamable) resume(ctx context.Context, ended *eventStream) (next *eventStream, closeBody func(), err error) {
	if err := sleep(ctx, t.pause(ended)); err != nil {
		return nil, nil, err
	}
	resp, err := t.get(ctx, ended.lastID) //nolint:bodyclose // by closeBody
	if e, ok := errors.AsType[*unreachableError](err); ok && !e.dial {
		return nil, nil, nil
	}
	if e, ok := errors.AsType[*statusError](err); ok && (e.status == http.StatusConflict || notNow(err)) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	next = newEventStream(resp.Body, maxWireMessage)
	next.lastID, next.retry = ended.lastID, ended.retry
	return next, func() { _ = resp.Body.Close() }, nil
}

// pause is how long to wait before a stream is opened again.
func (t *streamable) pause(ended *eventStream) time.Duration {
	const least = 10 * time.Millisecond
	if ended.retry >= 0 {
		return max(ended.retry, least)
	}
	return t.backoff
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
