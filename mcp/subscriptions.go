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
)

// subscriptions are the URIs of which one connection tells us the updates:
// those that were read, the most recent ones.
type subscriptions struct {
	mu      sync.Mutex
	wanted  map[string]*list.Element // of string
	order   list.List                // most recently read first
	active  map[string]bool          // those that the server has taken on
	refused bool                     // it advertises subscribe but refuses it
}

// want notes that uri is read and returns whether it was wanted before, whether
// the server already tells us of it, and which URI gave way, if any.
func (s *subscriptions) want(uri string) (known, active bool, evicted string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.wanted[uri]; e != nil {
		s.order.MoveToFront(e)
		return true, s.active[uri], ""
	}
	if s.wanted == nil {
		s.wanted, s.active = map[string]*list.Element{}, map[string]bool{}
	}
	s.wanted[uri] = s.order.PushFront(uri)
	if len(s.wanted) > maxSubscriptions {
		evicted = s.order.Remove(s.order.Back()).(string)
		delete(s.wanted, evicted)
		if !s.active[evicted] {
			return false, false, ""
		}
		delete(s.active, evicted)
	}
	return false, false, evicted
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
	known, active, evicted := c.subs.want(uri)
	if evicted != "" {
		s.cache.bodies.changed(evicted)
	}
	if c.modern {
		// One that is known is in the listening, or in the one that is asked for:
		// asking at each read would end the listening before it counts.
		if !known {
			c.relisten()
		}
		return active
	}
	if evicted != "" {
		// Its answer decides nothing; it ends with its timeout or the connection.
		c.spawn(func() { //nolint:contextcheck // it ends with the connection
			ctx, cancel := context.WithTimeout(c.ctx, subscribeTimeout)
			defer cancel()
			_ = c.unsubscribe(ctx, evicted)
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
