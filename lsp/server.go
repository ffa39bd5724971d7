// Package lsp serves one editor over the Language Server Protocol.
package lsp

import (
	"context"
	"io"
	"log/slog"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/mcp"
	"agentls/mcp/workspace"
)

// Options is what a [Server] needs.
type Options struct {
	Version  string
	Agent    *agent.Agent
	Audit    *agent.Audit
	Manager  *mcp.Manager
	State    *workspace.State
	Config   config.Source
	NewLLM   func(config.Provider) (agent.LLM, error)
	StateDir string // <state>
	Secrets  *mcp.Secrets
	Log      *slog.Logger
	// LogSink receives the handler that relays our own log to
	// window/logMessage once a client is there; may be nil.
	Alive func(pid int) bool // whether a process lives; watched for processId
}

// Server serves one connection: a single accept(2), not a listen(2).
type Server struct{}

// New returns a server that is ready to Serve.
func New(o Options) *Server { panic("skeleton") }

// Serve speaks LSP on rwc until the peer is gone, exit comes, ctx ends or the
// client's process dies. Before it returns all runs are cancelled and
// answered. The returned code is the process's exit code by LSP: 0 after
// shutdown and exit, 1 after exit alone; 0 on EOF.
func (s *Server) Serve(ctx context.Context, r io.Reader, w io.Writer) (code int, err error) {
	panic("skeleton")
}
