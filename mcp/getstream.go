package mcp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/mark3labs/mcp-go/client/transport"
)

// errNoStream says that the server has no stream of its own.
var errNoStream = errors.New("the server has no stream for notifications")

// get opens a stream from the server, after an event if lastID is not empty.
func (t *streamable) get(ctx context.Context, lastID string) (*http.Response, error) {
	h := t.protocolHeaders()
	h.Set("Accept", acceptStream)
	if lastID != "" {
		h.Set("Last-Event-ID", lastID)
	}
	resp, err := t.do(ctx, http.MethodGet, t.url, nil, h)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusOK && kind == "text/event-stream":
		return resp, nil
	case resp.StatusCode == http.StatusOK:
		err = fmt.Errorf("%w: it answers GET with %q", errNoStream, clip(kind, 100))
	case resp.StatusCode == http.StatusUnauthorized:
		err = t.loginError(resp, "")
	default:
		err = &statusError{resp.StatusCode, excerpt(resp.Body)}
	}
	_ = resp.Body.Close()
	return nil, err
}

// listen holds the stream from the server open until the connection ends: up
// to 2025-11-25 what a server sends of itself comes that way. A server need
// not have one; then its lists are asked for at each use.
func (t *streamable) listen() {
	t.deaf.Store(true)
	delay := &backoff.ExponentialBackOff{InitialInterval: t.backoff, Multiplier: 2, MaxInterval: time.Minute}
	delay.Reset()
	last := newEventStream(nil, 0) // of the stream before
	began := time.Now()
	for opened := false; ; {
		resp, err := t.get(t.ctx, last.lastID)
		quiet := true
		if err == nil {
			t.hear(false)
			if opened || time.Since(began) >= t.backoff { // the lists may be older
				t.missed()
			}
			opened = true
			last, quiet = t.follow(resp, last)
		}
		if t.ctx.Err() != nil || err != nil && t.noStream(err, opened, last) {
			return
		}
		wait := t.pause(last)
		if quiet {
			wait = max(wait, delay.NextBackOff())
		} else {
			delay.Reset()
		}
		if sleep(t.ctx, wait) != nil {
			return
		}
	}
}

// follow takes in a stream until it ends, as most do some time; quiet: it
// brought nothing, and not for long, or ended as soon as it had.
func (t *streamable) follow(resp *http.Response, before *eventStream) (events *eventStream, quiet bool) {
	began := time.Now()
	events = newEventStream(resp.Body, maxWireMessage)
	events.lastID, events.retry = before.lastID, before.retry
	got, _ := t.drain(events)
	_ = resp.Body.Close()
	t.deaf.Store(true)
	if t.ctx.Err() == nil {
		t.unheard()
		t.suspect()
	}
	open := time.Since(began)
	return events, open < t.backoff || !got && open < steady
}

// noStream decides what a GET that failed means: that there is no stream,
// which is told once, or the session is over, or it has to be tried again.
func (t *streamable) noStream(err error, opened bool, last *eventStream) (final bool) {
	var status int
	if e, ok := errors.AsType[*statusError](err); ok {
		status = e.status
	}
	_, login := errors.AsType[*loginError](err)
	_, redirected := errors.AsType[*redirectError](err)
	session := t.protocolHeaders().Get(transport.HeaderKeySessionID)
	switch {
	case opened && status == http.StatusNotFound && session != "":
		_ = t.forgotten(status, nil)
	case opened && login:
		t.lose(err)
	case status >= 500 && status != http.StatusNotImplemented, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status == http.StatusConflict:
		return false // 409: the server has not seen yet that the one before ended
	case status != 0 && last.lastID != "":
		last.lastID = "" // it may be what the server does not take
		return false
	case errors.Is(err, errNoStream), login, redirected, status != 0:
		t.log.Info("an MCP server sends no notifications: its lists are asked for at each use", "origin", origin(t.url), "err", err)
		t.hear(true)
	default:
		t.broke(err)
		return false
	}
	return true
}
