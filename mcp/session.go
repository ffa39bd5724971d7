package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"agentls/mcp/workspace"
)

// hub is what all sessions of a manager share.
type hub struct {
	name, version string
	state         *workspace.State
	environ       []string
	reaper        *reaper
	secrets       *Secrets
	log           *slog.Logger
	events        *events
	eras          *eras
	timing        timing
}

// timing holds the durations that tests shorten.
type timing struct {
	backoff, backoffMax   time.Duration // before a lost server is started again
	tries                 int           // starts of a lost server before it counts as failed
	stable                time.Duration // ready for so long, the tries start over
	debounce, debounceMax time.Duration // of list_changed
	use                   time.Duration // how long a call waits for a server that is being started
	question              time.Duration // how long a Request waits to be taken
	acknowledge           time.Duration // of subscriptions/listen
}

func defaultTiming() timing {
	return timing{backoff: time.Second, backoffMax: time.Minute, tries: 5, stable: 30 * time.Second, debounce: 300 * time.Millisecond,
		debounceMax: 2 * time.Second, use: 5 * time.Second, question: 5 * time.Second, acknowledge: 5 * time.Second}
}

// session is one configured server for as long as its configuration stands:
// its state, what it offers, and the goroutine that starts it, keeps its lists
// fresh and starts it again when it is lost. Connections come and go in it.
type session struct {
	*hub
	given ServerConfig // as configured
	cfg   ServerConfig // with its defaults
	cache *resourceCache
	carry func() (carrier, error) // starts what the next connection runs on

	// Of the manager, under its lock.
	after    <-chan struct{}         // closed when the session that it replaces is gone; nil: none
	launched bool                    // was allowed to run
	question context.CancelCauseFunc // ends the question whether it may; nil: none

	begin sync.Once
	stop  context.CancelCauseFunc // ends run; set by start
	done  chan struct{}           // closed when run has returned
	wake  chan struct{}           // capacity 1: start now, if it is not running
	again chan struct{}           // capacity 1: end the connection and start anew
	fetch chan struct{}           // capacity 1: held while the resources are fetched

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at each change below
	status     Status
	err        string
	final      bool // failed or disabled by configuration: nothing starts it
	conn       *connection
	abort      context.CancelCauseFunc // ends the start under way, if any
	hasTools   bool
	tools      []Tool
	hasPrompts bool
	prompts    []Prompt
	promptsOld bool // the server said that the prompts changed since
	announced  bool // EventReady was sent
	mourned    bool // EventLost or EventFailed was sent since it was ready
}

func newSession(h *hub, cfg ServerConfig) *session {
	given := cfg
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.StartupTimeout <= 0 {
		cfg.StartupTimeout = DefaultStartupTimeout
	}
	s := &session{hub: h, given: given, cfg: cfg, cache: newResourceCache(cfg.Name), status: StatusStopped,
		done: make(chan struct{}), wake: make(chan struct{}, 1), again: make(chan struct{}, 1), changed: make(chan struct{})}
	s.carry = s.carryProcess
	s.fetch = make(chan struct{}, 1)
	return s
}

// update changes the state in one step and tells those who wait for a change.
func (s *session) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// set puts a session that does not run into a state.
func (s *session) set(status Status, err string, final bool) {
	s.update(func() { s.status, s.err, s.final = status, err, final })
}

// start runs the session until ctx ends or halt, once after has closed: the
// session that it replaces is gone then.
func (s *session) start(ctx context.Context, wg *sync.WaitGroup, after <-chan struct{}) {
	s.begin.Do(func() {
		ctx, cancel := context.WithCancelCause(ctx)
		s.update(func() { s.status, s.err, s.stop = StatusStarting, "", cancel })
		wg.Go(func() {
			defer close(s.done)
			if after != nil {
				<-after
			}
			s.guard(ctx, s.run)
			s.update(func() { s.status, s.err = StatusStopped, "" })
		})
	})
}

// halt ends the session, and returns what closes when it is gone.
func (s *session) halt() <-chan struct{} {
	s.begin.Do(func() { close(s.done) }) // it never ran
	s.answered()
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop(errStopped)
	}
	return s.done
}

// answered ends the question whether the server may run.
func (s *session) answered() {
	if s.question != nil {
		s.question(nil)
		s.question = nil
	}
}

var (
	errStopped   = errors.New("the server was stopped")
	errRestarted = errors.New("the server was restarted")
)

// guard keeps a panic over a server's input from ending the process.
func (s *session) guard(ctx context.Context, f func(context.Context)) {
	defer func() {
		if r := recover(); r != nil {
			s.panicked("server", r)
			s.fail(fmt.Errorf("internal error: %v", r))
		}
	}()
	f(ctx)
}

func (s *session) panicked(where string, r any) {
	s.log.Error("panic in an MCP handler", "server", s.cfg.Name, "where", where, "panic", fmt.Sprint(r))
}

// poke makes a session that waits start at once.
func (s *session) poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// restart ends what is there and starts anew; false: nothing runs.
func (s *session) restart() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil || s.final || s.status == StatusStopped {
		return false
	}
	s.poke(s.again)
	if s.abort != nil {
		s.abort(errRestarted)
	}
	if s.conn != nil {
		s.conn.cancel(errRestarted) // a refresh under way ends
	}
	return true
}

// use returns the ready connection. It starts a failed server once, and waits
// a little for one that is being started.
func (s *session) use(ctx context.Context) (*connection, error) {
	patience := time.NewTimer(s.timing.use)
	defer patience.Stop()
	poked := false
	for {
		s.mu.Lock()
		status, text, final, conn, changed := s.status, s.err, s.final, s.conn, s.changed
		s.mu.Unlock()
		switch status {
		case StatusReady:
			return conn, nil
		case StatusStarting, StatusRestarting:
		case StatusFailed:
			if poked || final {
				return nil, s.notReady(status, text)
			}
			poked = true
			s.poke(s.wake)
		default:
			return nil, s.notReady(status, text)
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, s.notReady(status, text)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (s *session) notReady(status Status, text string) error {
	if text != "" {
		return fmt.Errorf("%w: %q is %s: %s", ErrNotReady, s.cfg.Name, status, text)
	}
	return fmt.Errorf("%w: %q is %s", ErrNotReady, s.cfg.Name, status)
}

// problem reports something odd that was mended or dropped.
func (s *session) problem(text string) {
	s.events.put(Event{Server: s.cfg.Name, Kind: EventProblem, Text: s.secrets.Redact(text)})
}

// info returns a snapshot for the user.
func (s *session) info() ServerInfo {
	list := s.cache.list()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := describe(s.cfg, s.secrets)
	i.Mention = s.cache.snap.Load().mention
	i.Status, i.Error = s.status, s.err
	i.Trusted = !s.cfg.Project || s.status != StatusUntrusted
	count := func(has bool, n int) *int {
		if !has {
			return nil
		}
		return &n
	}
	i.Tools, i.Prompts = count(s.hasTools, len(s.tools)), count(s.hasPrompts, len(s.prompts))
	i.Resources = count(list.Fetched, len(list.Resources))
	return i
}

// settle waits until no refresh that a notification asked for is pending.
func (s *session) settle(ctx context.Context) {
	for {
		s.mu.Lock()
		c, changed := s.conn, s.changed
		s.mu.Unlock()
		if c == nil || !c.inbox.pending() {
			return
		}
		c.inbox.hasten()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// started waits until the session is not starting, and reports whether.
func (s *session) started(ctx context.Context) bool {
	for {
		s.mu.Lock()
		status, changed := s.status, s.changed
		s.mu.Unlock()
		if status != StatusStarting {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// callTool calls a tool that the server has.
func (s *session) callTool(ctx context.Context, tool string, args json.RawMessage, progress func(Progress)) (ToolResult, error) {
	c, err := s.use(ctx)
	if err != nil {
		return ToolResult{}, err
	}
	s.mu.Lock()
	known := slices.ContainsFunc(s.tools, func(t Tool) bool { return t.Name == tool })
	s.mu.Unlock()
	if !known {
		return ToolResult{}, fmt.Errorf("%w: %q of server %q", ErrUnknownTool, tool, s.cfg.Name)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return c.callTool(ctx, tool, args, progress)
}
