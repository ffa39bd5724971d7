package mcp

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxBodies    = 4 << 20   // bytes of bodies kept per server
	maxBodyBytes = 512 << 10 // of one; longer ones are fetched each time
)

// bodies keeps what was read of a server's resources: what is fresh serves
// instead of a read, what is not where a read fails. The least recently used
// give way. Its zero value is empty.
type bodies struct {
	mu      sync.Mutex
	byURI   map[string]*list.Element   // of *body
	byPart  map[string][]*list.Element // those that hold a content of this URI beside their own
	order   list.List                  // most recently used first
	size    int
	reading map[*bodyRead]bool // the fetches under way
}

type body struct {
	uri      string
	contents []Content
	size     int
	at       time.Time // when it came
	told     bool      // the server told of its changes since before it was asked for
	age      freshness
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
	if !have.age.freshBody(now, have.told) {
		return nil
	}
	b.order.MoveToFront(e)
	return have.contents
}

// last returns the body of uri that came last, however old it is, and when it
// came; nil: there is none.
func (b *bodies) last(uri string) ([]Content, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.byURI[uri]
	if e == nil {
		return nil, time.Time{}
	}
	b.order.MoveToFront(e)
	have := e.Value.(*body)
	return have.contents, have.at
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

// fetched is what a fetch gave.
type fetched struct {
	contents []Content
	life     lifetime
	told     bool // the server told of changes since before the fetch
	keep     bool // it may be held
	at       time.Time
}

// end closes what begin opened, and reports whether the URI was left alone
// meanwhile.
func (b *bodies) end(r *bodyRead, is fetched) (undisturbed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.reading, r)
	if r.changed || !is.keep {
		return !r.changed
	}
	if e := b.byURI[r.uri]; e != nil {
		b.remove(e)
	}
	size := len(r.uri)
	for i := range is.contents {
		size += 128 + len(is.contents[i].Text) + len(is.contents[i].Blob)
	}
	if size > maxBodyBytes {
		return true
	}
	have := &body{uri: r.uri, contents: is.contents, size: size, at: is.at, told: is.told && !r.unheard}
	have.age.came(0, is.life)
	b.add(have)
	for b.size > maxBodies {
		b.remove(b.order.Back())
	}
	return true
}

func (b *bodies) add(have *body) {
	if b.byURI == nil {
		b.byURI, b.byPart = map[string]*list.Element{}, map[string][]*list.Element{}
	}
	e := b.order.PushFront(have)
	b.byURI[have.uri] = e
	for i := range have.contents {
		if part := have.contents[i].URI; part != have.uri && !slices.Contains(b.byPart[part], e) {
			b.byPart[part] = append(b.byPart[part], e)
		}
	}
	b.size += have.size
}

func (b *bodies) remove(e *list.Element) {
	have := b.order.Remove(e).(*body)
	delete(b.byURI, have.uri)
	for i := range have.contents {
		part := have.contents[i].URI
		if left := slices.DeleteFunc(b.byPart[part], func(other *list.Element) bool { return other == e }); len(left) > 0 {
			b.byPart[part] = left
		} else {
			delete(b.byPart, part)
		}
	}
	b.size -= have.size
}

// changed notes an update of uri, or that we are no longer told of it. What
// holds it as a part, and what it lies below, changed as well: an update may be
// of "a sub-resource of the one that the client actually subscribed to"
// (2025-11-25, resources/updated).
func (b *bodies) changed(uri string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.reading {
		r.changed = r.changed || r.uri == uri || below(uri, r.uri)
	}
	for _, e := range b.byPart[uri] {
		e.Value.(*body).age.changed()
	}
	for above := uri; above != ""; {
		if e := b.byURI[above]; e != nil {
			e.Value.(*body).age.changed()
		}
		if last := len(above) - 1; above[last] == '/' { // file://a/ lies below file://a as well
			above = above[:last]
		} else {
			above = above[:strings.LastIndexByte(above, '/')+1]
		}
	}
}

// below reports whether uri lies below another one.
func below(uri, above string) bool {
	return strings.HasPrefix(uri, above) && above != "" && (above[len(above)-1] == '/' || len(uri) > len(above) && uri[len(above)] == '/')
}

// gap ends the freshness of the bodies that only notifications keep fresh:
// some may have been missed.
func (b *bodies) gap() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for e := b.order.Front(); e != nil; e = e.Next() {
		e.Value.(*body).told = false
	}
	for r := range b.reading {
		r.unheard = true
	}
}

// stale ends the freshness of all bodies.
func (b *bodies) stale() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for e := b.order.Front(); e != nil; e = e.Next() {
		e.Value.(*body).age.changed()
	}
	for r := range b.reading {
		r.changed = true
	}
}

// forgetPrivate forgets the bodies that are not the same for every user, and
// ends the freshness of the others.
func (b *bodies) forgetPrivate() {
	b.stale()
	b.mu.Lock()
	defer b.mu.Unlock()
	for e := b.order.Front(); e != nil; {
		next := e.Next()
		if !e.Value.(*body).age.life.public {
			b.remove(e)
		}
		e = next
	}
}
