package mcp

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// serveRoots answers roots/list with the workspace folders.
func serveRoots(_ context.Context, s *session, _ serverRequest) (any, error) {
	result := &mcpgo.ListRootsResult{Roots: []mcpgo.Root{}}
	if s.state == nil {
		return result, nil
	}
	for _, f := range s.state.Folders() {
		result.Roots = append(result.Roots, mcpgo.Root{URI: fileURI(f.Path), Name: f.Name})
	}
	return result, nil
}

// fileURI returns the file URI of an absolute path.
func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/…
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}
