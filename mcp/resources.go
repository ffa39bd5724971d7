package mcp

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxStaleMarks bounds the URIs that a server may say have changed; more are
// not remembered, which only their [Resource.Stale] shows.
const maxStaleMarks = 4096

// serverSnapshot is what completion needs of one server. It is never changed,
// only replaced as a whole; version grows with each.
type serverSnapshot struct {
	name, mention string
	resources     []Resource
	templates     []Template
	version       uint64
	// index is what was made of the last lists; see resourceCache.reindex.
	index *index
}

// resourceCache keeps a server's lists of resources and templates, what its
// notifications said about them, and the bodies that are known to be fresh.
// The lists are replaced as a whole: the old ones serve until then.
type resourceCache struct {
	snap   atomic.Pointer[serverSnapshot]
	index  atomic.Pointer[index]
	bodies bodies

	mu      sync.Mutex
	fetched bool
	changes uint64          // how often the server said that the list changed
	seen    uint64          // changes when the list that we hold was asked for
	offline bool            // the connection is down
	n       uint64          // fetches that succeeded
	until   time.Time       // the server said how long the list is fresh; zero: it did not
	updated map[string]bool // URIs that changed since they were last read
}

func newResourceCache(name string) *resourceCache {
	c := &resourceCache{updated: map[string]bool{}}
	c.snap.Store(&serverSnapshot{name: name, mention: name})
	return c
}

// rename gives the server another mention name.
func (c *resourceCache) rename(mention string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.snap.Load(); old.mention != mention {
		next := *old
		next.mention = mention
		next.version++
		c.snap.Store(&next)
	}
}

func (c *resourceCache) staleList() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
}

// staleURI notes resources/updated: the body is fetched again at the next read.
func (c *resourceCache) staleURI(uri string) {
	c.bodies.drop(uri)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.updated) < maxStaleMarks {
		c.updated[uri] = true
	}
}

// read notes that uri was fetched.
func (c *resourceCache) read(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.updated, uri)
}

// setOffline notes that the connection is down or up again; what its
// notifications kept fresh is not.
func (c *resourceCache) setOffline(offline bool) {
	c.bodies.clear()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offline = offline
	c.changes++
}

// asking returns what to give to replace when the answer is there.
func (c *resourceCache) asking() (changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// replace puts new lists in place of the old and reports the difference.
func (c *resourceCache) replace(resources []Resource, templates []Template, changes uint64, until time.Time) (d difference, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.snap.Load()
	d = diff(old.resources, resources, func(r *Resource) string { return r.URI }, sameResource)
	if !slices.Equal(old.templates, templates) {
		t := diff(old.templates, templates, func(t *Template) string { return t.URITemplate }, func(a, b *Template) bool { return *a == *b })
		d = d.and(t)
	}
	first = !c.fetched
	c.fetched, c.seen, c.until = true, changes, until
	c.n++
	if first || d.any {
		c.snap.Store(&serverSnapshot{name: old.name, mention: old.mention, resources: slices.Clip(resources), templates: templates, version: old.version + 1})
	}
	return d, first
}

// reindex makes the lists searchable. It takes a while for long ones (0.1 s for
// 100,000 resources) and belongs where they were fetched; until it is done the
// old ones are searched.
func (c *resourceCache) reindex() {
	snap := c.snap.Load()
	if x := c.index.Load(); x == nil || x.version != snap.version {
		c.index.Store(newIndex(snap))
	}
}

func sameResource(a, b *Resource) bool {
	return a.URI == b.URI && a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && a.MIMEType == b.MIMEType &&
		a.Priority == b.Priority && a.Modified == b.Modified && slices.Equal(a.Audience, b.Audience) &&
		(a.Size == nil) == (b.Size == nil) && (a.Size == nil || *a.Size == *b.Size)
}

// stale reports whether the server said that the list changed since it was
// fetched, or it was not fetched yet.
func (c *resourceCache) stale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.fetched || c.old()
}

// old reports whether the list is known to be out of date; c.mu is held.
func (c *resourceCache) old() bool {
	return c.seen != c.changes || !c.until.IsZero() && time.Now().After(c.until)
}

// fetches counts the lists that were fetched.
func (c *resourceCache) fetches() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// count returns how many resources are held, and whether they were fetched.
func (c *resourceCache) count() (n int, fetched bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.snap.Load().resources), c.fetched
}

// list returns the lists as they are held, never blocking on a server.
func (c *resourceCache) list() ResourceList {
	snap := c.snap.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := ResourceList{Resources: snap.resources, Templates: snap.templates, Fetched: c.fetched, Stale: c.fetched && (c.offline || c.old())}
	if len(c.updated) > 0 {
		out.Resources = slices.Clone(snap.resources)
		for i := range out.Resources {
			out.Resources[i].Stale = c.updated[out.Resources[i].URI]
		}
	}
	return out
}

// difference is what changed between two fetches of a list.
type difference struct {
	any           bool // also where only the fields of an item differ
	added         []string
	addedN, goneN int
}

const namedDifferences = 3

func diff[T any](old, now []T, key func(*T) string, same func(a, b *T) bool) difference {
	var d difference
	before := make(map[string]*T, len(old))
	for i := range old {
		before[key(&old[i])] = &old[i]
	}
	for i := range now {
		k := key(&now[i])
		was, ok := before[k]
		if ok {
			delete(before, k)
			d.any = d.any || !same(was, &now[i])
			continue
		}
		if d.addedN++; len(d.added) < namedDifferences {
			d.added = append(d.added, k)
		}
	}
	d.goneN = len(before)
	d.any = d.any || d.addedN > 0 || d.goneN > 0
	return d
}

func (d difference) and(e difference) difference {
	d.any = d.any || e.any
	d.added = append(slices.Clip(d.added), e.added...)
	d.added = d.added[:min(len(d.added), namedDifferences)]
	d.addedN += e.addedN
	d.goneN += e.goneN
	return d
}

func (d difference) event(server string, kind EventKind) Event {
	return Event{Server: server, Kind: kind, Added: d.added, AddedN: d.addedN, RemovedN: d.goneN}
}
