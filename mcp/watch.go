package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// watch looks every so often, and when something broke, whether a remote
// server is still there: a connection over HTTP has no end that could be seen.
// It ends with the connection.
func (c *connection) watch(every, patience time.Duration) {
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		timer.Reset(every)
		select {
		case <-timer.C:
			if c.peer.busy() {
				continue // what waits has its own deadline
			}
		case <-c.peer.doubt:
		case <-c.lost:
			return
		case <-c.ctx.Done():
			return
		}
		c.look(patience)
	}
}

// look asks for a sign of life, and loses a server that gives none. One that
// is busy may do one thing at a time.
func (c *connection) look(patience time.Duration) {
	ctx, cancel := context.WithTimeoutCause(c.ctx, patience, &timeoutError{"ping", patience})
	defer cancel()
	err := c.peek(ctx)
	switch {
	case c.ctx.Err() != nil || !unwell(err):
	case ctx.Err() != nil && c.peer.busy():
	default:
		c.peer.lose(fmt.Errorf("it is not there any more: %w", err))
	}
}

// peek makes the server answer something, whatever it answers. There is no
// ping since 2026-07-28.
func (c *connection) peek(ctx context.Context) error {
	_, err := c.askWithin(ctx, "", &exchange{}, guarded(func(ctx context.Context) error {
		if !c.modern {
			return c.client.Ping(ctx)
		}
		_, err := c.client.Discover(ctx, mcpgo.DiscoverRequest{})
		return err
	}))
	return err
}

// unwell reports whether err says that the server is not there any more, or not
// well, rather than that it refuses something.
func unwell(err error) bool {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status >= http.StatusInternalServerError
	}
	_, unreachable := errors.AsType[*unreachableError](err)
	return unreachable || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errStreamEnded)
}

// errStreamEnded says that an answer was begun and not given.
var errStreamEnded = errors.New("the server ended the stream without an answer")
