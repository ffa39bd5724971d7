package lsp

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"agentls/mcp"
)

var errAsksTrust = errors.New("the workspace folder is not trusted, and no git runs in it before it is; the question comes when the prompt is sent")

// peek reads what a prompt mentions for a person to look at: from the cache
// where that is fresh, else from its server. It never starts a server, and asks
// nothing: a pointer that rests somewhere must not. What reaches a server is
// audited.
func (s *Server) peek(ctx context.Context, server, uri string) ([]mcp.Content, error) {
	if contents, ok := s.o.Manager.Cached(server, uri); ok {
		return contents, nil
	}
	if info, ok := s.serverInfo(server); !ok || info.Status != mcp.StatusReady {
		return nil, mcp.ErrNotReady
	}
	if server == workspaceServer {
		if strings.HasPrefix(uri, "git:") && !s.allTrusted() {
			return nil, errAsksTrust
		}
		s.docs.flush() // it serves what the editor has
	}
	start := time.Now()
	contents, err := s.o.Manager.Read(mcp.Quietly(ctx), server, uri)
	s.auditRead(ctx, server, uri, start, err)
	return contents, err
}

// workspaceServer is the name of the embedded server (CONTRACT §9).
const workspaceServer = "workspace"

// serverInfo is what is known of a server by its configured name.
func (s *Server) serverInfo(name string) (mcp.ServerInfo, bool) {
	for _, info := range s.o.Manager.Servers() {
		if info.Name == name {
			return info, true
		}
	}
	return mcp.ServerInfo{}, false
}

// allTrusted reports whether git may run in every folder.
func (s *Server) allTrusted() bool {
	for _, f := range s.o.State.Folders() {
		if !f.Trusted {
			return false
		}
	}
	return true
}

// bodySize is how many bytes contents hold.
func bodySize(contents []mcp.Content) (n int64) {
	for _, c := range contents {
		n += int64(len(c.Text))
		n += int64(base64.StdEncoding.DecodedLen(len(c.Blob)) - strings.Count(c.Blob[max(0, len(c.Blob)-2):], "="))
	}
	return n
}
