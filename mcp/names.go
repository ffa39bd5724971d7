package mcp

import (
	"slices"
	"strconv"
	"strings"
)

// mentionNames gives each configured name the name by which it is mentioned:
// itself with characters outside [A-Za-z0-9._-] as '-', unique among all. A
// name that needs no change keeps itself.
func mentionNames(names []string) map[string]string {
	slices.Sort(names)
	out := make(map[string]string, len(names))
	taken := map[string]bool{}
	for _, name := range names {
		if name != "" && plainName(name) == name {
			out[name], taken[name] = name, true
		}
	}
	for _, name := range names {
		if _, ok := out[name]; ok {
			continue
		}
		base := plainName(name)
		if base == "" {
			base = "-"
		}
		mention := base
		for n := 2; taken[mention]; n++ {
			mention = base + "-" + strconv.Itoa(n)
		}
		out[name], taken[mention] = mention, true
	}
	return out
}

func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, name)
}
