package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// run keeps the server running until ctx ends.
func (s *session) run(ctx context.Context) {
	delay := &backoff.ExponentialBackOff{InitialInterval: s.timing.backoff, Multiplier: 2, MaxInterval: s.timing.backoffMax}
	tries := 0 // since it was last stable; 0: it never ran, or a person asked
	for {
		c, err := s.startUp(ctx)
		asked := errors.Is(err, errRestarted)
		if err == nil {
			since := time.Now()
			asked = s.serve(ctx, c)
			if time.Since(since) >= s.timing.stable {
				tries = 0
			}
			switch why := c.lossError(); {
			case asked:
			case tries == 0 && (wantsLogin(why) || forgot(why)): // it may mean this session alone
				tries = 1
				delay.Reset()
				continue
			case wantsLogin(why):
				err = why
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case asked:
			s.unpoke(s.again)
			tries = 0
			continue
		case err != nil && (tries == 0 || wantsLogin(err)):
			s.fail(err)
		case tries >= s.timing.tries:
			if err == nil {
				err = errors.New("it keeps ending: " + s.lastError())
			}
			s.fail(err)
		default:
			if tries == 0 {
				delay.Reset()
			}
			tries++
			if err != nil {
				s.update(func() { s.status, s.err = StatusRestarting, s.secrets.Redact(err.Error()) })
			}
			if s.await(ctx, delay.NextBackOff()) {
				tries = 0
			}
			continue
		}
		s.await(ctx, -1)
		tries = 0
	}
}

// await waits for the back-off, or with a negative one for a use; asked: a
// person wants it now.
func (s *session) await(ctx context.Context, d time.Duration) (asked bool) {
	var after <-chan time.Time
	var use <-chan struct{}
	if d < 0 {
		use = s.wake
	} else {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
	case <-use:
	case <-s.again:
		return true
	case <-ctx.Done():
	}
	return false
}

// fail leaves the server until its next use.
func (s *session) fail(err error) {
	s.logs.add(logOwn, "error", "cannot be used: "+err.Error())
	s.unpoke(s.wake) // a use of before must not start it again
	text, status := s.secrets.Redact(err.Error()), StatusFailed
	if wantsLogin(err) {
		status = StatusNeedsLogin
	}
	told := false
	s.update(func() {
		told = s.toldLogin && status == StatusNeedsLogin // each use finds it out again
		s.status, s.err, s.mourned, s.toldLogin = status, text, true, status == StatusNeedsLogin
	})
	if !told {
		s.events.put(Event{Server: s.cfg.Name, Kind: EventFailed, Err: text})
	}
}

// startUp brings the server to StatusReady: connected, listening, its tools
// fetched.
func (s *session) startUp(ctx context.Context) (*connection, error) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	s.update(func() {
		if s.status != StatusRestarting {
			s.status = StatusStarting
		}
		s.err, s.abort = "", abort
		s.unpoke(s.again) // a restart that was asked for by now is this one
	})
	defer func() { s.update(func() { s.abort = nil }) }()
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.StartupTimeout, &timeoutError{"the start", s.cfg.StartupTimeout})
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.listen(ctx, c)
	tools, err := s.askTools(ctx, c)
	if err != nil {
		c.end(errStopped)
		return nil, err
	}
	s.ready(c, tools)
	return c, nil
}

// listen waits until the server's notifications come, or will not: what is
// listed before that can change unseen.
func (s *session) listen(ctx context.Context, c *connection) {
	var heard <-chan struct{}
	var late <-chan time.Time
	if p := c.peer; p != nil {
		c.spawn(func() { c.watch(s.timing.ping, s.timing.pong) }) //nolint:contextcheck // it ends with the connection
		timer := time.NewTimer(s.timing.acknowledge)
		defer timer.Stop()
		heard, late = p.heard, timer.C
	}
	if c.modern {
		first := make(chan struct{})
		c.spawn(func() { c.keepListening(s.timing.acknowledge, s.timing.backoff, first) }) //nolint:contextcheck // likewise
		heard, late = first, nil
	}
	if heard == nil {
		return
	}
	select {
	case <-heard:
	case <-late:
	case <-c.lost:
	case <-ctx.Done():
	}
}

// askTools fetches the tools; what goes wrong on the server's side leaves it
// without tools, or with the first of them, but usable.
func (s *session) askTools(ctx context.Context, c *connection) (listed[Tool], error) {
	c.inbox.clean(listTools)
	if !c.caps.tools {
		return listed[Tool]{items: []Tool{}}, nil
	}
	var asked uint64
	s.update(func() { asked = s.toolsAge.asking(time.Now()) })
	tools, err := c.tools(ctx, s.cfg.Name)
	tools.items, tools.asked = s.enabled(tools.items), asked
	if e, ok := errors.AsType[*rpcError](err); ok {
		s.problem("the list of tools could not be fetched: " + e.Error())
		if tools.inPart = true; tools.items == nil {
			tools.items = []Tool{}
		}
		return tools, nil
	}
	return tools, err
}

// ready announces a connection; lists that the server had before are compared.
func (s *session) ready(c *connection, tools listed[Tool]) {
	var first, back bool
	var d difference
	s.cache.reconnected() // before the first read
	s.values.drop(false)  // another process may answer otherwise
	s.values.drop(true)
	s.update(func() {
		if s.toolsAge.held {
			d = diff(s.tools, tools.items, toolKey, sameTool)
		}
		s.toolsAge.held = false        // those of before are not for another process
		if !take(&s.toolsAge, tools) { // they are of the login before
			tools.items = nil
			c.inbox.mark(listTools, time.Now())
		}
		s.toolsAge.held = true
		first, back = !s.announced, s.announced && s.mourned
		s.status, s.err, s.conn, s.tools = StatusReady, "", c, tools.items
		s.announced, s.mourned, s.toldLogin = true, false, false
	})
	s.logs.add(logOwn, "info", fmt.Sprintf("ready, with %d tools", len(tools.items)))
	if cut := c.instructions.Cut; cut > 0 {
		s.logs.add(logOwn, "info", fmt.Sprintf("the model gets the first %d bytes of its instructions; %d are left out", len(c.instructions.Text), cut))
	}
	switch {
	case first:
		s.events.put(Event{Server: s.cfg.Name, Kind: EventReady})
	case back:
		s.events.put(Event{Server: s.cfg.Name, Kind: EventRecovered})
	}
	if d.any {
		s.events.put(d.event(s.cfg.Name, EventTools))
	}
}

// serve keeps the lists fresh until the connection is lost, ctx ends, or a
// person asks for a restart. The connection is closed when it returns.
func (s *session) serve(ctx context.Context, c *connection) (asked bool) {
	stop := context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) }) // a refresh under way ends
	defer stop()
	if c.caps.logging && !c.modern {
		c.spawn(func() { c.setLevel(c.ctx) })
	}
	s.refresh(c, listResources)
	s.refresh(c, listPrompts)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		due, wait := c.inbox.take(time.Now())
		if due != nil {
			for _, k := range due {
				s.refresh(c, k)
			}
			c.inbox.fetched()
			s.update(func() {}) // Settle looks again
			continue
		}
		if wait < 0 {
			wait = time.Hour
		}
		timer.Reset(wait)
		select {
		case <-c.inbox.wake:
		case <-timer.C:
		case <-c.lost:
			if ctx.Err() == nil {
				s.lose(c)
				return false
			}
			s.close(c, StatusStopped, context.Cause(ctx))
			return false
		case <-s.again:
			s.close(c, StatusStarting, errRestarted)
			return true
		case <-ctx.Done():
			s.close(c, StatusStopped, context.Cause(ctx))
			return false
		}
	}
}

// close ends a connection on our side.
func (s *session) close(c *connection, next Status, cause error) {
	s.update(func() {
		s.status, s.conn = next, nil
		s.toolsAge.changed()
		s.promptsAge.changed()
	})
	s.cache.reconnected()
	c.end(cause)
}

// lose notes that the connection ended by itself.
func (s *session) lose(c *connection) {
	text := s.secrets.Redact(c.reason())
	s.logs.add(logOwn, "error", "connection lost: "+text)
	s.cache.reconnected()
	login := wantsLogin(c.lossError()) // which is told of when it is known that it wants one
	s.update(func() {
		s.status, s.err, s.conn, s.mourned = StatusRestarting, text, nil, s.mourned || !login
		s.toolsAge.changed()
		s.promptsAge.changed()
	})
	if !login {
		s.events.put(Event{Server: s.cfg.Name, Kind: EventLost, Err: text})
	}
	c.end(c.lossError())
}

func (s *session) unpoke(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

func (s *session) lastError() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
