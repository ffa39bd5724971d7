package lsp

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/agent/config"
)

// run is one prompt on its way. Its goroutines are owned by [runs] and awaited
// through gone: the worker, which calls the agent, the teller, which alone
// writes what the client hears of the run, and its buffer's.
type run struct {
	s        *Server
	id       string
	session  string
	folder   string // that its session is bound to, where that is known; ""
	prompt   string // user input, whole; grows while the run is queued, guarded by runs.mu
	action   agent.Action
	mode     agent.Mode     // how it works; "": agent.ModeReAct
	mcp      *promptRequest // the MCP prompt that it begins with; nil: none
	local    local          // answers in the agent's place; nil: the agent does
	steer    *agent.Steer   // what is added once it runs
	document *attachment
	buffer   *bufferWriter // the prompt buffer that the answer goes to; nil: none
	sent     promptSum     // of the block of the prompt buffer; zero: there is none
	detached bool

	// ctx is the run's life; it ends by one of the four ways to cancel
	// (CONTRACT §5), always with a cause that is an agent.ErrCancelled.
	ctx    context.Context //nolint:containedctx // it is the run's lifetime
	cancel context.CancelCauseFunc

	turn    chan struct{} // closed when the run is the first of its session
	box     *mailbox
	outcome chan outcome  // the worker's last word
	done    chan struct{} // closed when all was told; result and err are set before
	gone    chan struct{} // closed when its goroutines have ended
	result  agent.Result
	err     error           // a [*runError], a [*paramsError] or a [*refusal]
	before  <-chan struct{} // closed when what came before in the session is kept; nil: nothing came
	kept    chan struct{}   // closed when this is
	said    []byte          // the last step's text; the teller's
	changes []agent.Change  // that nobody was asked about; the teller's

	token    protocol.ProgressToken // of its progress; nil: none
	progress progress               // the teller's
	seq      int                    // of the last event; the teller's

	// Guarded by runs.mu.
	status    runStatus
	begun     bool
	startedAt time.Time
	questions int
	step      int      // the model call that it is at; 0: none yet
	plan      string   // how far its plan is; "": none runs
	writing   bool     // its answer has begun in its buffer
	changed   []string // finished: the canonical URIs of what it changed, and that was not undone
	asked     string   // what was asked for, in words for a person
	head      string   // its beginning, fit to be shown
}

const (
	behindFrom = 64 << 10              // bytes unread by the client, from which deltas are held to merge
	holdFor    = 10 * time.Millisecond // until it is looked again
)

// clientIsBehind reports whether the client does not keep up with reading.
func (s *Server) clientIsBehind() bool { return s.wire.out.behind() > behindFrom }

// outcome is how the work on a run ended.
type outcome struct {
	result agent.Result
	err    error
}

// start starts the goroutines; they end within the grace after ctx ended,
// except a worker whose agent does not come back.
func (x *run) start() {
	var wg sync.WaitGroup
	x.box.put(pending{Event: agent.Event{Kind: eventQueued}})
	wg.Go(x.work)
	wg.Go(x.teller)
	if x.buffer != nil {
		wg.Go(x.buffer.write)
	}
	go func() { // ends with them
		wg.Wait()
		close(x.gone)
	}()
}

// work waits for the run's turn and runs the agent. The last word of a
// cancelled run waits in its channel even when nobody takes it any more.
func (x *run) work() {
	var o outcome
	defer func() {
		// A run is foreign input from the model down to the tools.
		if p := recover(); p != nil {
			x.s.o.Log.Error("run panicked", "run", x.id, "panic", p, "stack", string(debug.Stack()))
			o.err = &agent.ProviderError{Kind: agent.KindInternal, Message: "internal error: " + fmt.Sprint(p)}
		}
		x.outcome <- o
	}()
	o.result, o.err = x.serve()
	if x.buffer != nil {
		x.buffer.finish(o)
	}
}

// queue names those that x waits for: the runs of its session, and for what
// asks no model nothing.
func (x *run) queue() string {
	if x.local != nil {
		return "\x00" + x.id // no session has such a name
	}
	return x.session
}

func (x *run) serve() (agent.Result, error) {
	if x.local != nil {
		return x.answer()
	}
	if err := x.document.load(); err != nil {
		return agent.Result{}, err
	}
	select {
	case <-x.turn:
	case <-x.ctx.Done():
	}
	if err := x.s.runs.begin(x); err != nil {
		return agent.Result{}, err
	}
	x.box.put(pending{Event: agent.Event{Kind: eventStarted}})
	task, err := x.task()
	if err != nil {
		return agent.Result{}, err
	}
	x.s.docs.flush() // mentions read the state
	return x.s.o.Agent.Run(x.ctx, task)
}

// task puts together what the agent needs, with the configuration of now.
func (x *run) task() (agent.Task, error) {
	cfg, llm, err := x.s.model(x.ctx)
	if err != nil {
		return agent.Task{}, err
	}
	var prompt *agent.PromptUse
	if x.mcp != nil {
		if prompt, err = x.mcp.use(x.ctx, x.s); err != nil {
			return agent.Task{}, err
		}
	}
	task := agent.Task{
		RunID: x.id, Session: x.session, Folders: x.s.taskFolders, TrustWanted: func() { x.s.asks.askFolder(false) }, Prompt: x.prompt, MCPPrompt: prompt, Action: x.action,
		Attachment: x.document.attachment(), LLM: llm, Approval: cfg.Approval, Limits: cfg.Limits, Mode: x.mode, Host: host{editor{x.s}, x}, Steer: x.steer,
	}
	folders := x.s.folders()
	if len(folders) > 0 {
		task.Workspace = folders[0]
	}
	if x.folder != "" {
		folders = append([]string{x.folder}, folders...)
	}
	task.Folder = x.s.o.Agent.SessionFolder(folders, x.session)
	return task, nil
}

// model is the configuration of now and the model that it names.
func (s *Server) model(ctx context.Context) (*config.Config, agent.LLM, error) {
	cfg, err := s.settings.inForce(ctx)
	if err != nil {
		return cfg, nil, err
	}
	llm, err := s.llm(cfg)
	if err != nil {
		s.chooser.offerOnce(cfg.Provider)
		return cfg, nil, &agent.ProviderError{
			Kind: agent.KindConfig, Err: err,
			Message: fmt.Sprintf("The provider %q cannot be used: %v. Choose another one with agentls.setup, or change it in agentls' configuration (`agentls doctor` says where).", cfg.Provider.Name, err),
		}
	}
	return cfg, llm, nil
}

// teller tells the client what happens, and ends the run when the work is
// done, or when a cancelled one does not come back in time.
func (x *run) teller() {
	defer x.s.runs.keptBy(x)
	defer func() {
		if p := recover(); p != nil {
			x.giveUp(x.s.panicked("a run", p))
		}
	}()
	x.progress.begin(x)
	defer x.progress.stop()
	cancelled := x.ctx.Done()
	var grace, held <-chan time.Time
	for {
		select {
		case <-x.box.wake:
			// Deltas merge in the mailbox while the client is behind.
			if held == nil && !x.s.clientIsBehind() {
				x.flush(x.box.take())
			} else if held == nil {
				held = time.After(holdFor)
			}
		case <-held:
			if held = nil; x.s.clientIsBehind() {
				held = time.After(holdFor)
			} else {
				x.flush(x.box.take())
			}
		case <-x.progress.due:
			x.progress.report()
		case ok := <-x.progress.made:
			x.progress.opened(ok)
		case <-cancelled:
			cancelled = nil
			grace = time.After(x.s.runs.grace)
		case o := <-x.outcome:
			x.end(o)
			return
		case <-grace:
			x.end(outcome{err: context.Cause(x.ctx)})
			return
		}
	}
}

// flush tells what the mailbox gave.
func (x *run) flush(events []pending) {
	for _, p := range events {
		switch p.Kind {
		case agent.EventStep:
			if p.Part == "" { // a person counts those of the run itself
				x.s.runs.stepped(x, p.Step)
			}
		case agent.EventWaits:
		case agent.EventChange:
			x.changes = append(x.changes, *p.Change)
		case agent.EventNotice:
			x.s.showMessage(protocol.MessageTypeWarning, "agentls: "+x.s.tell(string(p.delta)))
		case agent.EventAway:
			x.s.warn("agentls: " + x.s.tell(string(p.delta)))
		case agent.EventHint:
			x.s.inform("agentls: " + x.s.tell(string(p.delta)))
		case agent.EventPlan:
			x.s.runs.planned(x, planStands(p.Plan))
			x.writeEvent(p.wire(x.s))
		default:
			x.writeEvent(p.wire(x.s))
		}
		x.progress.note(p)
		x.listen(p)
	}
}
