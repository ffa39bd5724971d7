package mcp

import (
	"strings"

	"github.com/sahilm/fuzzy"
)

// tier is how well a query matches, the best last.
type tier int

const (
	tierServer tier = iota // belongs to a server whose name begins with the query
	tierFuzzy              // the query's letters in order
	tierInside             // the query inside a word
	tierWord               // at the start of a word, or the URI's scheme
	tierPrefix             // at the start of the name, of the URI, or of its last segment
	tierExact              // all of one of these
	tiers
)

const (
	// fewMatches is how many matches make a search for looser ones needless.
	fewMatches = 20
	// smallList is how many resources are searched for looser matches anyway.
	smallList = 256
	// maxLoose and maxFuzzy bound, over all servers, the resources that are
	// looked at for a query's letters in order, and those that are scored.
	maxLoose = 20_000
	maxFuzzy = 1000
	// maxFuzzyText is how much of a text is scored.
	maxFuzzyText = 256
)

// tierAt judges the match of q that begins at p in a text made of fields.
func tierAt(text string, p int, q string) tier {
	prev := text[p-1]
	if isWordByte(prev) {
		return tierInside
	}
	begins := false
	switch prev {
	case fieldName:
		begins = true
	case fieldURI:
		// All URIs of a server may have one scheme: it says nothing.
		begins = strings.ContainsRune(q, ':')
	case '/':
		begins = p >= 3 && text[p-3:p] == "://" || lastSegment(text[p+len(q):])
	}
	if !begins {
		return tierWord
	}
	if end := p + len(q); end == len(text) || text[end] == fieldURI || text[end] == fieldName {
		return tierExact
	}
	return tierPrefix
}

// lastSegment reports whether no '/' follows in the field.
func lastSegment(rest string) bool {
	for i := range len(rest) {
		switch rest[i] {
		case '/':
			return false
		case fieldURI, fieldName:
			return true
		}
	}
	return true
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c >= 0x80
}

// bestTier judges the best match of q in the fields of one resource; below
// tierInside there is none.
func bestTier(fields, q string) tier {
	best := tierFuzzy - 1
	for p := 1; p <= len(fields); p += max(len(q), 1) {
		i := strings.Index(fields[p:], q)
		if i < 0 {
			break
		}
		p += i
		best = max(best, tierAt(fields, p, q))
		if q == "" {
			break
		}
	}
	return best
}

// search finds the resources that hold q, at most limit of each tier from
// floor on, in rank order; a tier is of no use when there are limit better
// ones. all is false when there may be more.
func (x *index) search(q string, limit int, floor tier, found func(i int, t tier)) (all bool) {
	all = true
	var kept [tiers]int
	at, best := -1, tierInside // the resource that the last match is in, and its best
	end := 0
	keep := func() {
		switch {
		case at < 0:
		case kept[best] < limit:
			kept[best]++
			found(at, best)
		default:
			all = false
		}
	}
	for p := 1; p < len(x.text); p += len(q) {
		i := strings.Index(x.text[p:], q)
		if i < 0 {
			break
		}
		p += i
		t := tierAt(x.text, p, q)
		if t < floor || t == tierInside && kept[t] >= limit && p >= end {
			all = false // most matches of a short query end here
			continue
		}
		if p < end {
			best = max(best, t)
			continue
		}
		keep()
		switch good := kept[tierExact] + kept[tierPrefix]; {
		case good >= limit:
			return false
		case good+kept[tierWord] >= limit:
			floor = max(floor, tierWord)
		}
		at, best = x.at(p, at), t
		end = int(x.start[at+1])
	}
	keep()
	return all
}

// at finds the resource whose text holds p; it is not before from.
func (x *index) at(p, from int) int {
	i := max(from, 0)
	for int(x.start[i+1]) <= p {
		i++
	}
	return i
}

// loose finds the resources that have q's letters in order and are not known
// yet, with a score. It looks at no more than look of them and scores no more
// than score; all is false when that was not all.
func (x *index) loose(q string, look, score int, known func(i int) bool, found func(i, score int)) (all bool) {
	need := letterSet(q)
	var texts []string
	var places []int
	all = true
	for i, have := range x.letters {
		if have&need != need || known(i) {
			continue
		}
		if look == 0 || len(texts) == score {
			all = false
			break
		}
		look--
		text := x.record(i)[1:]
		if len(text) > maxFuzzyText {
			text = text[:maxFuzzyText]
		}
		if inOrder(text, q) {
			texts = append(texts, text)
			places = append(places, i)
		}
	}
	for _, m := range fuzzy.FindNoSort(q, texts) {
		found(places[m.Index], m.Score)
	}
	return all
}

// inOrder reports whether the bytes of q stand in text in this order.
func inOrder(text, q string) bool {
	for i := range len(q) {
		at := strings.IndexByte(text, q[i])
		if at < 0 {
			return false
		}
		text = text[at+1:]
	}
	return true
}
