package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// maxName is the longest name of a tool that providers take.
const maxName = 64

func validName(name string) bool {
	return name != "" && len(name) <= maxName && name == cleanName(name)
}

// cleanName replaces each character that providers refuse in a tool's name.
func cleanName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// shorten cuts an ASCII name to what providers take.
func shorten(name string) string {
	if name == "" {
		return "_"
	}
	return name[:min(len(name), maxName)]
}

// nameTools gives each tool its name for the model (CONTRACT §9):
// mcp__{server}__{tool} where that is short enough and no other tool comes to
// the same name, else 55 characters of it, '_' and 8 hex digits. All tools
// that share a name get digits, so that a name never passes from one tool to
// another because a third came or went. Built-in and virtual tools keep their
// names. The result depends on the set of tools alone, not on its order.
func nameTools(tools []*tool) {
	groups := make(map[string][]*tool, len(tools))
	for _, t := range tools {
		name := plainName(t)
		groups[name] = append(groups[name], t)
	}
	taken := make(map[string]bool, len(tools))
	var rest []*tool
	for name, group := range groups {
		owner := ownerOf(group)
		for _, t := range group {
			if t == owner && len(name) <= maxName {
				t.model = name
				taken[name] = true
			} else {
				rest = append(rest, t)
			}
		}
	}
	slices.SortFunc(rest, byServer)
	for _, t := range rest {
		t.model = hashedName(t, taken)
		taken[t.model] = true
	}
}

// ownerOf returns which of the tools that come to one name has it; nil: none.
func ownerOf(group []*tool) *tool {
	if len(group) == 1 {
		return group[0]
	}
	var owner *tool
	for _, t := range group {
		if t.server != "" && !t.virtual {
			continue
		}
		if owner != nil {
			return nil
		}
		owner = t
	}
	return owner
}

func plainName(t *tool) string {
	if t.server == "" {
		return t.name
	}
	return "mcp__" + cleanName(t.server) + "__" + cleanName(t.name)
}

func hashedName(t *tool, taken map[string]bool) string {
	head := plainName(t)
	head = head[:min(len(head), maxName-9)]
	for i := 0; ; i++ {
		sum := sha256.Sum256([]byte(t.server + "\x00" + t.name + "\x00" + strconv.FormatBool(t.virtual) + "\x00" + strconv.Itoa(i)))
		if name := head + "_" + hex.EncodeToString(sum[:4]); !taken[name] {
			return name
		}
	}
}

// nearNames returns up to n of the names that are most like name.
func nearNames(name string, names []string, n int) []string {
	name = name[:min(len(name), 2*maxName)]
	type near struct {
		name string
		far  int
	}
	all := make([]near, 0, len(names))
	for _, other := range names {
		far := EditDistance(name, other)
		if own := other[strings.LastIndex(other, "__")+1:]; strings.HasSuffix(name, strings.TrimPrefix(own, "_")) {
			far /= 4 // the right tool under the wrong server
		}
		all = append(all, near{other, far})
	}
	slices.SortFunc(all, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	out := make([]string, 0, n)
	for _, one := range all[:min(n, len(all))] {
		out = append(out, one.name)
	}
	return out
}
