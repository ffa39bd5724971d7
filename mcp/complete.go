package mcp

import (
	"slices"
	"strings"
)

const (
	// maxCandidates is how many candidates are offered when nobody says.
	maxCandidates = 100
	// maxQuery is the length in bytes of a query beyond which nothing matches.
	maxQuery = 1024
	// maxTemplates is how many templates of a server are offered.
	maxTemplates = 200
)

// completer collects the hits of one query.
type completer struct {
	servers []serverSnapshot
	recent  map[usedKey]uint64
	limit   int
	query   string // as typed, less the server's name and opener
	opener  string // of a quoted URI: '<', '"' or nothing
	named   bool   // the query names the server, which alone is searched
	round   uint64 // see [completions]
	typed   []*typedInto
	offered map[string]bool // URIs of templates with a value
	folded  string
	hits    [tiers][]hit   // in no order
	runs    [tiers][][]hit // each in order
	used    map[*Resource]bool
	all     bool // nothing that matches was left out
}

// complete ranks candidates; see [Manager.Complete]. It only reads memory.
func complete(servers []serverSnapshot, recent map[usedKey]uint64, prefix string, limit int) (items []Candidate, incomplete bool) {
	c := newCompleter(servers, recent, prefix, limit)
	if c == nil {
		return nil, false
	}
	return c.rank()
}

// newCompleter reads a query; nil for one that nothing matches.
func newCompleter(servers []serverSnapshot, recent map[usedKey]uint64, prefix string, limit int) *completer {
	if limit <= 0 {
		limit = maxCandidates
	}
	if len(prefix) > maxQuery || strings.ContainsFunc(prefix, isControl) {
		return nil
	}
	c := &completer{servers: servers, recent: recent, limit: limit, query: prefix, all: true}
	c.named = c.scope()
	c.folded = fold(c.query, maxQuery)
	c.typeInto()
	return c
}

// rank searches and ranks.
func (c *completer) rank() (items []Candidate, incomplete bool) {
	if !c.named {
		c.names()
	}
	c.recentlyUsed()
	c.typedWhole()
	for i := range c.servers {
		c.search(&c.servers[i])
	}
	c.loose()
	if !c.named && c.query != "" {
		c.ofServers()
	}
	return c.best()
}

// scope narrows the query to the server it names, if it does.
func (c *completer) scope() bool {
	name, rest, ok := strings.Cut(c.query, ":")
	if !ok {
		return false
	}
	same := func(s serverSnapshot) bool { return s.mention == name }
	i := slices.IndexFunc(c.servers, same)
	if i < 0 {
		i = slices.IndexFunc(c.servers, func(s serverSnapshot) bool { return strings.EqualFold(s.mention, name) })
	}
	if i < 0 {
		return false
	}
	c.servers = c.servers[i : i+1]
	if rest != "" && (rest[0] == '<' || rest[0] == '"') {
		c.opener, rest = rest[:1], rest[1:]
	}
	c.query = rest
	return true
}

// names offers the servers that have something to offer.
func (c *completer) names() {
	for i := range c.servers {
		s := &c.servers[i]
		if s.index == nil || len(s.index.rank)+len(s.index.templates) == 0 {
			continue
		}
		if t, ok := c.judge("", s.mention, ""); ok {
			c.hits[t] = append(c.hits[t], hit{server: s})
		}
	}
}

// search finds what holds the query in one server.
func (c *completer) search(s *serverSnapshot) {
	x := s.index
	if x == nil {
		// Its list came this moment.
		c.all = c.all && len(s.resources) == 0
		return
	}
	c.templates(s)
	var runs [tiers][]hit
	add := func(i int, t tier) {
		if r := x.resource(i); !c.used[r] {
			runs[t] = append(runs[t], hit{server: s, resource: r})
		}
	}
	if c.folded == "" {
		for i := range min(len(x.rank), c.limit) {
			add(i, tierExact)
		}
		c.all = c.all && len(x.rank) <= c.limit
	} else if !x.search(c.folded, c.limit, c.floor(), add) {
		c.all = false
	}
	for t, run := range runs {
		if len(run) > 0 {
			c.runs[t] = append(c.runs[t], run)
		}
	}
}

// floor is the lowest tier that there is still room for.
func (c *completer) floor() tier {
	n := 0
	for t := tierExact; t > tierInside; t-- {
		if n += c.count(t); n >= c.limit {
			return t
		}
	}
	return tierInside
}

// countFrom is how many hits there are from a tier on.
func (c *completer) countFrom(least tier) int {
	n := 0
	for t := least; t < tiers; t++ {
		n += c.count(t)
	}
	return n
}

func (c *completer) count(t tier) int {
	n := len(c.hits[t])
	for _, run := range c.runs[t] {
		n += len(run)
	}
	return n
}

// recentlyUsed finds the matches among what was mentioned before: they stand
// first, wherever they stand in the list.
func (c *completer) recentlyUsed() {
	c.used = make(map[*Resource]bool, len(c.recent))
	for key, when := range c.recent {
		i := slices.IndexFunc(c.servers, func(s serverSnapshot) bool { return s.name == key.server })
		if i < 0 || c.servers[i].index == nil {
			continue
		}
		s := &c.servers[i]
		place, ok := s.index.known.find(key.uri)
		if !ok {
			continue
		}
		r := &s.index.resources[place]
		if t, ok := c.judge(r.URI, r.Name, r.Title); ok && completable(r.URI, r.Audience) {
			c.hits[t] = append(c.hits[t], hit{server: s, resource: r, used: when})
			c.used[r] = true
		}
	}
}

// typedWhole finds the resource whose URI is all of the query: a hundred that
// only begin so may stand before it in the list.
func (c *completer) typedWhole() {
	if !c.named || c.servers[0].index == nil {
		return
	}
	s := &c.servers[0]
	place, ok := s.index.known.find(c.query)
	if !ok {
		return
	}
	if r := &s.index.resources[place]; !c.used[r] && completable(r.URI, r.Audience) {
		c.hits[tierExact] = append(c.hits[tierExact], hit{server: s, resource: r})
		c.used[r] = true
	}
}

// judge says how well the query matches one resource or template.
func (c *completer) judge(uri, name, title string) (tier, bool) {
	if c.folded == "" {
		return tierExact, true
	}
	var fields strings.Builder
	writeFields(&fields, uri, name, title)
	t := bestTier(fields.String(), c.folded)
	if t < tierInside && inOrder(fields.String(), c.folded) {
		t = tierFuzzy
	}
	return t, t >= tierFuzzy
}

// loose looks for the query's letters in order where few hold it whole, and
// where the lists are small.
func (c *completer) loose() {
	if c.folded == "" {
		return
	}
	total := 0
	for i := range c.servers {
		if x := c.servers[i].index; x != nil {
			total += len(x.rank)
		}
	}
	if total == 0 {
		return
	}
	if total > smallList && c.countFrom(tierFuzzy) >= fewMatches {
		c.all = false
		return
	}
	known := c.found()
	look, score := maxLoose/len(c.servers)+1, maxFuzzy/len(c.servers)+1
	if total <= smallList {
		look, score = smallList, smallList
	}
	for i := range c.servers {
		s := &c.servers[i]
		if s.index == nil {
			continue
		}
		all := s.index.loose(c.folded, look, score,
			func(i int) bool { return known[s.index.resource(i)] },
			func(i, score int) {
				c.hits[tierFuzzy] = append(c.hits[tierFuzzy], hit{server: s, resource: s.index.resource(i), score: score})
			})
		c.all = c.all && all
	}
}

// found returns the resources that are hits already.
func (c *completer) found() map[*Resource]bool {
	known := map[*Resource]bool{}
	for t := range tiers {
		for _, run := range append(c.runs[t], c.hits[t]) {
			for _, h := range run {
				if h.resource != nil {
					known[h.resource] = true
				}
			}
		}
	}
	return known
}

// ofServers offers what the servers have whose names the query begins, where
// there is room.
func (c *completer) ofServers() {
	var known map[*Resource]bool
	for i := range c.servers {
		s := &c.servers[i]
		if s.index == nil || len(s.index.rank) == 0 || !strings.HasPrefix(strings.ToLower(s.mention), c.folded) {
			continue
		}
		if c.countFrom(tierFuzzy) >= c.limit {
			c.all = false
			return
		}
		if known == nil {
			known = c.found()
		}
		for i := range min(len(s.index.rank), c.limit) {
			if r := s.index.resource(i); !known[r] {
				c.hits[tierServer] = append(c.hits[tierServer], hit{server: s, resource: r})
			}
		}
		c.all = c.all && len(s.index.rank) <= c.limit
	}
}
