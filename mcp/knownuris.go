package mcp

import (
	"slices"
	"sort"
	"strings"
)

// maxNested bounds how many listed URIs that are prefixes of each other are
// tried at one place.
const maxNested = 256

// maxTemplateURI is the length in bytes beyond which no URI is held against
// templates.
const maxTemplateURI = 2048

// knownURIs answers which listed URI a text starts with. Never changed; nil
// knows none.
type knownURIs struct {
	resources []Resource
	order     []int32           // places in resources, by URI
	above     []int32           // by place in order: that of the longest URI that is a prefix of this one; -1 for none
	templates []indexedTemplate // what else the server can read
}

func newKnownURIs(resources []Resource) *knownURIs {
	k := &knownURIs{resources: resources, order: make([]int32, len(resources)), above: make([]int32, len(resources))}
	for i := range k.order {
		k.order[i] = int32(i)
	}
	slices.SortFunc(k.order, func(a, b int32) int { return strings.Compare(resources[a].URI, resources[b].URI) })
	for i := range k.order {
		p := int32(i) - 1
		for p >= 0 && !strings.HasPrefix(k.uri(int32(i)), k.uri(p)) {
			p = k.above[p]
		}
		k.above[i] = p
	}
	return k
}

func (k *knownURIs) uri(i int32) string { return k.resources[k.order[i]].URI }

// expands reports whether a URI is an expansion of a listed template.
func (k *knownURIs) expands(uri string) bool {
	if k == nil || len(uri) > maxTemplateURI {
		return false
	}
	tries := maxTemplateTries
	return slices.ContainsFunc(k.templates[:min(len(k.templates), maxTemplates)], func(t indexedTemplate) bool {
		return len(t.uri.steps) > 0 && strings.HasPrefix(uri, t.uri.literal()) && t.uri.matches(uri, &tries)
	})
}

// goesOn reports whether a listed URI begins with a text.
func (k *knownURIs) goesOn(text string) bool {
	i := sort.Search(len(k.order), func(i int) bool { return k.uri(int32(i)) >= text })
	return i < len(k.order) && strings.HasPrefix(k.uri(int32(i)), text)
}

// find returns the place of a URI in the resources.
func (k *knownURIs) find(uri string) (place int32, ok bool) {
	if k == nil {
		return 0, false
	}
	i, ok := sort.Find(len(k.order), func(i int) int { return strings.Compare(uri, k.uri(int32(i))) })
	if !ok {
		return 0, false
	}
	return k.order[i], true
}

// longest returns the length of the longest listed URI that rest starts with
// and that is ok; 0 if there is none.
func (k *knownURIs) longest(rest string, ok func(n int) bool) int {
	if k == nil {
		return 0
	}
	// The last one that is not behind rest has all prefixes of rest above it.
	i := int32(sort.Search(len(k.order), func(i int) bool { return k.uri(int32(i)) > rest })) - 1
	if i < 0 {
		return 0
	}
	same := commonPrefix(k.uri(i), rest)
	for range maxNested {
		if i < 0 || same == 0 {
			return 0
		}
		if n := len(k.uri(i)); n <= same && ok(n) {
			return n
		}
		i = k.above[i]
	}
	return 0
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
