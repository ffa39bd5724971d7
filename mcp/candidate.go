package mcp

import (
	"cmp"
	"slices"
	"strings"
)

// Candidate is one completion of a mention.
type Candidate struct {
	Server   string // configured name
	Mention  string // mention name
	Resource *Resource
	Template *Template // set instead of Resource for a template, with a value of its variable or without
	// Insert is the whole mention to insert, '@' included, quoted where the
	// URI needs it. For a server alone it is "@name:", for a template with
	// variables to come what of its URI is certain.
	Insert string
	Label  string // title, else name, else URI; of a template with a value: the value
}

// hit is what a query matched.
type hit struct {
	server   *serverSnapshot
	resource *Resource
	template *Template // neither of the two: the server itself
	label    string    // of a template, with a value or without
	insert   string    // likewise
	score    int       // of tierFuzzy
	used     uint64    // when, see recency; 0 is never
}

// best makes the candidates, the best tiers first.
func (c *completer) best() (items []Candidate, incomplete bool) {
	for t := tiers - 1; t >= 0; t-- {
		slices.SortFunc(c.hits[t], func(a, b hit) int { return compareHits(&a, &b) })
		runs := append(c.runs[t], c.hits[t])
		for {
			h := takeBest(runs)
			if h == nil {
				break
			}
			if len(items) == c.limit {
				return items, true
			}
			items = append(items, c.candidate(h))
		}
	}
	return items, !c.all
}

// takeBest takes the first of what runs in order hold, nil if that is nothing.
func takeBest(runs [][]hit) *hit {
	least := -1
	for i, run := range runs {
		if len(run) > 0 && (least < 0 || compareHits(&run[0], &runs[least][0]) < 0) {
			least = i
		}
	}
	if least < 0 {
		return nil
	}
	h := &runs[least][0]
	runs[least] = runs[least][1:]
	return h
}

// compareHits orders the hits of one tier: what was used last, servers, the
// better score, then as compareRank does.
func compareHits(a, b *hit) int {
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
		item.Insert = MentionText(item.Mention, h.resource.URI)
	case h.template != nil:
		item.Label, item.Insert = h.label, h.insert
	default:
		item.Label = item.Mention
		item.Insert = "@" + item.Mention + ":"
	}
	return item
}
