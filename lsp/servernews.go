package lsp

import (
	"context"
	"time"
)

// serversPause is how long changes of MCP servers gather before a client is told.
const serversPause = 100 * time.Millisecond

// followServers reads that something of the MCP servers changed, and tells those
// who show it: prompt buffers, and a client with `servers`, which then asks for
// what it shows (agentls/didChangeServers, CONTRACT §12). It returns with ctx.
func (s *Server) followServers(ctx context.Context) {
	var due <-chan time.Time // nil: nobody is to be told
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.o.Manager.Changes():
			s.refreshPromptBuffers()
			if s.peer.features.servers && due == nil {
				due = time.After(serversPause)
			}
		case <-due:
			due = nil
			s.notify("agentls/didChangeServers", none{})
		}
	}
}
