package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"agentls/mcp/oauth"
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
	changes       changes
	turns         turns // for long work on lists
	requests      *requests
	attended      bool // somebody can be asked
	eras          *eras
	http          *remoteTransport
	logins        *oauth.Logins
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
	person                time.Duration // how long a server's request waits for a person
	acknowledge           time.Duration // of subscriptions/listen, or the stream that takes its place
	unheard               time.Duration // how old the tools may be at a use, if nothing is notified
	longest               time.Duration // a request whose server reports progress, or waits for a person
	ping, pong            time.Duration // between looks whether a remote server is there, and for its answer
}

func defaultTiming() timing {
	return timing{
		backoff: time.Second, backoffMax: time.Minute, tries: 5, stable: 30 * time.Second, debounce: 300 * time.Millisecond,
		debounceMax: 2 * time.Second, use: 5 * time.Second, question: 5 * time.Second, person: 15 * time.Minute, acknowledge: 5 * time.Second,
		unheard: 10 * time.Second, longest: 15 * time.Minute, ping: 30 * time.Second, pong: 15 * time.Second,
	}
}

// session is one configured server for as long as its configuration stands:
// its state, what it offers, and the goroutine that starts it, keeps its lists
// fresh and starts it again when it is lost. Connections come and go in it.
type session struct {
	*hub
	given  ServerConfig // as configured
	cfg    ServerConfig // with its defaults
	cache  *resourceCache
	values *completionCache
	logs   *serverLog
	carry  func(way) (carrier, error) // starts what the next connection runs on

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
	// sampling has a slot for each request of the server for the model.
	sampling chan struct{}
	asking   chan struct{} // a slot for each request of the server that waits for a person

	unknownTools sync.Once // the configuration's names of tools that there are not, told

	dialed     *connection                 // the last one; of run's goroutine
	address    *address                    // where a remote server is; likewise
	trusted    atomic.Bool                 // may run, as far as trust goes
	loginGuard atomic.Pointer[oauth.Guard] // how a remote server is logged into; nil: it is not, or never was asked

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at each change below
	status     Status
	err        string
	needs      string // what a person must give before it can start
	final      bool   // failed or disabled by configuration: nothing starts it
	conn       *connection
	abort      context.CancelCauseFunc // ends the start under way, if any
	tools      []Tool
	toolsAge   freshness
	prompts    []Prompt
	promptsAge freshness
	told       [listKinds]string // what was told of a list that could not be fetched since it last was
	announced  bool              // EventReady was sent
	toldLogin  bool              // EventFailed told since it was ready that it wants a login
	mourned    bool              // EventLost or EventFailed was sent since it was ready
}

func newSession(h *hub, cfg ServerConfig) *session {
	given := cfg
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.StartupTimeout <= 0 {
		cfg.StartupTimeout = DefaultStartupTimeout
	}
	s := &session{
		hub: h, given: given, cfg: cfg, cache: newResourceCache(cfg.Name), values: &completionCache{}, logs: &serverLog{}, status: StatusStopped,
		done: make(chan struct{}), wake: make(chan struct{}, 1), again: make(chan struct{}, 1), changed: make(chan struct{}),
	}
	s.carry = s.carryConfigured
	s.fetch, s.asking, s.sampling = make(chan struct{}, 1), make(chan struct{}, maxAsking), make(chan struct{}, maxSampling)
	return s
}

// update changes the state in one step and tells those who wait for a change.
func (s *session) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
	s.changes.tell()
}

// set puts a session that does not run into a state.
func (s *session) set(status Status, err string, final bool) {
	s.update(func() { s.status, s.err, s.needs, s.final = status, err, "", final })
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
			if ctx.Err() != nil { // replaced while it waited: it starts nothing
				s.update(func() { s.status, s.err = StatusStopped, "" })
				return
			}
			if s.guard(ctx, s.run) {
				s.update(func() { s.status, s.err = StatusStopped, "" })
			}
		})
	})
}

// halt ends the session, and returns what closes when it is gone, and the one
// that it replaced as well.
func (s *session) halt() <-chan struct{} {
	gone := (<-chan struct{})(s.done) // closes after s.after where it ran
	s.begin.Do(func() {
		close(s.done)
		if s.after != nil {
			gone = s.after
		}
	})
	s.answered()
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop(errStopped)
	}
	return gone
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

// guard keeps a panic over a server's input from ending the process, and
// reports whether there was none.
func (s *session) guard(ctx context.Context, f func(context.Context)) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			s.panicked("server", r)
			err := fmt.Errorf("internal error: %v", r)
			if s.dialed != nil {
				s.dialed.end(err)
			}
			s.update(func() { s.conn, s.final = nil, true })
			s.fail(err)
		}
	}()
	f(ctx)
	return true
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
func (s *session) restart() (runs bool) {
	s.update(func() {
		if runs = s.stop != nil && !s.final && s.status != StatusStopped; !runs {
			return
		}
		s.status, s.err, s.toldLogin = StatusStarting, "", false // from now on nobody uses what is there
		s.poke(s.again)
		if s.abort != nil {
			s.abort(errRestarted)
		}
		if s.conn != nil {
			s.conn.cancel(errRestarted) // a refresh under way ends
		}
	})
	return runs
}

// problem reports something odd that was mended or dropped.
func (s *session) problem(text string) {
	s.logs.add(logOwn, "warning", text)
	s.events.put(Event{Server: s.cfg.Name, Kind: EventProblem, Text: s.secrets.Redact(text)})
}

// info returns a snapshot for the user.
func (s *session) info() ServerInfo {
	resources, fetched := s.cache.count()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := describe(s.cfg, s.trusted.Load(), s.secrets)
	i.Mention = s.cache.snap.Load().mention
	i.Status, i.Error, i.Needs = s.status, s.err, s.needs
	if s.conn != nil {
		i.Protocol = s.conn.version
	}
	count := func(has bool, n int) *int {
		if !has {
			return nil
		}
		return &n
	}
	i.Tools, i.Prompts = count(s.toolsAge.held, len(s.tools)), count(s.promptsAge.held, len(s.prompts))
	i.Resources = count(fetched, resources)
	return i
}
