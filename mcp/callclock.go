package mcp

import (
	"context"
	"sync"
	"time"
)

// clocks are those of a connection's calls. They stand still while the server
// waits for a person.
type clocks struct {
	mu     sync.Mutex
	people int // that are waited for
	all    map[*callClock]bool
}

// callClock runs out once, when the server alone has taken so long.
type callClock struct {
	p     *clocks
	timer *time.Timer   // set as long as it runs
	over  func()        // called once, when it has run out
	left  time.Duration // at since, or while it stands still
	since time.Time
	spent time.Duration // before since
}

// start starts a clock that calls over after d. over must not block.
func (p *clocks) start(d time.Duration, over func()) *callClock {
	k := &callClock{p: p, over: over, left: d}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[*callClock]bool{}
	}
	p.all[k] = true
	if p.people == 0 {
		k.run()
	}
	return k
}

// reset gives the server d from now on.
func (k *callClock) reset(d time.Duration) {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	if !k.p.all[k] {
		return
	}
	running := k.timer != nil
	k.halt()
	if k.left = d; running {
		k.run()
	}
}

// elapsed returns how long the server has had.
func (k *callClock) elapsed() time.Duration {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	if k.timer == nil {
		return k.spent
	}
	return k.spent + time.Since(k.since)
}

// stop ends the clock; over is not called any more.
func (k *callClock) stop() {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	k.halt()
	delete(k.p.all, k)
}

// run lets the clock run; k.p.mu is held.
func (k *callClock) run() {
	k.since = time.Now()
	var timer *time.Timer
	timer = time.AfterFunc(k.left, func() {
		k.p.mu.Lock()
		mine := k.timer == timer // not halted meanwhile
		if mine {
			k.halt()
			delete(k.p.all, k)
		}
		k.p.mu.Unlock()
		if mine {
			k.over()
		}
	})
	k.timer = timer
}

// halt lets the clock stand still; k.p.mu is held.
func (k *callClock) halt() {
	if k.timer == nil {
		return
	}
	k.timer.Stop()
	k.timer = nil
	took := time.Since(k.since)
	k.spent += took
	k.left = max(0, k.left-took)
}

// pause lets the clocks stand still until end.
func (p *clocks) pause() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.people++; p.people == 1 {
		for k := range p.all {
			k.halt()
		}
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.people--; p.people == 0 {
			for k := range p.all {
				k.run()
			}
		}
	})
}

// waitsForPerson stops the clocks of the connection's calls until end, and
// those that their callers gave them by [WithTimeout].
func (c *connection) waitsForPerson() (end func()) {
	ends := []func(){c.clocks.pause()}
	for _, outer := range c.calls.outer() {
		ends = append(ends, outer.pause())
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

type clocksKey struct{}

// WithTimeout is context.WithTimeoutCause for a ctx that is given to calls of a
// server: the time does not pass while the server that serves one of them waits
// for a person.
func WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &clocks{}
	k := p.start(d, func() { cancel(cause) })
	return context.WithValue(ctx, clocksKey{}, p), func() {
		k.stop()
		cancel(nil)
	}
}
