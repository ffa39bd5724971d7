package lsp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/mcp"
	"agentls/mcp/workspace"
)

// ProtocolVersion is the version of LSP that is served.
const ProtocolVersion = protocol.Version

// Options is what a [Server] needs.
type Options struct {
	Version string
	Agent   *agent.Agent
	Audit   *agent.Audit
	Manager *mcp.Manager
	State   *workspace.State
	Config  config.Source
	NewLLM  func(config.Provider) (agent.LLM, error)
	// Models lists what a provider offers, the likeliest to be wanted first.
	// Errors are sentences for a person. Nil: no provider can be asked.
	Models func(context.Context, config.Provider) ([]string, error)
	// Local are the programs on this machine that are looked for by their port;
	// nil: the well-known ones.
	Local []config.KnownProvider
	// Own: the client is of this process, and runs no command that a link in a
	// message names.
	Own      bool
	StateDir string // <state>
	Secrets  *mcp.Secrets
	Log      *slog.Logger
	Alive    func(pid int) bool // whether a process lives; watched for processId
}

// Server serves one connection: a single accept(2), not a listen(2).
type Server struct {
	o Options

	conn jsonrpc2.Conn                 // for calls to the client; set by Serve
	peer peer                          // set by initialize, before any other request is served
	cfg  atomic.Pointer[config.Config] // never nil after New
	docs *documents
	runs *runs
	asks *questions

	wire        *transport // set by Serve
	stage       stage      // of the read loop
	talking     bool       // initialized came; of the read loop
	exitCode    atomic.Int32
	route       func(method string) (prep prepare, inline bool)
	inflight    *inflight
	requests    sync.WaitGroup // one goroutine per request, see requested
	settings    *settings
	diagnostics *diagnosticsFetcher
	answers     *answers
	copying     sync.Mutex // held while a copy of a resource is written
	previews    *previews
	prompts     *promptWatch
	buffers     *bufferSessions
	chooser     *chooser
	models      *models
	logins      logins

	// alive is the connection's lifetime: it ends with cause errGone when
	// Serve winds up. Requests and background work hang on it.
	alive      context.Context //nolint:containedctx // see above
	background sync.WaitGroup  // goroutines that end with alive
}

// peer is what the client told in initialize.
type peer struct {
	name     string // clientInfo.name, "" when absent
	version  string // clientInfo.version
	caps     protocol.ClientCapabilities
	features features // experimental.agentls
	trusted  bool     // initializationOptions.workspaceTrusted
	literals bool     // takes code actions that are more than commands
	encoding protocol.PositionEncodingKind
}

// features are the words a client announces in capabilities.experimental.agentls.
type features struct{ runEvents, approvals, plans, diagnostics, save, servers, model bool }

// The end of a connection takes these at most, together under the 2 s of
// CONTRACT §1.
const (
	windUpTime = 900 * time.Millisecond // until all is answered
	flushTime  = 300 * time.Millisecond // until the client has taken the answers
	readerTime = 100 * time.Millisecond // until the reader has noticed
	watchEvery = 250 * time.Millisecond // the client's process is looked at
)

// New returns a server that is ready to Serve.
func New(o Options) *Server {
	if o.Models == nil {
		o.Models = func(context.Context, config.Provider) ([]string, error) {
			return nil, errors.New("no provider can be asked here")
		}
	}
	s := &Server{o: o, docs: newDocuments(o.State), route: route, inflight: newInflight()}
	s.settings, s.diagnostics = newSettings(s), newDiagnosticsFetcher(s)
	cfg := config.Default()
	s.cfg.Store(&cfg)
	s.answers, s.previews, s.chooser = newAnswers(s), newPreviews(s), newChooser(s)
	s.prompts = newPromptWatch(s)
	s.docs.watch = s.prompts.note
	s.buffers = newBufferSessions(s)
	s.models = newModels(s)
	s.runs, s.asks = newRuns(s), newQuestions(s)
	return s
}

// Serve speaks LSP on r and w until the peer is gone, exit comes, ctx ends or
// the client's process dies. Before it returns all runs are cancelled and
// answered, and r and w are closed where they can be, so that no goroutine
// waits for them. (A read of a stdin that cannot be interrupted ends with the
// process.) The returned code is the process's exit code by LSP: 0 after
// shutdown and exit, 1 after exit alone, 0 on EOF.
func (s *Server) Serve(ctx context.Context, r io.Reader, w io.Writer) (code int, err error) {
	alive, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s.alive = alive
	s.wire = newTransport(r, s, s.o.Log)
	s.conn = jsonrpc2.NewConn(s.wire, jsonrpc2.WithCodec(codec{}))
	go s.wire.out.write(w) // ends when windUp closes the outbox, or w fails
	s.background.Go(func() { s.docs.mirror(alive) })
	// No request reaches jsonrpc2's handler, see transport.
	s.conn.Go(alive, jsonrpc2.MethodNotFoundHandler)

	select {
	case <-s.wire.ended:
	case <-s.wire.out.failed:
	case <-ctx.Done():
	}
	s.windUp(cancel)
	closeEnd(w)
	closeEnd(r)
	select {
	case <-s.conn.Done():
	case <-time.After(readerTime):
	}
	if err := s.failure(); err != nil {
		return 1, err
	}
	return int(s.exitCode.Load()), nil
}

// failure says why the connection ended, where it was neither the client's
// will nor its death.
func (s *Server) failure() error {
	err := s.wire.out.failure()
	if err == nil || errors.Is(err, errUnread) {
		return errors.Join(err, s.wire.failure())
	}
	s.o.Log.Info("the client takes nothing more", "error", err)
	return s.wire.failure()
}

// windUp cancels everything, and sees to it that every request has its answer
// and the client a chance to take it. It closes the manager.
func (s *Server) windUp(cancel context.CancelCauseFunc) {
	s.wire.end(nil)
	cancel(errGone)
	ctx, done := context.WithTimeout(context.Background(), windUpTime)
	defer done()
	// Children take a second to end, so they are told while the rest is still
	// waited for, but after the runs had time to cancel their calls.
	children := time.AfterFunc(s.runs.grace, s.o.Manager.Close) // awaited by its owner's Close
	s.runs.close(ctx, errGone)
	children.Reset(0)
	s.inflight.close(ctx, s.wireError("", errGone))
	s.settle(ctx)
	s.previews.close()
	flush, done := context.WithTimeout(context.Background(), flushTime)
	defer done()
	s.wire.out.close(flush)
}

// settle waits for the goroutines of requests and of the background, or for
// ctx: one that is stuck in foreign code must not keep the process.
func (s *Server) settle(ctx context.Context) {
	settled := make(chan struct{})
	go func() { // ends when they do
		s.requests.Wait()
		s.background.Wait()
		close(settled)
	}()
	select {
	case <-settled:
	case <-ctx.Done():
		s.o.Log.Warn("work of the connection goes on after its end")
	}
}

func closeEnd(end any) {
	if c, ok := end.(io.Closer); ok {
		_ = c.Close() // there is nobody to tell
	}
}

// exit is LSP's exit notification.
func (s *Server) exit() {
	if s.stage != shutDown {
		s.exitCode.Store(1)
	}
	s.wire.end(nil)
}

// watch ends the connection when the client's process has died. It returns
// when it did, or with ctx.
func (s *Server) watch(ctx context.Context, pid int) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !s.o.Alive(pid) {
				s.o.Log.Info("the editor's process has died", "pid", pid)
				s.wire.end(nil)
				return
			}
		}
	}
}

// call sends a request to the client and decodes its result (nil: dropped).
// When ctx ends the client gets $/cancelRequest and call returns the cause. An
// error that the client answers is a [*jsonrpc2.Error].
func (s *Server) call(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	id, err := s.conn.Call(ctx, method, params, result)
	if err != nil && ctx.Err() != nil {
		if n, ok := id.Number(); ok {
			s.notify("$/cancelRequest", map[string]int64{"id": n})
		}
		return context.Cause(ctx)
	}
	return err
}

// notify sends a notification. It never blocks.
func (s *Server) notify(method string, params any) {
	var raw []byte
	var err error
	if params != nil {
		raw, err = codec{}.Marshal(params)
	}
	if err != nil {
		s.o.Log.Error("notification cannot be encoded", "method", method, "error", err)
		return
	}
	// Not by way of jsonrpc2, which sends nothing once the input has ended. An
	// outbox that takes nothing more ends the connection by itself.
	_ = s.wire.out.put(func(dst []byte) []byte { return jsonrpc2.AppendNotification(dst, method, raw) })
}
