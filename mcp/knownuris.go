package mcp

import (
	"slices"
	"sort"
	"strings"
)

// maxNested bounds how many listed URIs that are prefixes of each other are
// tried at one place.
const maxNested = 256

// knownURIs answers which listed URI a text starts with. Never changed; nil
// knows none.
type knownURIs struct {
	server string // configured name
	uris   []string
	above  []int32 // the longest listed URI that is a prefix of this one; -1 for none
}

func newKnownURIs(server string, resources []Resource) *knownURIs {
	k := &knownURIs{server: server, uris: make([]string, len(resources))}
	for i := range resources {
		k.uris[i] = resources[i].URI
	}
	if !slices.IsSorted(k.uris) {
		slices.Sort(k.uris)
	}
	k.uris = slices.Compact(k.uris)
	k.above = make([]int32, len(k.uris))
	for i := range k.uris {
		p := int32(i) - 1
		for p >= 0 && !strings.HasPrefix(k.uris[i], k.uris[p]) {
			p = k.above[p]
		}
		k.above[i] = p
	}
	return k
}

func (k *knownURIs) has(uri string) bool {
	if k == nil {
		return false
	}
	_, ok := slices.BinarySearch(k.uris, uri)
	return ok
}

// longest returns the length of the longest listed URI that rest starts with
// and that is ok; 0 if there is none.
func (k *knownURIs) longest(rest string, ok func(n int) bool) int {
	if k == nil {
		return 0
	}
	// The last one that is not behind rest has all prefixes of rest above it.
	i := int32(sort.Search(len(k.uris), func(i int) bool { return k.uris[i] > rest })) - 1
	if i < 0 {
		return 0
	}
	same := commonPrefix(k.uris[i], rest)
	for range maxNested {
		if i < 0 || same == 0 {
			return 0
		}
		if n := len(k.uris[i]); n <= same && ok(n) {
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
