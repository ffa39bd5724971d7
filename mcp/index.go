package mcp

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	// maxIndexedURI and maxIndexedName are how much of a resource's texts is
	// searched, in bytes.
	maxIndexedURI  = 1024
	maxIndexedName = 256
	// fieldURI begins a resource in the searched text, fieldName its name and
	// its title. Neither stands in a field.
	fieldURI  = '\x00'
	fieldName = '\x01'
)

// indexedTemplate is a template that can be completed.
type indexedTemplate struct {
	Template
	uri uriTemplate // without steps: what the server gave is no template
}

// index is what completion searches of one server's resources. It is made
// where a list arrives, and never changed.
type index struct {
	version   uint64 // of the snapshot that it was made from
	resources []Resource
	templates []indexedTemplate
	known     *knownURIs
	// rank holds the places in resources of what can be completed, by priority
	// and label; text the folded fields of each in this order, start where each
	// begins (one more: the end), letters which bytes each is made of.
	rank    []int32
	text    string
	start   []int32
	letters []uint64
}

func newIndex(s *serverSnapshot) *index {
	x := &index{version: s.version, resources: s.resources, known: newKnownURIs(s.resources)}
	for _, t := range s.templates {
		if completable(t.URITemplate, nil) {
			uri, _ := parseURITemplate(t.URITemplate)
			x.templates = append(x.templates, indexedTemplate{t, uri})
		}
	}
	x.known.templates = x.templates
	for i := range s.resources {
		if completable(s.resources[i].URI, s.resources[i].Audience) {
			x.rank = append(x.rank, int32(i))
		}
	}
	slices.SortFunc(x.rank, func(a, b int32) int { return compareRank(&s.resources[a], &s.resources[b]) })
	x.start = make([]int32, 1, len(x.rank)+1)
	x.letters = make([]uint64, 0, len(x.rank))
	var text strings.Builder
	for i, place := range x.rank {
		r := &s.resources[place]
		from := text.Len()
		writeFields(&text, r.URI, r.Name, r.Title)
		if text.Len() > math.MaxInt32 { // the rest is not searched
			x.rank = x.rank[:i]
			break
		}
		x.start = append(x.start, int32(text.Len()))
		x.letters = append(x.letters, letterSet(text.String()[from:]))
	}
	x.text = text.String()[:x.start[len(x.rank)]]
	return x
}

// completable reports whether a resource is offered: not a user interface of a
// server's, not one for the user's eyes only, nothing that no line can hold.
func completable(uri string, audience []string) bool {
	r := Resource{URI: uri, Audience: audience}
	return uri != "" && !r.UserInterface() && !r.ForUserOnly() && !strings.ContainsFunc(uri, isControl)
}

// UserInterface reports a resource that is a page for a host to show (MCP
// Apps), often of megabytes.
func (r *Resource) UserInterface() bool {
	return len(r.URI) >= 5 && strings.EqualFold(r.URI[:5], "ui://")
}

// ForUserOnly reports a resource that is meant for the user alone
// (annotations.audience).
func (r *Resource) ForUserOnly() bool {
	return len(r.Audience) > 0 && !slices.ContainsFunc(r.Audience, func(a string) bool { return a != "user" })
}

func isControl(r rune) bool {
	return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085'
}

// compareRank orders what matches equally well.
func compareRank(a, b *Resource) int {
	if a.Priority != b.Priority {
		return cmp.Compare(b.Priority, a.Priority)
	}
	if c := strings.Compare(label(a.Title, a.Name, a.URI), label(b.Title, b.Name, b.URI)); c != 0 {
		return c
	}
	return strings.Compare(a.URI, b.URI)
}

// label is what a person sees of a resource or template.
func label(title, name, uri string) string { return cmp.Or(title, name, uri) }

// writeFields writes the texts that a resource is found by. A name that the
// URI ends with is not written twice.
func writeFields(text *strings.Builder, uri, name, title string) {
	text.WriteByte(fieldURI)
	folded := fold(uri, maxIndexedURI)
	text.WriteString(folded)
	for i, field := range []string{name, title} {
		field = fold(field, maxIndexedName)
		if field == "" || strings.HasSuffix(folded, "/"+field) || i == 1 && title == name {
			continue
		}
		text.WriteByte(fieldName)
		text.WriteString(field)
	}
}

// fold makes a text comparable without its case, n bytes of it at most.
func fold(s string, n int) string {
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	s = strings.ToLower(s)
	if strings.ContainsFunc(s, isControl) {
		s = strings.Map(func(r rune) rune {
			if isControl(r) {
				return ' '
			}
			return r
		}, s)
	}
	return s
}

// letterSet tells texts apart that cannot hold each other's letters.
func letterSet(s string) uint64 {
	var set uint64
	for i := range len(s) {
		set |= 1 << letterBit(s[i])
	}
	return set
}

func letterBit(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return int(c - 'a')
	case '0' <= c && c <= '9':
		return 26 + int(c-'0')
	default:
		return 36 + int(c)%28
	}
}

// record is the searched text of the i-th resource in rank order.
func (x *index) record(i int) string { return x.text[x.start[i]:x.start[i+1]] }

// resource is the i-th in rank order.
func (x *index) resource(i int) *Resource { return &x.resources[x.rank[i]] }
