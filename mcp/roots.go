package mcp

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// serveRoots answers roots/list.
func serveRoots(_ context.Context, s *session, _ serverRequest) (any, error) {
	return &mcpgo.ListRootsResult{Roots: s.roots()}, nil
}

// roots are the workspace folders, as file URIs (client/roots). They tell a
// server where things are on this machine: a child that the user configured,
// or trusted, works here and is started in the folder; a remote server is given
// what the person trusts, and hears of it then.
func (s *session) roots() []mcpgo.Root {
	out := []mcpgo.Root{}
	if s.state == nil {
		return out
	}
	for _, f := range s.state.Folders() {
		if f.Trusted || !s.cfg.remote() {
			out = append(out, mcpgo.Root{URI: fileURI(f.Path), Name: f.Name})
		}
	}
	return out
}

// rootsWatch tells a server up to 2025-11-25 when its roots have changed.
type rootsWatch struct {
	s       *session
	changed <-chan struct{}
	end     func()
	known   []mcpgo.Root // that it may have been given
}

// watchRoots begins before the server can ask for them; nil: they do not
// change.
func (s *session) watchRoots(w way) *rootsWatch {
	if s.state == nil || w.modern || s.cfg.Name == workspaceName {
		return nil
	}
	r := &rootsWatch{s: s}
	r.changed, r.end = s.state.WatchFolders()
	r.known = s.roots()
	return r
}

// stop ends a watch that does not run.
func (r *rootsWatch) stop() {
	if r != nil {
		r.end()
	}
}

// run tells of changes, a while after the first of them, until the connection
// ends.
func (r *rootsWatch) run(c *connection) {
	defer r.end()
	for {
		select {
		case <-r.changed:
		case <-c.ctx.Done():
			return
		}
		debounce := time.NewTimer(r.s.timing.debounce)
		select {
		case <-debounce.C:
		case <-c.ctx.Done():
			debounce.Stop()
			return
		}
		now := r.s.roots()
		if slices.Equal(now, r.known) {
			continue
		}
		r.known = now
		ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
		if err := c.client.RootListChanges(ctx); err != nil && c.ctx.Err() == nil {
			r.s.logs.add(logOwn, "warning", "it could not be told that the workspace folders changed: "+err.Error())
		}
		cancel()
	}
}

// fileURI returns the file URI of an absolute path.
func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/…
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}
