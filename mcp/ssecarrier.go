package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// sse is the transport "HTTP+SSE" of 2024-11-05: one stream from the server
// that names an endpoint for what goes to it and brings all answers. The
// stream is the connection.
type sse struct {
	*peer
	patience time.Duration // with a stream that names no endpoint
	ready    chan struct{} // closed when endpoint is known
	endpoint *url.URL
}

func newSSE(p *peer, patience time.Duration) *sse {
	t := &sse{peer: p, patience: patience, ready: make(chan struct{})}
	p.post = t.tell
	return t
}

// Start opens the stream; who has something to send waits for it.
func (t *sse) Start(context.Context) error {
	t.spawn(func() { t.lose(t.stream()) })
	return nil
}

// stream reads until the stream ends, and says why.
func (t *sse) stream() error {
	h := t.protocolHeaders()
	h.Set("Accept", acceptStream)
	resp, err := t.do(t.ctx, http.MethodGet, t.url, nil, h)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return t.loginError(resp, excerpt(resp.Body))
	case !success(resp):
		return &statusError{resp.StatusCode, excerpt(resp.Body)}
	case kind != "text/event-stream":
		return fmt.Errorf("the server answers GET with %q, not with a stream: %s", clip(kind, 100), excerpt(resp.Body))
	}
	timer := time.AfterFunc(t.patience, func() {
		select {
		case <-t.ready:
		default:
			t.lose(fmt.Errorf("the server's stream names no endpoint within %v: it may not speak HTTP+SSE", t.patience))
		}
	})
	defer timer.Stop()
	events := newEventStream(resp.Body, maxWireMessage)
	for {
		e, err := events.next()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("the server ended the stream")
		case err != nil:
			return &unreachableError{origin(t.url), false, err}
		case e.name == "message":
			t.event(e)
		case e.name == "endpoint":
			if err := t.meet(string(e.data)); err != nil {
				return err
			}
		}
	}
}

// meet takes the endpoint that the server names; a second one changes nothing.
func (t *sse) meet(endpoint string) error {
	u, err := t.url.Parse(strings.TrimSpace(endpoint))
	switch {
	case err != nil:
		return errors.New("the server names an endpoint that is no URL")
	case !SameOrigin(u, t.url):
		return fmt.Errorf("the server names an endpoint at another origin, %s", origin(u))
	}
	select {
	case <-t.ready:
		return nil
	default:
	}
	u.User = t.url.User
	t.endpoint = u
	close(t.ready)
	t.hear(false)
	return nil
}

// SendRequest posts a request to the endpoint; the stream brings the answer.
func (t *sse) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.ask(ctx, req, true, func(life context.Context, body []byte, over chan<- error) {
		err := t.tell(life, body)
		if unauthorized(err) {
			t.unserved(req.ID) // or it would end like those that wait for an answer
			t.lose(err)
		}
		if err != nil {
			over <- err
		}
	})
}

// SendNotification posts a notification.
func (t *sse) SendNotification(ctx context.Context, n mcpgo.JSONRPCNotification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	err = t.tell(ctx, body)
	if unauthorized(err) {
		t.lose(err)
	}
	return err
}

// tell posts a message, once the endpoint is known.
func (t *sse) tell(ctx context.Context, body []byte) error {
	select {
	case <-t.ready:
	default:
		select {
		case <-t.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	h := t.protocolHeaders()
	h.Set("Content-Type", "application/json")
	resp, err := t.do(ctx, http.MethodPost, t.endpoint, body, h)
	if err != nil {
		t.broke(err)
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return t.loginError(resp, "")
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		// The stream goes on, as behind a proxy, but nobody is at the other end.
		err := &statusError{resp.StatusCode, excerpt(resp.Body)}
		t.lose(err)
		return err
	case resp.StatusCode == http.StatusForbidden:
		return t.loginError(resp, excerpt(resp.Body))
	case !success(resp):
		return &statusError{resp.StatusCode, excerpt(resp.Body)}
	}
	spill(resp, end)
	return nil
}

func (t *sse) shut() { t.peer.shut(nil) }
