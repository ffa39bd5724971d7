package agent

import (
	"slices"
	"testing"
)

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"dco7", "doc7", 1}, {"dco7", "doc17", 2}, {"ab", "ba", 1}, {"abcd", "badc", 2}, {"a", "b", 1},
	} {
		if got := EditDistance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestNearestURIs(t *testing.T) {
	known := []string{"file://lsp/server.go", "file://mcp/server.go", "file://README.md", "file://docs/a b.md", "urn:isbn:1"}
	for _, c := range []struct {
		uri  string
		want []string
	}{
		{"file://lps/server.go", []string{"file://lsp/server.go"}},
		{"file://README.MD", []string{"file://README.md"}},
		{"file://server.go", []string{"file://lsp/server.go", "file://mcp/server.go"}},
		{"file://docs/a%20b.md", []string{"file://docs/a b.md"}},
		{"file://dcos/a b.md", []string{"file://docs/a b.md"}},
		{"file://nothing/like/it", nil},
		{"x://y", nil},
		{"", nil},
	} {
		if got := NearestURIs(c.uri, known); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.uri, got, c.want)
		}
	}
}
