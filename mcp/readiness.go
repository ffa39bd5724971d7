package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// using asks the server something on the ready connection. Where that ends in
// an error that again accepts, it is asked once more, on the next connection:
// what changes nothing there where it was lost, a call of a tool, which may have
// acted, only where it was refused.
func (s *session) using(ctx context.Context, again func(error) bool, ask func(*connection) error) error {
	c, err := s.use(ctx)
	if err != nil {
		return err
	}
	if err = ask(c); err == nil || !again(err) || ctx.Err() != nil {
		return err
	}
	next, nextErr := s.useAfter(ctx, c)
	if nextErr != nil {
		return err // what broke says more than that it is not back
	}
	return ask(next)
}

// use returns the ready connection. It starts a failed server once, and waits
// a little for one that is being started.
func (s *session) use(ctx context.Context) (*connection, error) { return s.useAfter(ctx, nil) }

// useAfter is use for another connection than the one that is over: the session
// notices an end a moment after those who wait for an answer.
func (s *session) useAfter(ctx context.Context, over *connection) (*connection, error) {
	patience := time.NewTimer(s.timing.use)
	defer patience.Stop()
	poked := false
	for {
		s.mu.Lock()
		status, text, final, conn, changed := s.status, s.err, s.final, s.conn, s.changed
		s.mu.Unlock()
		switch status {
		case StatusReady:
			if conn != over && !conn.gone() {
				return conn, nil
			}
		case StatusStarting, StatusRestarting:
		case StatusFailed, StatusNeedsLogin:
			if poked || final || over != nil && status == StatusNeedsLogin { // it was tried since
				return nil, s.notReady(status, text)
			}
			poked = true
			s.poke(s.wake)
		default:
			return nil, s.notReady(status, text)
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, s.notReady(status, text)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// gone reports whether the connection has ended, by either side.
func (c *connection) gone() bool { return c.ctx.Err() != nil || closed(c.lost) }

func (s *session) notReady(status Status, text string) error {
	if text != "" {
		text = ": " + text
	}
	err := ErrNotReady
	if status == StatusNeedsLogin {
		err = errors.Join(ErrNotReady, ErrNeedsLogin)
	}
	return &toldError{fmt.Sprintf("%v: %q is %s%s", ErrNotReady, s.cfg.Name, status, text), err}
}

// settle waits until no refresh is pending that a notification asked for, or
// that its want asks for.
func (s *session) settle(ctx context.Context) {
	s.mu.Lock()
	now := time.Now()
	if c := s.conn; c != nil && c.caps.tools && !s.toolsAge.freshList(now, c.tells(listTools)) && now.Sub(s.toolsAge.asked) > s.timing.unheard {
		c.inbox.mark(listTools, now)
	}
	s.mu.Unlock()
	for {
		s.mu.Lock()
		c, changed := s.conn, s.changed
		s.mu.Unlock()
		if c == nil || !c.inbox.pending() {
			return
		}
		c.inbox.hasten()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// started waits until the session is not starting, and reports whether. A
// session that needs a person is not waited for.
func (s *session) started(ctx context.Context) bool {
	for {
		s.mu.Lock()
		status, needs, changed := s.status, s.needs, s.changed
		s.mu.Unlock()
		if status != StatusStarting || needs != "" {
			return status != StatusStarting
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
