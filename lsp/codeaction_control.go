package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agentls/agent"
)

// control offers what ends or goes on with what runs, in any document. It is
// not in a list of one kind: nobody wants to cancel a run, or to send a
// prompt, by a key for the one quick fix.
func (m *menu) control() {
	if m.narrowed() {
		return
	}
	live := m.s.runs.live()
	for i, x := range live {
		if i == handful && len(live) > handful+1 {
			m.offer(kindQuickFix, fmt.Sprintf("Cancel all %d runs", len(live)), "agentls.cancel", struct{}{})
			break
		}
		m.offer(kindQuickFix, "Cancel run: "+cleanTo(x.Prompt, actionMax), "agentls.cancel", map[string]string{"runId": x.RunID})
	}
	if !m.s.peer.features.approvals { // agentls.approve is not announced to those
		waiting := m.s.asks.waiting()
		for _, w := range waiting[:min(len(waiting), handful)] {
			m.decide(w)
		}
	}
	if m.open && isPromptBuffer(m.doc) {
		from := between(m.from, m.to).Start
		at := m.s.docs.offset(m.doc.text, from)
		if body, ok := promptAt(m.doc.text, at); ok && strings.TrimSpace(body) != "" {
			m.offer(kindQuickFix, "Send", "agentls.send", map[string]any{"uri": m.uri, "position": from})
		}
	}
}

// undo offers to take back what the last run changed in the document.
func (m *menu) undo() {
	if m.narrowed() || m.automatic || !m.s.announces("agentls.undo") {
		return
	}
	if x, ok := m.s.runs.changedLast(m.uri); ok {
		m.offer(kindQuickFix, "Undo the changes of: "+cleanTo(x.Prompt, actionMax), "agentls.undo", map[string]string{"runId": x.RunID})
	}
}

// decide offers the safe answer to a question, and to allow it once. What has
// another yes than that, as the trust in a program, has to be seen whole.
func (m *menu) decide(w *question) {
	for _, c := range m.s.decisions(w) {
		m.offer(kindQuickFix, c.Title, c.Command, c.Arguments[0])
	}
}

// decisions are the answers to a question that need no more than a title.
func (s *Server) decisions(w *question) (list []commandLink) {
	about := w.summary(s)
	if w.plan != nil {
		return w.planDecisions(about)
	}
	for i, c := range w.choices {
		if i == 0 || c.title == allowOnce && w.elicit == nil {
			list = append(list, w.decisionLink(c.title+": "+about, c.decision))
		}
	}
	if w.elicit != nil && w.document.file() != "" { // as it is filled in there
		list = append(list, w.decisionLink(sendTheForm+" to "+about, agent.DecisionOnce))
	}
	return list
}

func (w *question) decisionLink(title string, d agent.Decision) commandLink {
	return commandLink{title, "agentls.approve", []any{map[string]string{"id": w.id, "decision": string(d)}}}
}

// summary says in a few words what the question is about.
func (w *question) summary(s *Server) string {
	if command := commandOf(w.server, w.tool, w.arguments); command.Command != "" {
		return "run " + commandShown(s.o.Secrets.Redact(command.Command), actionMax)
	}
	words := []string{w.server, w.tool}
	switch {
	case w.plan != nil:
		words = []string{s.stepTitles(w.plan.Steps)}
	case w.kind == asksElicit:
		words = []string{w.reason}
	case w.preview != nil:
		p := *w.preview
		if path := []rune(p.Path); len(path) > actionMax/2 { // its end says which file it is
			p.Path = "…" + string(path[len(path)-actionMax/2:])
		}
		words = []string{"change " + s.counted(p)}
	case w.tool != "" && len(w.arguments) > 0:
		words = append(words, string(w.arguments))
	}
	text := strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
	if text == "" {
		text = w.reason
	}
	return cleanTo(s.o.Secrets.Redact(text), actionMax)
}

// prepareCodeActionResolve gives an action back as it came: they are whole
// from the first. What waited when it was offered may have been settled since;
// that is said before the command would do nothing.
func prepareCodeActionResolve(s *Server, _ context.Context, params []byte) (serveFunc, error) {
	var a map[string]json.RawMessage
	if err := json.Unmarshal(params, &a); err != nil || a == nil {
		return nil, &paramsError{"params must be a code action"}
	}
	var c struct {
		Command   string `json:"command"`
		Arguments []struct {
			ID    string `json:"id"`
			RunID string `json:"runId"`
		} `json:"arguments"`
	}
	if json.Unmarshal(a["command"], &c) == nil && len(c.Arguments) == 1 {
		arg := c.Arguments[0]
		switch {
		case c.Command == "agentls.approve" && !slices.ContainsFunc(s.asks.waiting(), func(w *question) bool { return w.id == arg.ID }):
			return nil, failed("this question is settled already")
		case c.Command == "agentls.cancel" && arg.RunID != "" && !slices.ContainsFunc(s.runs.live(), func(x runInfo) bool { return x.RunID == arg.RunID }):
			return nil, failed("this run has ended already")
		case c.Command == "agentls.undo" && !s.runs.undoable(arg.RunID):
			return nil, failed("there is nothing more of this run to undo")
		}
	}
	return answerNow(json.RawMessage(params)), nil
}
