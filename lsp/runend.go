package lsp

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

// end tells the rest: `finished`, then the progress' end, then the response
// (CONTRACT §5). Nothing of the run comes after.
func (x *run) end(o outcome) {
	x.flush(x.box.close())
	x.progress.settleToken(false)
	last := runEvent{Kind: eventFinished}
	last.Status, last.StopReason, last.Changed = x.settle(o), x.result.StopReason, x.result.Changed
	if last.Status == runFailed {
		last.Error = failureOf(x.err)
	}
	x.writeEvent(last)
	x.s.runs.end(x, last.Status)
	if x.detached {
		x.progress.settleToken(true) // nobody waits for the run's response
	}
	x.lastWords(last.Status)
	x.tellUnread()
	close(x.done)
	x.tellChanges()
	x.keep(o, last.Status)
}

// failureOf tells in an event why a run failed. What was wrong with what a
// person asked for, or with a server, is theirs to change.
func failureOf(err error) *failureEvent {
	if pe, ok := errors.AsType[*agent.ProviderError](err); ok {
		return &failureEvent{pe.Message, pe.Kind, pe.Retryable}
	}
	return &failureEvent{err.Error(), agent.KindConfig, false}
}

// tellsAnswer reports that a person sees the answer by nothing but us: not in
// a buffer, not by the client's own means.
func (x *run) tellsAnswer() bool { return x.buffer == nil && !x.s.peer.features.runEvents }

// listen collects what the model says, for a run that does not come to its
// result.
func (x *run) listen(p pending) {
	switch {
	case !x.tellsAnswer():
	case p.Kind == agent.EventStep && p.Part == "":
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
	_, isBad := errors.AsType[*paramsError](o.err)
	_, isRefused := errors.AsType[*refusal](o.err)
	switch {
	case o.err == nil && o.result.Status == string(runStopped):
		return runStopped
	case o.err == nil:
		x.result.Status = string(runCompleted)
		return runCompleted
	case x.ctx.Err() != nil:
		x.err = &runError{x.id, x.session, context.Cause(x.ctx)}
		return runCancelled
	case isBad, isRefused:
		x.err = o.err
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
