package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Origin is the run that a call belongs to.
type Origin struct{ RunID, Session string }

type originKey struct{}

// WithOrigin returns a ctx whose calls belong to a run: what a server asks
// while it serves them is asked in the run's name.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

func originOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

type quietKey struct{}

// Quietly returns a ctx whose calls lead to no question: what their server asks
// of a person meanwhile is dismissed. It is for what nobody did on purpose, as a
// pointer that rests somewhere.
func Quietly(ctx context.Context) context.Context {
	return context.WithValue(ctx, quietKey{}, true)
}

func isQuiet(ctx context.Context) bool {
	quiet, _ := ctx.Value(quietKey{}).(bool)
	return quiet
}

// allQuiet reports whether a request can only come of calls that are quiet.
func allQuiet(came []*callUnderWay) bool {
	return len(came) > 0 && !slices.ContainsFunc(came, func(call *callUnderWay) bool { return !call.quiet })
}

// errCallsEnded is the cause of the end of a server's request: nobody waits
// any more for what it came of.
var errCallsEnded = errors.New("the call that it came of has ended")

// calls are those of a connection that are under way. A request of the server
// up to 2025-11-25 does not say which of them it came of.
type calls struct {
	mu   sync.Mutex
	open map[*callUnderWay]bool
	idle noes // of what came of no call
}

// Bounds of the noes of a person after which a server is not asked for again.
const (
	maxRefused = 3           // of one call, or of what comes of none
	idleGrace  = time.Minute // since the last no, after which the latter are forgotten
)

// noes count how often a person refused what a server wanted.
type noes struct {
	n    int
	last time.Time // of those that came of no call
}

type callUnderWay struct {
	origin  Origin
	done    chan struct{}
	outer   *clocks // of its caller; nil: none
	quiet   bool    // nobody is to be asked for it
	samples int     // how often the server asked the model meanwhile
	refused noes
}

// begin registers a call.
func (c *calls) begin(ctx context.Context) (end func()) {
	call := &callUnderWay{origin: originOf(ctx), done: make(chan struct{})}
	call.outer, _ = ctx.Value(clocksKey{}).(*clocks)
	call.quiet = isQuiet(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[*callUnderWay]bool{}
	}
	c.open[call] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, call)
		close(call.done)
	}
}

// now returns the calls under way, and the run that all of them belong to;
// zero: there is none, or more than one.
func (c *calls) now() (open []*callUnderWay, origin Origin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for call := range c.open {
		if len(open) == 0 {
			origin = call.origin
		} else if origin != call.origin {
			origin = Origin{}
		}
		open = append(open, call)
	}
	return open, origin
}

// mayAsk reports whether a person may be asked: of a call under way, it may come
// of any, there were not too many noes yet.
func (c *calls) mayAsk() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) == 0 {
		if time.Since(c.idle.last) > idleGrace {
			c.idle.n = 0
		}
		return c.idle.n < maxRefused
	}
	for call := range c.open {
		if call.refused.n < maxRefused {
			return true
		}
	}
	return false
}

// sample counts a request for the model for each call under way. false: each of
// them has had all that it may.
func (c *calls) sample() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := len(c.open) == 0
	for call := range c.open {
		call.samples++
		left = left || call.samples <= maxSamplesPerCall
	}
	return left
}

// refuse counts a no of a person for each call under way.
func (c *calls) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) == 0 {
		c.idle = noes{c.idle.n + 1, time.Now()}
	}
	for call := range c.open {
		call.refused.n++
	}
}

// outer returns the clocks of the callers.
func (c *calls) outer() (list []*clocks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for call := range c.open {
		if call.outer != nil {
			list = append(list, call.outer)
		}
	}
	return list
}
