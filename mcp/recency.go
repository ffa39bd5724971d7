package mcp

import (
	"maps"
	"sync"
)

// maxRecent is how many mentions are remembered for ranking.
const maxRecent = 32

type usedKey struct{ server, uri string }

// recency remembers which mentions were used last. Its zero value is empty.
type recency struct {
	mu   sync.Mutex
	n    uint64
	when map[usedKey]uint64 // replaced as a whole
}

func (r *recency) use(server, uri string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := maps.Clone(r.when)
	if next == nil {
		next = map[usedKey]uint64{}
	}
	r.n++
	next[usedKey{server, uri}] = r.n
	if len(next) > maxRecent {
		oldest := usedKey{server, uri}
		for key, when := range next {
			if when < next[oldest] {
				oldest = key
			}
		}
		delete(next, oldest)
	}
	r.when = next
}

// snapshot returns what is never changed again.
func (r *recency) snapshot() map[usedKey]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.when
}
