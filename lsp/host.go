package lsp

import (
	"context"

	"agentls/agent"
)

// editor is [agent.Editor].
type editor struct{ s *Server }

// Document gives the text of an open file as the editor has it now.
func (e editor) Document(path string) (string, bool) {
	d, ok := e.s.openFile(path)
	return d.text, ok
}

// Edit changes the text of an open file in the editor.
func (e editor) Edit(ctx context.Context, edit agent.Edit) (agent.Edited, error) {
	d, ok := e.s.openFile(edit.Path)
	if !ok {
		return agent.Edited{}, agent.ErrNotOpen
	}
	return e.s.replace(ctx, d, edit)
}

// Diagnostics gives what other language servers say of a file since it was
// edited.
func (e editor) Diagnostics(ctx context.Context, path string) []string {
	if d, ok := e.s.openFile(path); ok {
		return e.s.diagnostics.since(ctx, d)
	}
	return nil
}

// host is [agent.Host] on the editor, for one run.
type host struct {
	editor
	x *run
}

// openFile gives the open document of a file at a path, however the editor
// spells it.
func (s *Server) openFile(path string) (document, bool) {
	s.docs.flush() // the state is kept a little behind the editor
	if known, ok := s.o.State.ByPath(path); ok {
		return s.docs.get(known.URI)
	}
	return s.docs.linked(path)
}

// Ask puts the question to the person and marks the run as waiting meanwhile.
func (h host) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	return h.x.s.asks.askInRun(ctx, h.x, toolQuestion(h.x.s, q))
}

// askInRun is ask in the name of a run, which is marked as waiting meanwhile;
// nil: it is in the name of none.
func (q *questions) askInRun(ctx context.Context, x *run, w *question) (agent.Answer, error) {
	if x == nil {
		return q.ask(ctx, w)
	}
	q.s.runs.wait(x, +1)
	defer q.s.runs.wait(x, -1)
	tell := func(state string, d agent.Decision) {
		x.box.put(pending{Event: agent.Event{Kind: eventApproval}, approval: &approvalEvent{w.id, w.kind, clean(w.server), clean(w.tool), state, d}})
	}
	tell("open", "")
	answer, err := q.ask(ctx, w)
	if err == nil {
		tell("resolved", answer.Decision)
	} else {
		tell("resolved", agent.DecisionDeny)
	}
	return answer, err
}

// Emit hands the event to the run's teller. Never blocks.
func (h host) Emit(e agent.Event) {
	h.x.box.put(pending{Event: e})
	if b := h.x.buffer; b != nil {
		switch e.Kind {
		case agent.EventText:
			b.feed(e.Delta)
		case agent.EventStep:
			if e.Part == "" {
				b.pause()
			}
		}
	}
}
