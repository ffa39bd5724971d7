package lsp

import (
	"strings"
	"testing"
)

func TestMove(t *testing.T) {
	// '|' marks the place.
	for _, c := range []struct{ name, old, now string }{
		{"nothing changed", "ab|cd", "ab|cd"},
		{"typed before", "ab|cd", "xxab|cd"},
		{"typed after", "ab|cd", "ab|cdxx"},
		{"typed at it", "ab|cd", "ab|xcd"},
		{"typed at it at the end", "ab|", "ab|more"},
		{"removed before", "ab|cd", "b|cd"},
		{"removed after", "ab|cd", "ab|d"},
		{"replaced up to it", "ab|cd", "x|cd"},
		{"removed around", "ab|cd", "ad"},
		{"all gone", "ab|cd", "|"},
		{"like text typed", "aa|aa", "aa|aaa"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, now := strings.Replace(c.old, "|", "", 1), strings.Replace(c.now, "|", "", 1)
			want := strings.IndexByte(c.now, '|')
			if c.name == "all gone" {
				want = -1
			}
			got, ok := move(old, now, strings.IndexByte(c.old, '|'))
			if !ok {
				got = -1
			}
			if got != want {
				t.Errorf("from %q to %q: at %d, want %d", c.old, c.now, got, want)
			}
		})
	}
}

func FuzzMove(f *testing.F) {
	f.Add("ab", "cd", "x", 1)
	f.Add("", "ä", "", 0)
	f.Fuzz(func(t *testing.T, before, after, typed string, at int) {
		old := before + after
		at = max(0, min(at, len(before)))
		// What is typed before a place never changes what stands after it.
		got, ok := move(old, before[:at]+typed+before[at:]+after, len(before))
		if !ok || got < 0 || got > len(old)+len(typed) {
			t.Errorf("move lost the place: %d, %v", got, ok)
		}
	})
}
