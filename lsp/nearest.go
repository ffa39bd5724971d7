package lsp

import (
	"cmp"
	"slices"
	"strings"

	"agentls/agent"
)

// maxNearest is how many names are offered for one that is unknown.
const maxNearest = 3

// nearest gives the names that were perhaps meant, the best first.
func nearest(name string, known []string) []string {
	near := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !agent.IsNear(name, k) })
	slices.SortStableFunc(near, func(a, b string) int {
		return cmp.Compare(agent.EditDistance(strings.ToLower(name), strings.ToLower(a)), agent.EditDistance(strings.ToLower(name), strings.ToLower(b)))
	})
	return near[:min(len(near), maxNearest)]
}
