package mcp

import (
	"slices"
	"time"
)

// Resource returns what the cache holds of one resource; stale: the server said
// that its list changed since, or its connection is down. Never blocks.
func (m *Manager) Resource(server, uri string) (r Resource, stale, ok bool) {
	s, err := m.find(server)
	if err != nil {
		return Resource{}, false, false
	}
	return s.cache.find(uri)
}

// Cached returns a resource's contents where they are known to be fresh. Never
// blocks.
func (m *Manager) Cached(server, uri string) ([]Content, bool) {
	s, err := m.find(server)
	if err != nil {
		return nil, false
	}
	contents := s.cache.bodies.get(uri, time.Now())
	return slices.Clone(contents), contents != nil
}

// find looks a resource up in the searchable list.
func (c *resourceCache) find(uri string) (r Resource, stale, ok bool) {
	x := c.index.Load()
	if x == nil {
		return Resource{}, false, false
	}
	place, ok := x.known.find(uri)
	if !ok {
		return Resource{}, false, false
	}
	r = x.resources[place]
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Stale = c.updated[uri]
	return r, c.resources.old(time.Now()), true
}
