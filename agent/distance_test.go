package agent

import (
	"slices"
	"testing"
)

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
		{"file://nothing/like/it", nil},
		{"x://y", nil},
		{"", nil},
	} {
		if got := NearestURIs(c.uri, known); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.uri, got, c.want)
		}
	}
}
