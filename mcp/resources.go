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
// notifications said about them, and the bodies that were read. The lists are
// replaced as a whole: the old ones serve until then.
type resourceCache struct {
	snap   atomic.Pointer[serverSnapshot]
	index  atomic.Pointer[index]
	bodies bodies

	mu        sync.Mutex
	resources freshness // of the lists in snap, which change together
	templates freshness
	n         uint64          // fetches that ended
	updated   map[string]bool // URIs that changed since they were last read
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

// staleList notes list_changed, which is of both lists.
func (c *resourceCache) staleList() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resources.changed()
	c.templates.changed()
}

// staleURI notes resources/updated: the body is fetched again at the next read.
func (c *resourceCache) staleURI(uri string) {
	c.bodies.changed(uri)
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

// reconnected notes that the connection is down or up again: what changed
// meanwhile was not told, and another process may say otherwise.
func (c *resourceCache) reconnected() {
	c.bodies.stale()
	c.staleList()
}

// forgetPrivate forgets what is not the same for every user (cacheScope).
func (c *resourceCache) forgetPrivate() {
	c.bodies.forgetPrivate()
	c.mu.Lock()
	next := *c.snap.Load()
	if c.resources.forgetPrivate() {
		next.resources = nil
	}
	if c.templates.forgetPrivate() {
		next.templates = nil
	}
	c.updated = map[string]bool{}
	next.version++
	c.snap.Store(&next)
	c.mu.Unlock()
	c.reindex()
}

// listed is one list as it was fetched.
type listed[T any] struct {
	items  []T // nil: it was not
	asked  uint64
	life   lifetime
	inPart bool // a beginning: the rest could not be fetched
}

// wanted returns which of the lists have to be asked for, and begins that; told
// as in freshness.
func (c *resourceCache) wanted(now time.Time, told bool) (resources, templates bool, asked uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.resources.freshList(now, told), !c.templates.freshList(now, told), c.resources.asking(now)
}

// replace puts new lists in place of the old and reports the difference; first:
// there were no resources before. A beginning of a list replaces none.
func (c *resourceCache) replace(resources listed[Resource], templates listed[Template]) (d difference, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	old := c.snap.Load()
	next := *old
	first = !c.resources.held
	if take(&c.resources, resources) {
		d = diff(old.resources, resources.items, func(r *Resource) string { return r.URI }, sameResource)
		next.resources = slices.Clip(resources.items)
	}
	if take(&c.templates, templates) && !slices.Equal(old.templates, templates.items) {
		d = d.and(diff(old.templates, templates.items, func(t *Template) string { return t.URITemplate }, func(a, b *Template) bool { return *a == *b }))
		next.templates = templates.items
	}
	if d.any || first && c.resources.held {
		next.version++
		c.snap.Store(&next)
	}
	return d, first
}

// take notes a list that came, and reports whether it is to be held: a
// beginning replaces nothing, nor does what another user asked for.
func take[T any](f *freshness, list listed[T]) bool {
	switch {
	case list.items == nil, list.asked < f.floor, list.inPart && f.held:
		return false
	case list.inPart:
		f.cameInPart(list.life)
	default:
		f.came(list.asked, list.life)
	}
	return true
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

// fetches counts the fetches that ended.
func (c *resourceCache) fetches() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// count returns how many resources are held, and whether they were fetched.
func (c *resourceCache) count() (n int, fetched bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.snap.Load().resources), c.resources.held
}

// list returns the lists as they are held, never blocking on a server.
func (c *resourceCache) list() ResourceList {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	snap := c.snap.Load()
	out := ResourceList{Resources: snap.resources, Templates: snap.templates, Fetched: c.resources.held, Stale: c.resources.old(now) || c.templates.old(now)}
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
