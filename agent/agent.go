package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"text/template"
	"time"

	"agentls/mcp"
	"agentls/mcp/workspace"
)

// ErrCancelled is the cause of a run that was cancelled by a person.
var ErrCancelled = errors.New("cancelled")

// Errors of a task that cannot be worked on. [Agent.Run] wraps them in a
// [*ProviderError].
var (
	ErrEmptyPrompt = errors.New("the prompt is empty")
	ErrLongPrompt  = errors.New("the prompt is too long")
)

// MaxPrompt is the most that a prompt may hold, in bytes.
const MaxPrompt = 4 << 20

// Options is what an [Agent] needs.
type Options struct {
	Manager *mcp.Manager
	// State tells which files are ignored; nil: none is.
	State   *workspace.State
	Audit   *Audit // nil: nothing is audited
	Secrets *mcp.Secrets
	// RememberFile is <state>/approvals.json: what was allowed for always.
	// Empty: it is kept in memory.
	RememberFile string
	// ResultsDir is <state>/results, where results that are too long for the
	// model are kept whole. Empty: they are cut for good.
	ResultsDir string
	// Own are agentls' own directories, of configuration and state: absolute
	// paths. Writes to them are always asked about.
	Own []string
	// Environ is the process's environment, of which commands get the base of
	// CONTRACT §8.
	Environ []string
	// HTTP gives what is cloned for web_fetch at its first use: its proxy and
	// its certificates count. Nil: neither.
	HTTP    func() *http.Transport
	Version string // for the User-Agent
	// UndoDir is <state>/undo, where what undoes the edits of runs is kept.
	// Empty: it is kept in memory.
	UndoDir string
	// SessionsDir is <state>/sessions, made at the first run. Empty: sessions
	// are kept in memory.
	SessionsDir string
	Log         *slog.Logger
}

// manager is what the agent uses of an [mcp.Manager], which owns processes and
// sockets: tests on a fake clock put a double in its place.
type manager interface {
	Servers() []mcp.ServerInfo
	Tools() []mcp.Tool
	HasResources(server string) bool
	WaitStarted(ctx context.Context) (missing []string)
	Instructions() []mcp.Instructions
	Settle(ctx context.Context)
	Mentions(text string) []mcp.Mention
	Used(server, uri string)
	Recency() func(server, uri string) uint64
	Resources(server string) (mcp.ResourceList, error)
	ListResources(ctx context.Context, server string) (mcp.ResourceList, error)
	Read(ctx context.Context, server, uri string) ([]mcp.Content, error)
	GetPrompt(ctx context.Context, server, name string, arguments map[string]string) (mcp.PromptResult, error)
	CheckArguments(server, tool string, args json.RawMessage) error
	CallTool(ctx context.Context, server, tool string, args json.RawMessage, progress func(mcp.Progress)) (mcp.ToolResult, error)
}

// Agent runs tasks. It keeps the sessions' histories and what was allowed.
// Safe for concurrent use.
type Agent struct {
	manager  manager
	shaped   shapedTools
	leftTold sync.Map                         // servers whose tools find no room, as was told
	ignored  func(path string, dir bool) bool // whether ignore rules cover an absolute path
	audit    *Audit
	secrets  *mcp.Secrets
	remember *remember
	system   *template.Template
	builtins []*tool
	results  *store
	own      []string
	children children
	web      *fetcher
	undo     *undoStore
	log      *slog.Logger

	sessions sessions
	locks    fileLocks
	gauges   gauges
	calls    calls
	samples  spending
	runs     sync.Map // *run by RunID: those that work
}

// New returns an agent.
func New(o Options) *Agent {
	a := newAgent(o)
	a.manager = o.Manager
	a.children.watch = o.Manager.Reaper()
	if o.State != nil {
		a.ignored = o.State.Ignored
	}
	return a
}

func newAgent(o Options) *Agent {
	return &Agent{
		ignored:  func(string, bool) bool { return false },
		audit:    o.Audit,
		secrets:  o.Secrets,
		remember: newRemember(o.RememberFile, o.Log),
		system:   template.Must(template.ParseFS(prompts, systemPrompts...)),
		builtins: builtins(),
		results:  newStore(o.ResultsDir, o.Log),
		own:      o.Own,
		children: children{env: mcp.BaseEnviron(o.Environ)},
		web:      newFetcher(o.HTTP, o.Version, publicAddress),
		undo:     newUndoStore(o.UndoDir, o.Log),
		log:      o.Log,
		sessions: newSessions(o.SessionsDir, o.Log),
	}
}

// Run works on a task until it is done, a limit stops it, it fails or ctx is
// cancelled. Runs of one session wait for each other; sessions run beside each
// other. The Result holds what was done also when err is not nil. err is
// context.Cause(ctx) when cancelled, else a [*ProviderError].
func (a *Agent) Run(ctx context.Context, t Task) (Result, error) {
	r := newRun(a, t)
	ctx = mcp.WithOrigin(ctx, mcp.Origin{RunID: t.RunID, Session: t.Session})
	err := r.start(ctx)
	return r.finish(ctx, err), err
}

// Close waits for tool calls that were left to their owner and for the files of
// sessions, half a second at most. No call starts after it.
func (a *Agent) Close() { a.calls.close(500 * time.Millisecond) }

// calls counts the tool calls in flight, the abandoned ones included, and the
// files of sessions that the disk has not taken yet.
type calls struct {
	mu     sync.Mutex // guards closed, and no Go races with close's Wait
	closed bool
	wg     sync.WaitGroup
}

// start runs f on a goroutine of its own, which ends with f. ok is false, and
// f not run, after close.
func (c *calls) start(f func()) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(f)
	return true
}

// own runs f as start does; after close at once, as nobody would wait for it.
func (c *calls) own(f func()) {
	if !c.start(f) {
		f()
	}
}

func (c *calls) close(most time.Duration) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the last call; what outlives Close has no other owner left
		c.wg.Wait()
		close(done)
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
