package agent

import (
	"fmt"
	"strings"

	"agentls/mcp"
)

// maxNearest is how many names or URIs are offered for one that is unknown.
const maxNearest = 3

// EditDistance is how many bytes of a short name have to be changed, put in,
// taken out or swapped with the next one to get another: what a person or a
// model perhaps meant is near. It takes time in the product of the lengths.
func EditDistance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 0
			if a[i] != b[j] {
				cost = 1
			}
			row[j+1] = min(above[j]+cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}

// IsNear reports whether name was perhaps meant to be known: a few letters are
// other ones, or the beginning is missing. What all commands begin with does
// not count.
func IsNear(name, known string) bool {
	name, known = strings.ToLower(name), strings.ToLower(known)
	const prefix = "agentls."
	name, known = strings.TrimPrefix(name, prefix), strings.TrimPrefix(known, prefix)
	if name != "" && strings.HasSuffix(known, "."+name) {
		return true
	}
	limit := len(known)/4 + 1
	if len(known) > 2 {
		limit = max(limit, 2) // two letters that changed places
	}
	return max(len(name)-len(known), len(known)-len(name)) <= limit && EditDistance(name, known) <= limit
}

// maxSuggested is how many names an error lists: a server may have thousands.
const maxSuggested = 40

// Suggest ends an error message about a name with those that were perhaps
// meant, or else with all of a few.
func Suggest(name string, known []string) string {
	var nearest []string
	for _, k := range known {
		if IsNear(name, k) {
			nearest = append(nearest, k)
		}
	}
	switch {
	case len(nearest) > 0:
		return "; did you mean " + strings.Join(nearest[:min(len(nearest), maxNearest)], " or ") + "?"
	case len(known) == 0:
		return ""
	case len(known) == 1:
		return "; there is only " + known[0]
	}
	all := known[:min(len(known), maxSuggested)]
	if n := len(known) - len(all); n > 0 {
		return fmt.Sprintf("; there are %s and %d more", strings.Join(all, ", "), n)
	}
	return "; there are " + strings.Join(all, ", ")
}

// NearestURIs gives the URIs that were perhaps meant, the best first: those
// that differ in a few bytes, else those that end in the same name. Only those
// that are as good as the best are given. It looks at each of many URIs once,
// and closely at few.
func NearestURIs(uri string, known []string) []string {
	most := min(4, 1+len(uri)/8)
	folded := strings.ToLower(uri)
	bytes := countBytes(folded)
	last := folded[strings.LastIndexAny(folded, "/:")+1:]
	var close, named []string
	for _, k := range known {
		if d := len(k) - len(uri); -most <= d && d <= most {
			low := strings.ToLower(k)
			if apart(bytes, countBytes(low)) <= 2*most {
				if d := EditDistance(folded, low); d < most {
					most, close = d, close[:0]
				} else if d > most {
					continue
				}
				close = append(close, k)
				continue
			}
		}
		if len(last) > 2 && len(named) < maxNearest && len(k) > len(last) && strings.EqualFold(k[len(k)-len(last):], last) && strings.IndexByte("/:", k[len(k)-len(last)-1]) >= 0 {
			named = append(named, k)
		}
	}
	if len(close) == 0 {
		close = named
	}
	return close[:min(len(close), maxNearest)]
}

// countBytes counts the bytes of a text by their value.
func countBytes(text string) (n [256]int16) {
	for i := range len(text) {
		n[text[i]]++
	}
	return n
}

// apart is how far two counts are from each other: at most twice the edit
// distance of their texts.
func apart(a, b [256]int16) (n int) {
	for i := range a {
		d := int(a[i]) - int(b[i])
		n += max(d, -d)
	}
	return n
}

// PerhapsMeant ends an error about a URI that is not among the known ones with
// those that are near; empty: none is.
func PerhapsMeant(uri string, known []mcp.Resource) string {
	uris := make([]string, len(known))
	for i := range known {
		uris[i] = known[i].URI
	}
	near := NearestURIs(uri, uris)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}
