package mcp

import (
	"container/list"
	"sync"
	"time"
)

const (
	maxBodies    = 4 << 20   // bytes of bodies kept per server
	maxBodyBytes = 512 << 10 // of one; longer ones are fetched each time
)

// bodies keeps what was read of a server's resources as long as it is known
// to be fresh: while we are subscribed to the URI, or for as long as the
// server said. The least recently used give way.
type bodies struct {
	mu      sync.Mutex
	byURI   map[string]*list.Element // of *body
	order   list.List                // most recently used first
	size    int
	reading map[*bodyRead]bool // the fetches under way
}

type body struct {
	uri      string
	contents []Content
	size     int
	until    time.Time // zero: until dropped
}

// bodyRead marks a fetch under way, so that an update which comes meanwhile
// keeps its result from being taken for fresh.
type bodyRead struct {
	uri     string
	changed bool
	unheard bool // changes were not told for a while
}

// get returns the fresh body of uri, or nil.
func (b *bodies) get(uri string, now time.Time) []Content {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.byURI[uri]
	if e == nil {
		return nil
	}
	have := e.Value.(*body)
	if !have.until.IsZero() && now.After(have.until) {
		b.remove(e)
		return nil
	}
	b.order.MoveToFront(e)
	return have.contents
}

// begin marks a fetch of uri; its result goes to end.
func (b *bodies) begin(uri string) *bodyRead {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading == nil {
		b.reading = map[*bodyRead]bool{}
	}
	r := &bodyRead{uri: uri}
	b.reading[r] = true
	return r
}

// end closes what begin opened, and reports whether the URI was left alone
// meanwhile. With keep the contents are held if so.
func (b *bodies) end(r *bodyRead, contents []Content, keep bool, until time.Time) (undisturbed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.reading, r)
	uri := r.uri
	if r.changed || !keep || r.unheard && until.IsZero() {
		return !r.changed
	}
	size := len(uri)
	for i := range contents {
		size += 128 + len(contents[i].Text) + len(contents[i].Blob)
	}
	if size > maxBodyBytes {
		return true
	}
	if e := b.byURI[uri]; e != nil {
		b.remove(e)
	}
	if b.byURI == nil {
		b.byURI = map[string]*list.Element{}
	}
	b.byURI[uri] = b.order.PushFront(&body{uri: uri, contents: contents, size: size, until: until})
	b.size += size
	for b.size > maxBodies {
		b.remove(b.order.Back())
	}
	return true
}

func (b *bodies) remove(e *list.Element) {
	have := b.order.Remove(e).(*body)
	delete(b.byURI, have.uri)
	b.size -= have.size
}

// drop forgets the body of uri: it changed, or we are no longer told.
func (b *bodies) drop(uri string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.byURI[uri]; e != nil {
		b.remove(e)
	}
	for r := range b.reading {
		r.changed = r.changed || r.uri == uri
	}
}

// gap forgets the bodies that only notifications keep fresh: some may have
// been missed.
func (b *bodies) gap() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.byURI {
		if e.Value.(*body).until.IsZero() {
			b.remove(e)
		}
	}
	for r := range b.reading {
		r.unheard = true
	}
}

// clear forgets all bodies.
func (b *bodies) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byURI, b.size = nil, 0
	b.order.Init()
	for r := range b.reading {
		r.changed = true
	}
}
