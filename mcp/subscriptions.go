package mcp

import (
	"container/list"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	maxSubscriptions = 256
	// subscribeTimeout bounds a resources/subscribe, on which a read waits.
	subscribeTimeout = 5 * time.Second
	// subscriptionAge is how long after its last read a URI is still of use. It
	// is looked at when another one is read.
	subscriptionAge = time.Hour
)

// subscriptions are the URIs of which one connection tells us the updates:
// those that were read, the most recent ones.
type subscriptions struct {
	mu      sync.Mutex
	wanted  map[string]*list.Element // of *wantedURI
	order   list.List                // most recently read first
	active  map[string]bool          // those that the server has taken on
	refused bool                     // it advertises subscribe but refuses it
}

// wantedURI is one that was read.
type wantedURI struct {
	uri  string
	used time.Time
}

// want notes that uri is read and returns whether it was wanted before, whether
// the server already tells us of it, and of which URIs it need not tell any
// more: they were not read for long, or there are too many.
func (s *subscriptions) want(uri string, now time.Time) (known, active bool, dropped []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted == nil {
		s.wanted, s.active = map[string]*list.Element{}, map[string]bool{}
	}
	if e := s.wanted[uri]; e != nil {
		known, active = true, s.active[uri]
		e.Value.(*wantedURI).used = now
		s.order.MoveToFront(e)
	} else {
		s.wanted[uri] = s.order.PushFront(&wantedURI{uri, now})
	}
	for {
		last := s.order.Back().Value.(*wantedURI)
		if len(s.wanted) <= maxSubscriptions && now.Sub(last.used) < subscriptionAge {
			return known, active, dropped
		}
		s.order.Remove(s.order.Back())
		delete(s.wanted, last.uri)
		if s.active[last.uri] {
			dropped = append(dropped, last.uri)
			delete(s.active, last.uri)
		}
	}
}

func (s *subscriptions) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = true
}

func (s *subscriptions) isRefused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// activate notes that the server tells us of uris, and with only of no others.
func (s *subscriptions) activate(only bool, uris ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if only {
		s.active = map[string]bool{}
	}
	for _, uri := range uris {
		if s.wanted[uri] != nil {
			s.active[uri] = true
		}
	}
}

// all returns the wanted URIs, sorted.
func (s *subscriptions) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.wanted))
}

// subscribe makes the server tell us of uri's updates if it can, and reports
// whether it does. It comes before the read, so that no update is lost.
func (s *session) subscribe(ctx context.Context, c *connection, uri string) bool {
	if !c.caps.subscribe || c.subs.isRefused() || !c.modern && c.unheard() {
		return false
	}
	known, active, dropped := c.subs.want(uri, time.Now())
	for _, uri := range dropped {
		s.cache.bodies.changed(uri)
	}
	if c.modern {
		// One that is known is in the listening, or in the one that is asked for:
		// asking at each read would end the listening before it counts.
		if !known {
			c.relisten()
		}
		return active
	}
	if len(dropped) > 0 {
		// The answers decide nothing; they end with their timeout or the connection.
		c.spawn(func() { //nolint:contextcheck // it ends with the connection
			for _, uri := range dropped {
				ctx, cancel := context.WithTimeout(c.ctx, subscribeTimeout)
				_ = c.unsubscribe(ctx, uri)
				cancel()
			}
		})
	}
	if active {
		return true
	}
	asking, cancel := context.WithTimeout(ctx, subscribeTimeout)
	defer cancel()
	if err := c.subscribe(asking, uri); err != nil {
		if isCode(err, codeMethodNotFound) || asking.Err() != nil && ctx.Err() == nil {
			c.subs.refuse()
		}
		return false
	}
	c.subs.activate(false, uri)
	return true
}
