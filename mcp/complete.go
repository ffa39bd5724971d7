package mcp

import (
	"cmp"
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

// Candidate is one completion of a mention.
type Candidate struct {
	Server   string // configured name
	Mention  string // mention name
	Resource *Resource
	Template *Template // set instead of Resource for a template
	// Insert is the whole mention to insert, '@' included, quoted where the
	// URI needs it. For a server alone it is "@name:".
	Insert string
	Label  string // title, else name, else URI
}

// hit is what a query matched.
type hit struct {
	server   *serverSnapshot
	resource *Resource
	template *Template // neither of the two: the server itself
	score    int       // of tierFuzzy
	used     uint64    // when, see recency; 0 is never
}

// completer collects the hits of one query.
type completer struct {
	servers []serverSnapshot
	recent  map[usedKey]uint64
	limit   int
	query   string // as typed, less the server's name
	folded  string
	hits    [tiers][]hit
	all     bool // nothing that matches was left out
}

// complete ranks candidates; see [Manager.Complete]. It only reads memory.
func complete(servers []serverSnapshot, recent map[usedKey]uint64, prefix string, limit int) (items []Candidate, incomplete bool) {
	if limit <= 0 {
		limit = maxCandidates
	}
	if len(prefix) > maxQuery || strings.ContainsFunc(prefix, isControl) {
		return nil, false
	}
	c := completer{servers: servers, recent: recent, limit: limit, query: prefix, all: true}
	named := c.scope()
	c.folded = fold(c.query, maxQuery)
	if !named {
		c.names()
	}
	for i := range c.servers {
		c.search(&c.servers[i])
	}
	c.loose()
	if !named && c.query != "" {
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
	// The opening of a quoted URI.
	c.query = strings.TrimPrefix(rest, "<")
	if c.query == rest {
		c.query = strings.TrimPrefix(rest, `"`)
	}
	return true
}

// names offers the servers that have something to offer.
func (c *completer) names() {
	for i := range c.servers {
		s := &c.servers[i]
		if s.index == nil || len(s.index.rank)+len(s.index.templates) == 0 {
			continue
		}
		name := strings.ToLower(s.mention)
		t := tierExact
		if c.folded != "" {
			t = bestTier(string(fieldName)+name, c.folded)
		}
		if t < tierInside && inOrder(name, c.folded) {
			t = tierFuzzy
		}
		if t >= tierFuzzy {
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
	c.used(s)
	add := func(i int, t tier) {
		if r := x.resource(i); len(c.recent) == 0 || c.recent[usedKey{s.name, r.URI}] == 0 {
			c.hits[t] = append(c.hits[t], hit{server: s, resource: r})
		}
	}
	if c.folded == "" {
		for i := range min(len(x.rank), c.limit) {
			add(i, tierExact)
		}
		c.all = c.all && len(x.rank) <= c.limit
		return
	}
	if !x.search(c.folded, c.limit, add) {
		c.all = false
	}
}

// used finds the matches among what was mentioned before: they stand first,
// wherever they stand in the list.
func (c *completer) used(s *serverSnapshot) {
	for key, when := range c.recent {
		if key.server != s.name {
			continue
		}
		place, ok := s.index.known.find(key.uri)
		if !ok {
			continue
		}
		r := &s.index.resources[place]
		if !completable(r.URI, r.Audience) {
			continue
		}
		var fields strings.Builder
		writeFields(&fields, r.URI, r.Name, r.Title)
		t := tierExact
		if c.folded != "" {
			t = bestTier(fields.String(), c.folded)
		}
		if t < tierInside && inOrder(fields.String(), c.folded) {
			t = tierFuzzy
		}
		if t >= tierFuzzy {
			c.hits[t] = append(c.hits[t], hit{server: s, resource: r, used: when})
		}
	}
}

// templates finds those that hold the query, and those whose variable the
// query has come to.
func (c *completer) templates(s *serverSnapshot) {
	list := s.index.templates
	if len(list) > maxTemplates {
		list, c.all = list[:maxTemplates], false
	}
	for i := range list {
		tpl := &list[i]
		var fields strings.Builder
		writeFields(&fields, tpl.URITemplate, tpl.Name, tpl.Title)
		t := tierExact
		switch literal := fold(literalPrefix(tpl.URITemplate), maxIndexedURI); {
		case c.folded == "":
		case literal != "" && strings.HasPrefix(c.folded, literal):
			t = tierPrefix
		default:
			t = bestTier(fields.String(), c.folded)
		}
		if t < tierInside && inOrder(fields.String(), c.folded) {
			t = tierFuzzy
		}
		if t >= tierFuzzy {
			c.hits[t] = append(c.hits[t], hit{server: s, template: tpl})
		}
	}
}

// literalPrefix is what stands before a template's first variable.
func literalPrefix(template string) string {
	literal, _, _ := strings.Cut(template, "{")
	return literal
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
	if total > smallList && c.count() >= fewMatches {
		c.all = false
		return
	}
	known := c.found()
	for i := range c.servers {
		s := &c.servers[i]
		if s.index == nil {
			continue
		}
		all := s.index.loose(c.folded, max(maxLoose/len(c.servers), smallList), max(maxFuzzy/len(c.servers), smallList),
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
	for _, hits := range c.hits {
		for _, h := range hits {
			if h.resource != nil {
				known[h.resource] = true
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
		if c.count() >= c.limit {
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

// count is how many hits there are.
func (c *completer) count() int {
	n := 0
	for _, hits := range c.hits {
		n += len(hits)
	}
	return n
}

// best makes the candidates, the best tiers first.
func (c *completer) best() (items []Candidate, incomplete bool) {
	for t := tiers - 1; t >= 0; t-- {
		hits := c.hits[t]
		if len(hits) > 0 && len(items) == c.limit {
			return items, true
		}
		slices.SortFunc(hits, compareHits)
		if room := c.limit - len(items); len(hits) > room {
			hits, c.all = hits[:room], false
		}
		for i := range hits {
			items = append(items, c.candidate(&hits[i]))
		}
	}
	return items, !c.all
}

// compareHits orders the hits of one tier: what was used last, servers, the
// better score, then as compareRank does.
func compareHits(a, b hit) int {
	if n := cmp.Or(cmp.Compare(b.used, a.used), cmp.Compare(a.kind(), b.kind()), cmp.Compare(b.score, a.score)); n != 0 {
		return n
	}
	if a.resource != nil {
		if n := compareRank(a.resource, b.resource); n != 0 {
			return n
		}
	}
	return strings.Compare(a.server.name, b.server.name)
}

func (h *hit) kind() int {
	switch {
	case h.resource != nil:
		return 1
	case h.template != nil:
		return 2
	default:
		return 0
	}
}

func (c *completer) candidate(h *hit) Candidate {
	item := Candidate{Server: h.server.name, Mention: h.server.mention, Resource: h.resource, Template: h.template}
	switch {
	case h.resource != nil:
		item.Label = label(h.resource.Title, h.resource.Name, h.resource.URI)
		item.Insert = mentionText(item.Mention, h.resource.URI)
	case h.template != nil:
		item.Label = label(h.template.Title, h.template.Name, h.template.URITemplate)
		item.Insert = c.insertTemplate(item.Mention, h.template.URITemplate)
	default:
		item.Label = item.Mention
		item.Insert = "@" + item.Mention + ":"
	}
	return item
}

// insertTemplate writes what is certain of a template's URI, and keeps what
// was typed of the rest.
func (c *completer) insertTemplate(mention, template string) string {
	literal := literalPrefix(template)
	if literal == template {
		return mentionText(mention, template)
	}
	if literal != "" && strings.HasPrefix(c.query, literal) {
		literal = c.query
	}
	return "@" + mention + ":" + literal
}
