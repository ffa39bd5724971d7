// Package lsp serves one editor over the Language Server Protocol.
package lsp

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

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
	Alive    func(pid int) bool // whether a process lives; watched for processId
}

// Server serves one connection: a single accept(2), not a listen(2).
type Server struct {
	o Options

	conn jsonrpc2.Conn                 // set by Serve
	peer peer                          // set by initialize, before any other request is served
	cfg  atomic.Pointer[config.Config] // never nil after New
	docs *documents
	runs *runs
	asks *questions
}

// peer is what the client told in initialize.
type peer struct {
	name     string // clientInfo.name, "" when absent
	caps     protocol.ClientCapabilities
	features features // experimental.agentls
	trusted  bool     // initializationOptions.workspaceTrusted
	encoding protocol.PositionEncodingKind
}

// features are the words a client announces in capabilities.experimental.agentls.
type features struct{ runEvents, approvals, plans, diagnostics, save bool }

// New returns a server that is ready to Serve.
func New(o Options) *Server { panic("skeleton") }

// Serve speaks LSP on r and w until the peer is gone, exit comes, ctx ends or
// the client's process dies. Before it returns all runs are cancelled and
// answered. The returned code is the process's exit code by LSP: 0 after
// shutdown and exit, 1 after exit alone, 0 on EOF.
func (s *Server) Serve(ctx context.Context, r io.Reader, w io.Writer) (code int, err error) {
	panic("skeleton")
}

// call sends a request to the client and decodes its result (nil: dropped).
// When ctx ends the client gets $/cancelRequest and call returns the cause.
func (s *Server) call(ctx context.Context, method string, params, result any) error {
	panic("skeleton")
}

// notify sends a notification. It never blocks.
func (s *Server) notify(method string, params any) { panic("skeleton") }
