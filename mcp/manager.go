package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agentls/mcp/child"
	"agentls/mcp/oauth"
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
	// ErrUnknownOutcome is that of a call whose connection was lost: the tool may
	// have acted.
	ErrUnknownOutcome = errors.New("the outcome of the call is unknown")
)

// Options is what a [Manager] needs from outside.
type Options struct {
	Name, Version string // clientInfo
	// State is what the embedded server "workspace" serves.
	State *workspace.State
	// TrustFile is <state>/trust.json.
	TrustFile string
	// InputsFile is <state>/inputs.json.
	InputsFile string
	// LoginsFile is <state>/mcp-auth.json.
	LoginsFile string
	// Environ is the process's environment, from which children get the base
	// of CONTRACT §8.
	Environ []string
	// Reaper is the command line that ends our children when this process is
	// killed; empty: none.
	Reaper []string
	// Hold is the command line of a process that calls [child.Hold]: it becomes
	// a child once the reaper knows of it; empty: a kill of this process as a
	// child starts may leave that behind.
	Hold []string
	// HTTP gives what is cloned for the connections to remote servers, when the
	// first of them starts: its proxy and its certificates count. Nil: neither.
	HTTP    func() *http.Transport
	Secrets *Secrets
	Log     *slog.Logger
	// Unattended: there is nobody to ask, and servers are not told that there is.
	Unattended bool
}

// Manager owns every MCP server: it starts them, keeps what they offer and
// routes calls. All methods are safe for concurrent use; those without a
// context never block on a server.
type Manager struct {
	hub
	trust  trustStore
	inputs *inputs
	recent recency
	rounds atomic.Uint64   // of completions: the newest wins
	ctx    context.Context //nolint:containedctx // the manager's lifetime; ends by Close
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // sessions and the event queue
	ending sync.Once

	admitting sync.Mutex // held by admit, before mu

	mu       sync.Mutex
	closed   bool
	folder   bool // the workspace folder is trusted
	sessions map[string]*session
	leaving  map[string]<-chan struct{} // servers that were taken out, until they are gone
	switches map[string]switched        // what a person enabled or disabled, by name
	flows    map[string]*loginFlow      // the logins under way, by server
	asked    map[string]bool            // servers, by name and fingerprint, whose trust was asked for
	order    []*session                 // "workspace" first, the rest by name; replaced as a whole
}

// NewManager returns a manager that serves only "workspace" until Configure.
func NewManager(o Options) *Manager { return newManager(o, defaultTiming()) }

func newManager(o Options, t timing) *Manager {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Secrets == nil {
		o.Secrets = NewSecrets()
	}
	m := &Manager{sessions: map[string]*session{}, leaving: map[string]<-chan struct{}{}, asked: map[string]bool{}, flows: map[string]*loginFlow{}, switches: map[string]switched{}, trust: trustStore{o.TrustFile}, inputs: newInputs(o.InputsFile)}
	m.hub = hub{
		attended: !o.Unattended,
		name:     o.Name, version: o.Version, state: o.State, environ: o.Environ, secrets: o.Secrets, log: o.Log, events: newEvents(), changes: make(changes, 1), turns: newTurns(), eras: &eras{},
		http: &remoteTransport{base: o.HTTP}, timing: t, reaper: newReaper(o.Reaper, o.Hold, BaseEnviron(o.Environ), o.Log),
	}
	m.logins = oauth.New(oauth.Options{File: o.LoginsFile, HTTP: m.http.get, Learn: o.Secrets.Add, Name: o.Name, Version: o.Version, Log: o.Log})
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	m.requests = newRequests(m.ctx, t.question)
	m.wg.Go(func() { m.events.run(m.ctx) }) // ends by Close
	if o.State != nil {
		s := newSession(&m.hub, ServerConfig{Name: workspaceName, Source: "built in", Protocol: "legacy"})
		s.carry = carryLocal(s.carryWorkspace)
		s.trusted.Store(true)
		m.sessions[workspaceName] = s
		m.reorder()
		s.start(m.ctx, &m.wg, nil)
	}
	return m
}

// Close ends every session and child (EOF 0.5 s, TERM 0.5 s, KILL; whole
// groups) and waits for every goroutine of the manager. A second Close waits
// for the first.
func (m *Manager) Close() { m.ending.Do(m.end) }

func (m *Manager) end() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel(errStopped)
	m.requests.close()
	m.logins.Close()
	m.wg.Wait()
	m.http.closeIdle()
	m.reaper.close()
}

// Reaper hears of the groups that this process starts: it ends those that
// outlive a kill of it. It ends with the manager, and what is left of them too.
func (m *Manager) Reaper() child.Watch { return m.reaper }

// Events gives what happened, to one reader. Like events are merged while the
// reader is behind; nothing blocks. Closed by Close.
func (m *Manager) Events() <-chan Event { return m.events.out }

// Requests gives what needs a person, to one reader. Closed by Close.
func (m *Manager) Requests() <-chan Request { return m.requests.out }

// list returns the sessions, "workspace" first, the rest by name.
func (m *Manager) list() []*session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.order
}

func (m *Manager) find(server string) (*session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[server]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownServer, server)
}

// Servers returns a snapshot, "workspace" first, the rest by name.
func (m *Manager) Servers() []ServerInfo {
	list := m.list()
	out := make([]ServerInfo, 0, len(list))
	for _, s := range list {
		out = append(out, s.info())
	}
	return out
}

// Tools returns the tools of all ready servers, by server and name.
func (m *Manager) Tools() []Tool {
	var out []Tool
	for _, s := range m.list() {
		s.mu.Lock()
		if s.status == StatusReady {
			out = append(out, s.tools...)
		}
		s.mu.Unlock()
	}
	return out
}

// HasResources reports whether a ready server has the resources capability.
func (m *Manager) HasResources(server string) bool {
	s, err := m.find(server)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status == StatusReady && s.conn.caps.resources
}

// Resources returns the cached list. Never blocks.
func (m *Manager) Resources(server string) (ResourceList, error) {
	s, err := m.find(server)
	if err != nil {
		return ResourceList{}, err
	}
	return s.cache.list(), nil
}

// Prompts returns the cached prompts.
func (m *Manager) Prompts(server string) (prompts []Prompt, stale bool, err error) {
	s, err := m.find(server)
	if err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.prompts), s.promptsAge.held && (s.promptsAge.old(time.Now()) || s.status != StatusReady), nil
}

// Settle waits until no list refresh that a notification asked for is
// pending, or ctx ends (the caller gives 500 ms before each model call).
func (m *Manager) Settle(ctx context.Context) {
	for _, s := range m.list() {
		s.settle(ctx)
	}
}

// WaitStarted waits until no server is starting, or ctx ends, and returns the
// names of those that still are.
func (m *Manager) WaitStarted(ctx context.Context) (missing []string) {
	for _, s := range m.list() {
		if !s.started(ctx) {
			missing = append(missing, s.cfg.Name)
		}
	}
	return missing
}

// WaitServer waits until a server is not starting, or ctx ends, and returns its
// state.
func (m *Manager) WaitServer(ctx context.Context, server string) (Status, error) {
	s, err := m.find(server)
	if err != nil {
		return "", err
	}
	s.started(ctx)
	return s.info().Status, nil
}

// ListResources fetches a stale list anew, then returns it; when the fetch
// fails, the old list with Stale set and the error.
func (m *Manager) ListResources(ctx context.Context, server string) (ResourceList, error) {
	s, err := m.find(server)
	if err != nil {
		return ResourceList{}, err
	}
	return s.listResources(ctx)
}

// ListPrompts is ListResources for prompts.
func (m *Manager) ListPrompts(ctx context.Context, server string) ([]Prompt, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, err
	}
	return s.listPrompts(ctx)
}

// Read reads a resource. A body that is cached and fresh is not fetched again.
// URIs are sent byte for byte. A missing one gives ErrUnknownResource. Where
// the server is out of reach, the last contents come beside a [StaleError].
func (m *Manager) Read(ctx context.Context, server, uri string) ([]Content, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, uri)
}

// CallTool calls a tool by the server's own name. args is a JSON object; none
// counts as {}. progress may be nil; it is never called after CallTool has
// returned. The server's configured timeout bounds the call, counted anew from
// each progress it reports, 15 minutes at most. A cancelled ctx sends
// notifications/cancelled once and returns at once. A call whose connection is
// lost gives ErrUnknownOutcome and is not repeated.
func (m *Manager) CallTool(ctx context.Context, server, tool string, args json.RawMessage, progress func(Progress)) (ToolResult, error) {
	s, err := m.find(server)
	if err != nil {
		return ToolResult{}, err
	}
	return s.callTool(ctx, tool, args, progress)
}

// Restart ends a server's session and starts it anew.
func (m *Manager) Restart(server string) (ServerInfo, error) {
	s, err := m.find(server)
	if err != nil {
		return ServerInfo{}, err
	}
	if m.askAgain(s) {
		if s, err = m.find(server); err != nil {
			return ServerInfo{}, err
		}
		return s.info(), nil
	}
	if !s.restart() {
		info := s.info()
		return info, s.notReady(info.Status, info.Error)
	}
	info := s.info()
	info.Status, info.Error = StatusStarting, ""
	return info, nil
}
