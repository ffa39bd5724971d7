package mcp

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"agentls/mcp/workspace"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// rootsHandler answers roots/list with the workspace folders.
type rootsHandler struct{ state *workspace.State }

func (h rootsHandler) ListRoots(context.Context, mcpgo.ListRootsRequest) (*mcpgo.ListRootsResult, error) {
	result := &mcpgo.ListRootsResult{Roots: []mcpgo.Root{}}
	if h.state == nil {
		return result, nil
	}
	for _, f := range h.state.Folders() {
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
