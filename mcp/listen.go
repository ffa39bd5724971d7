package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// relistenDelay lets several new subscriptions share one subscriptions/listen.
const relistenDelay = 100 * time.Millisecond

// relisten asks for a new subscriptions/listen with the URIs that are wanted now.
func (c *connection) relisten() {
	select {
	case c.listen <- struct{}{}:
	default:
	}
}

// keepListening holds subscriptions/listen open until the connection ends:
// since 2026-07-28 nothing is notified without it. It closes heard when the
// first one is acknowledged, or will not be: what is listed before that can
// change unseen.
func (c *connection) keepListening(ackTimeout time.Duration, heard chan<- struct{}) {
	delay := &backoff.ExponentialBackOff{InitialInterval: time.Second, Multiplier: 2, MaxInterval: time.Minute}
	delay.Reset()
	for first := true; c.ctx.Err() == nil; first = false {
		again, err := c.listenOnce(ackTimeout, func() {
			if first {
				close(heard)
				return
			}
			delay.Reset()
		})
		switch {
		case again:
			continue
		case c.ctx.Err() != nil:
			return
		case isCode(err, codeMethodNotFound):
			c.problem("the server has no subscriptions/listen: changes are not noticed")
			return
		}
		// The stream ended: what changes until it is open again is not told.
		select {
		case <-time.After(delay.NextBackOff()):
		case <-c.ctx.Done():
			return
		}
		for k := range listKinds {
			c.inbox.mark(k, time.Now())
		}
	}
}

// listenOnce holds one stream open. It calls heard once, when the server
// acknowledged or will not; again: the wanted URIs changed.
func (c *connection) listenOnce(ackTimeout time.Duration, heard func()) (again bool, err error) {
	filter := mcpgo.SubscriptionFilter{ToolsListChanged: c.caps.tools, PromptsListChanged: c.caps.prompts, ResourcesListChanged: c.caps.resources}
	if c.caps.subscribe {
		filter.ResourceSubscriptions = c.subs.all()
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	ack := c.expectAck()
	ended := make(chan error, 1)
	go func() { // ends with ctx; awaited below
		ex := &exchange{}
		_, err := c.askWithin(ctx, ex, guarded(func(ctx context.Context) error { return c.client.Listen(ctx, filter) }))
		ended <- err
	}()
	stop := func() {
		cancel(nil)
		<-ended
	}
	select {
	case <-ack:
		c.subs.activate(true, filter.ResourceSubscriptions...)
		ack = nil
	case <-time.After(ackTimeout):
		c.problem("the server did not acknowledge subscriptions/listen: changes may go unnoticed")
	case err := <-ended:
		cancel(nil)
		heard()
		return false, err
	}
	heard()
	for {
		select {
		case <-ack: // late, but from now on it counts
			c.subs.activate(true, filter.ResourceSubscriptions...)
			ack = nil
		case <-c.listen:
			c.unheard()
			select { // more of them may come
			case <-time.After(relistenDelay):
			case <-ctx.Done():
			}
			stop()
			return true, nil
		case err := <-ended:
			cancel(nil)
			c.unheard()
			if err == nil {
				err = errors.New("the server closed subscriptions/listen")
			}
			return false, err
		case <-ctx.Done():
			stop()
			return false, context.Cause(ctx)
		}
	}
}

// unheard notes that updates are not told for a while: no body is known to be
// fresh.
func (c *connection) unheard() {
	c.subs.activate(true)
	c.gap()
}

func (c *connection) expectAck() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ack = make(chan struct{})
	return c.ack
}

// acknowledged runs on the read loop.
func (c *connection) acknowledged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ack != nil {
		close(c.ack)
		c.ack = nil
	}
}
