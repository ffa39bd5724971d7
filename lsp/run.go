package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

// run is one prompt on its way. Its goroutines are owned by [runs] and awaited
// through gone: the worker, which calls the agent, the teller, which alone
// writes what the client hears of the run, and its buffer's.
type run struct {
	s        *Server
	id       string
	session  string
	prompt   string // user input, whole; grows while the run is queued, guarded by runs.mu
	action   agent.Action
	steer    *agent.Steer // what is added once it runs
	document *attachment
	buffer   *bufferWriter // the prompt buffer that the answer goes to; nil: none
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
	err     error           // a [*runError] or a [*paramsError]
	before  <-chan struct{} // closed when what came before in the session is kept; nil: nothing came
	kept    chan struct{}   // closed when this is
	said    []byte          // the last step's text; the teller's

	token    protocol.ProgressToken // of its progress; nil: none
	progress progress               // the teller's
	seq      int                    // of the last event; the teller's

	// Guarded by runs.mu.
	status    runStatus
	begun     bool
	startedAt time.Time
	questions int
	asked     string // what was asked for, in words for a person
	head      string // its beginning, fit to be shown
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

func (x *run) serve() (agent.Result, error) {
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
	cfg, err := x.s.settings.inForce(x.ctx)
	if err != nil {
		return agent.Task{}, err
	}
	var llm agent.LLM
	err = errors.New(cfg.Provider.Err)
	if cfg.Provider.Err == "" {
		llm, err = x.s.o.NewLLM(cfg.Provider)
	}
	if err != nil {
		return agent.Task{}, &agent.ProviderError{
			Kind: agent.KindConfig, Err: err,
			Message: fmt.Sprintf("The provider %q cannot be used: %v. Change it in agentls' configuration (`agentls doctor` says where).", cfg.Provider.Name, err),
		}
	}
	task := agent.Task{
		RunID: x.id, Session: x.session, Folders: x.s.folders(), Prompt: x.prompt, Action: x.action,
		Attachment: x.document.attachment(), LLM: llm, Approval: cfg.Approval, Limits: cfg.Limits, Host: host{editor{x.s}, x}, Steer: x.steer,
	}
	if len(task.Folders) > 0 {
		task.Folder = task.Folders[0]
	}
	return task, nil
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
		case agent.EventStep, agent.EventWaits:
		case agent.EventNotice:
			x.s.showMessage(protocol.MessageTypeWarning, "agentls: "+x.s.tell(string(p.delta)))
		default:
			x.writeEvent(p.wire(x.s))
		}
		x.progress.note(p)
		x.listen(p)
	}
}

// end tells the rest: `finished`, then the progress' end, then the response
// (CONTRACT §5). Nothing of the run comes after.
func (x *run) end(o outcome) {
	x.flush(x.box.close())
	last := runEvent{Kind: eventFinished}
	last.Status, last.StopReason = x.settle(o), x.result.StopReason
	if pe, ok := errors.AsType[*agent.ProviderError](x.err); ok && last.Status == runFailed {
		last.Error = &failureEvent{pe.Message, pe.Kind, pe.Retryable}
	}
	x.writeEvent(last)
	x.s.runs.end(x, last.Status)
	if x.detached {
		x.progress.awaitToken() // nobody waits for the run's response
	}
	x.lastWords(last.Status)
	x.tellUnread()
	close(x.done)
	x.keep(o, last.Status)
}

// tellsAnswer reports that a person sees the answer by nothing but us: not in
// a buffer, not by the client's own means.
func (x *run) tellsAnswer() bool { return x.buffer == nil && !x.s.peer.features.runEvents }

// listen collects what the model says, for a run that does not come to its
// result.
func (x *run) listen(p pending) {
	switch {
	case !x.tellsAnswer():
	case p.Kind == agent.EventStep:
		x.said = nil
	case p.Kind == agent.EventText:
		x.said = append(x.said, p.delta...)
	}
}

// keep lets a person see the answer, after it was given: a client that does
// not answer must not hold up the response.
func (x *run) keep(o outcome, status runStatus) {
	if !x.tellsAnswer() || !x.s.runs.hasBegun(x) {
		return
	}
	if x.before != nil {
		<-x.before
	}
	text := strings.TrimSpace(o.result.Text)
	if text == "" {
		text = strings.TrimSpace(string(x.said))
	}
	if text == "" && x.s.alive.Err() != nil {
		return // nothing was said, and nobody is there
	}
	note := ending(x.s, o, x.ctx.Err() != nil, text == "")
	if text != "" && note != "" {
		text += "\n\n"
	}
	x.s.answers.tell(x.s.alive, exchange{x.session, x.s.runs.whole(x), text + note}, status == runCompleted || status == runStopped)
}

// ending says how a run ended that did not complete, or that it said nothing;
// else it is "".
func ending(s *Server, o outcome, cancelled, silent bool) string {
	switch {
	case o.err != nil && cancelled:
		return "*(cancelled)*"
	case o.err != nil:
		return "*(failed: " + strings.ReplaceAll(s.tell(o.err.Error()), "*", "") + ")*"
	case o.result.Status == string(runStopped):
		return "*(stopped: " + clean(cmp.Or(o.result.Note, o.result.StopReason)) + ")*"
	case silent:
		return "*(no answer)*"
	}
	return ""
}

// giveUp ends a run that cannot be told of any more, or whoever waits for it
// would wait for ever.
func (x *run) giveUp(err error) {
	x.cancel(cancelled(err))
	x.box.close()
	x.s.runs.end(x, runFailed)
	x.tellUnread()
	select {
	case <-x.done:
	default:
		x.err = &runError{x.id, x.session, err}
		close(x.done)
	}
}

// settle makes the run's answer of the worker's last word.
func (x *run) settle(o outcome) runStatus {
	x.result = o.result
	x.result.RunID, x.result.Session = x.id, x.session
	bad, isBad := errors.AsType[*paramsError](o.err)
	switch {
	case o.err == nil && o.result.Status == string(runStopped):
		return runStopped
	case o.err == nil:
		x.result.Status = string(runCompleted)
		return runCompleted
	case x.ctx.Err() != nil:
		x.err = &runError{x.id, x.session, context.Cause(x.ctx)}
		return runCancelled
	case isBad:
		x.err = bad
		return runFailed
	}
	pe := *agent.AsProviderError(o.err)
	pe.Message = x.s.o.Secrets.Redact(pe.Message)
	x.err = &runError{x.id, x.session, &pe}
	return runFailed
}

// lastWords ends the progress, and says why a detached run failed where
// nothing else does.
func (x *run) lastWords(status runStatus) {
	told := x.detached && !x.s.peer.features.runEvents
	switch status {
	case runFailed:
		x.progress.end("failed")
		if told {
			x.s.showMessage(protocol.MessageTypeError, "agentls: the run of “"+x.head+"” failed: "+x.s.tell(x.err.Error()))
		}
	case runCancelled:
		x.progress.end("cancelled")
	default:
		words := ""
		switch {
		case told && status == runStopped:
			words = "stopped: " + x.s.tell(cmp.Or(x.result.Note, x.result.StopReason))
		case told:
			words = x.s.tell(x.result.Text)
		}
		x.progress.end(cmp.Or(words, string(status)))
	}
}

// await is the second half of a blocking request: it ends with the run, and
// the run with it.
func (x *run) await(ctx context.Context) (any, error) {
	stop := context.AfterFunc(ctx, func() { x.cancel(cancelled(context.Cause(ctx))) })
	defer stop()
	<-x.done // closed within the grace after a cancel
	if x.err != nil {
		return nil, x.err
	}
	return x.result, nil
}
