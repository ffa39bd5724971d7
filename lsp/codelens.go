package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

// codeLens is a command that stands above a line.
type codeLens struct {
	Range   protocol.Range `json:"range"`
	Command commandLink    `json:"command"`
}

// serveCodeLens is textDocument/codeLens: what can be done with the turns of a
// prompt buffer (CONTRACT §6).
func serveCodeLens(s *Server, _ context.Context, m promptModel, _ promptParams) (any, error) {
	return s.lenses(m.doc, s.bufferState(m)), nil
}

// lenses collects those of one prompt buffer.
type lenses struct {
	s     *Server
	doc   document
	state bufferState
	spans []textSpan // where each stands
	links []commandLink
	sends map[int]sendLink // those among links that need their position
}

func (s *Server) lenses(doc document, state bufferState) []codeLens {
	l := lenses{s: s, doc: doc, state: state, sends: map[int]sendLink{}}
	l.collect()
	list := make([]codeLens, len(l.links))
	for i, at := range s.rangesOf(doc.text, l.spans) {
		if link, ok := l.sends[i]; ok {
			link.Position = &at.Start
			l.links[i].Arguments = []any{link}
		}
		list[i] = codeLens{at, l.links[i]}
	}
	return list
}

func (l *lenses) collect() {
	waiting := l.waiting()
	retry := l.lastAnswered()
	for i := range l.state.blocks {
		b := &l.state.blocks[i]
		if !b.mine() {
			l.undo(b)
			continue
		}
		live := b.live
		if i == l.state.last {
			live = slices.Concat(live, l.state.loose)
		}
		for _, x := range live {
			l.add(b, "Cancel ("+x.standing()+")", "agentls.cancel", map[string]string{"runId": x.id})
			l.decide(b, waiting[x.id])
		}
		switch {
		case b.empty || len(b.live) > 0:
		case !b.answered:
			l.send(i, "Send")
		case i == retry:
			l.send(i, "Send again")
		}
		if i == l.state.last {
			l.decide(b, waiting[""])
		}
	}
}

// standing says in a few words what a live run does.
func (x sessionRun) standing() string {
	switch {
	case x.status == runWaiting:
		return "waits for you"
	case x.status == runRunning && x.plan != "":
		return x.plan
	case x.status == runRunning && x.step > 0:
		return fmt.Sprintf("step %d", x.step)
	case x.status == runRunning:
		return "starting"
	}
	return string(x.status)
}

// lastAnswered is the turn that can be tried again: the history of earlier ones
// has gone on since. -1 while the session works, or where there is none.
func (l *lenses) lastAnswered() int {
	at := -1
	for i := range l.state.blocks {
		if b := &l.state.blocks[i]; b.mine() && b.answered {
			at = i
		}
		if len(l.state.blocks[i].live) > 0 {
			return -1
		}
	}
	if len(l.state.loose) > 0 {
		return -1
	}
	return at
}

// add puts a lens above a block.
func (l *lenses) add(b *blockState, title, command string, argument any) {
	l.links = append(l.links, commandLink{title, command, []any{argument}})
	l.spans = append(l.spans, b.heading)
}

// send offers to send a block, in each mode that there is. The last block needs
// no position: text that is added before it cannot make another one of it.
func (l *lenses) send(i int, title string) {
	b := &l.state.blocks[i]
	argument := sendLink{URI: l.doc.spelled}
	add := func(title string) {
		if i != l.state.last {
			l.sends[len(l.links)] = argument
		}
		l.add(b, title, "agentls.send", argument)
	}
	add(title)
	for _, m := range agent.Modes() {
		if m.Command != "" && !b.answered && b.takesMode(l.doc.text) {
			argument.Mode = m.Mode
			add(strings.ToUpper(m.Command[:1]) + m.Command[1:])
		}
	}
}

// takesMode reports whether a block does not say by a `/` line what becomes of
// it. A prompt of a server can be worked on in any mode.
func (b *blockState) takesMode(text string) bool {
	if len(b.slash) == 0 || !b.slash[0].leads {
		return true
	}
	line, ok := agent.ParseSlash(b.slash[0].line.of(text))
	return !ok || line.Server != ""
}

// sendLink is the argument of agentls.send in a lens.
type sendLink struct {
	URI      string             `json:"uri"`
	Position *protocol.Position `json:"position,omitzero"`
	Mode     agent.Mode         `json:"mode,omitzero"`
}

// undo offers to take back what an answer's run changed.
func (l *lenses) undo(b *blockState) {
	if b.by != nil && b.by.changed && l.s.announces("agentls.undo") {
		l.add(b, "Undo changes", "agentls.undo", map[string]string{"runId": b.by.id})
	}
}

// waiting gives the questions that a person can answer here, by run: those of
// the session's runs, and under "" those of no run.
func (l *lenses) waiting() map[string][]*question {
	by := map[string][]*question{}
	for _, w := range l.s.asks.waiting() {
		if w.runID == "" || w.session == l.state.session {
			by[w.runID] = append(by[w.runID], w)
		}
	}
	return by
}

func (l *lenses) decide(b *blockState, waiting []*question) {
	if !l.s.announces("agentls.approve") {
		return
	}
	for _, w := range waiting[:min(len(waiting), handful)] {
		for _, c := range l.s.decisions(w) {
			l.add(b, c.Title, c.Command, c.Arguments[0])
		}
	}
}

// announces reports whether this client knows a command.
func (s *Server) announces(command string) bool {
	return slices.Contains(s.commandNames(), command)
}
