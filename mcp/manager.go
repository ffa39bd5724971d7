package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"agentls/mcp/workspace"
)

// Errors that a caller decides on.
var (
	ErrUnknownServer   = errors.New("unknown MCP server")
	ErrNotReady        = errors.New("MCP server is not ready")
	ErrUnknownTool     = errors.New("unknown tool")
	ErrUnknownResource = errors.New("resource not found")
	ErrFingerprint     = errors.New("the server's configuration changed since it was shown")
	ErrUntrustedFolder = errors.New("the folder is not trusted")
)

// Options is what a [Manager] needs from outside.
type Options struct {
	Name, Version string // clientInfo
	// State is what the embedded server "workspace" serves.
	State *workspace.State
	// TrustFile is <state>/trust.json.
	TrustFile string
	// Environ is the process's environment, from which children get the base
	// of CONTRACT §8.
	Environ []string
	// Reaper is the command line that ends our children when this process is
	// killed; empty: none.
	Reaper  []string
	Secrets *Secrets
	Log     *slog.Logger
}

// Manager owns every MCP server: it starts them, keeps what they offer and
// routes calls. All methods are safe for concurrent use; those without a
// context never block on a server.
type Manager struct{}

// NewManager returns a manager that serves only "workspace" until Configure.
func NewManager(o Options) *Manager { panic("skeleton") }

// Configure makes the running servers those of list: starts what is new,
// restarts what changed, stops what is gone. It returns at once; the servers
// start beside each other, each with its own deadline.
func (m *Manager) Configure(list []ServerConfig) { panic("skeleton") }

// TrustFolder says whether the workspace folder is trusted; before that,
// project servers stay untrusted and cannot be trusted.
func (m *Manager) TrustFolder(trusted bool) { panic("skeleton") }

// Close ends every session and child (EOF 0.5 s, TERM 0.5 s, KILL; whole
// groups) and waits for every goroutine of the manager.
func (m *Manager) Close() { panic("skeleton") }

// Events gives what happened, to one reader. Like events are merged while the
// reader is behind; nothing blocks. Closed by Close.
func (m *Manager) Events() <-chan Event { panic("skeleton") }

// Requests gives what needs a person, to one reader. Closed by Close.
func (m *Manager) Requests() <-chan Request { panic("skeleton") }

// Servers returns a snapshot, "workspace" first, the rest by name.
func (m *Manager) Servers() []ServerInfo { panic("skeleton") }

// Tools returns the tools of all ready servers, by server and name.
func (m *Manager) Tools() []Tool { panic("skeleton") }

// HasResources reports whether a ready server has the resources capability.
func (m *Manager) HasResources(server string) bool { panic("skeleton") }

// Resources returns the cached list. Never blocks.
func (m *Manager) Resources(server string) (ResourceList, error) { panic("skeleton") }

// Prompts returns the cached prompts.
func (m *Manager) Prompts(server string) (prompts []Prompt, stale bool, err error) {
	panic("skeleton")
}

// Settle waits until no list refresh that a notification asked for is
// pending, or ctx ends (the caller gives 500 ms before each model call).
func (m *Manager) Settle(ctx context.Context) { panic("skeleton") }

// WaitStarted waits until no server is starting, or ctx ends, and returns the
// names of those that still are.
func (m *Manager) WaitStarted(ctx context.Context) (missing []string) { panic("skeleton") }

// ListResources fetches a stale list anew, then returns it; when the fetch
// fails, the old list with Stale set and the error.
func (m *Manager) ListResources(ctx context.Context, server string) (ResourceList, error) {
	panic("skeleton")
}

// Read reads a resource. A body that is cached and fresh is not fetched again.
// URIs are sent byte for byte. A missing one gives ErrUnknownResource.
func (m *Manager) Read(ctx context.Context, server, uri string) ([]Content, error) {
	panic("skeleton")
}

// CallTool calls a tool by the server's own name. args is a JSON object.
// progress may be nil; it is never called after CallTool has returned. The
// server's configured timeout bounds the call. A cancelled ctx sends
// notifications/cancelled once and returns at once.
func (m *Manager) CallTool(ctx context.Context, server, tool string, args json.RawMessage, progress func(Progress)) (ToolResult, error) {
	panic("skeleton")
}

// Restart ends a server's session and starts it anew.
func (m *Manager) Restart(server string) (ServerInfo, error) { panic("skeleton") }

// Trust stores the user's word about a project server and starts or stops it.
// A non-empty fingerprint that is no longer the file's gives ErrFingerprint.
func (m *Manager) Trust(server string, trust bool, fingerprint string) (ServerInfo, error) {
	panic("skeleton")
}

// Mentions finds the mentions of CONTRACT §6 in user input, in order.
func (m *Manager) Mentions(text string) []Mention { panic("skeleton") }

// Complete ranks candidates for the text from '@' to the cursor (without the
// '@'); at most limit, ranked by match, recency (see Used) and priority. Never
// blocks. incomplete: there are more.
func (m *Manager) Complete(prefix string, limit int) (items []Candidate, incomplete bool) {
	panic("skeleton")
}

// Used notes that a mention was used, for ranking.
func (m *Manager) Used(server, uri string) { panic("skeleton") }
