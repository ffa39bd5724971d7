package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// use returns the ready connection. It starts a failed server once, and waits
// a little for one that is being started.
func (s *session) use(ctx context.Context) (*connection, error) {
	patience := time.NewTimer(s.timing.use)
	defer patience.Stop()
	poked := false
	for {
		s.mu.Lock()
		status, text, final, conn, changed := s.status, s.err, s.final, s.conn, s.changed
		s.mu.Unlock()
		switch status {
		case StatusReady:
			return conn, nil
		case StatusStarting, StatusRestarting:
		case StatusFailed, StatusNeedsLogin:
			if poked || final {
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
