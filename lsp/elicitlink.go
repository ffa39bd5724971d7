package lsp

import (
	"context"
	"encoding/json"
	"fmt"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/mcp"
)

// openAgain is the content of the answer that wants a link opened once more.
const openAgain = `{"open":true}`

// hostShown is whose a link is: its host, with what an international name reads
// as, which may look like another one.
func hostShown(l mcp.Link) string {
	if l.Decoded == "" {
		return l.Host
	}
	return l.Host + " (which reads " + quoteVisible(clean(l.Decoded)) + ")"
}

// linkQuestion asks whether a link may be opened, or whether what it was opened
// for is done. The link is shown whole (client/elicitation, 2026-07-28, Safe URL
// Handling): it is ASCII without spaces, and short enough.
func (q *questions) linkQuestion(w *question, r mcp.Request) {
	l := r.Elicit.Link
	w.elicit = &elicitation{link: &l, opened: r.Elicit.Opened}
	w.arguments, _ = json.Marshal(map[string]any{"mode": "url", "url": l.URL, "host": hostShown(l), "opened": r.Elicit.Opened}) // strings always encode
	server, says := q.s.tell(r.Server), q.s.tell(r.Elicit.Message)
	if r.Elicit.Opened {
		w.reason = fmt.Sprintf("%s waits until you are done at %s: %s", server, hostShown(l), says)
		w.message = w.reason + " (" + l.URL + ")"
		w.choices = []choice{
			{title: decline, decision: agent.DecisionDeny},
			{title: "Continue", decision: agent.DecisionOnce},
			{title: "Open again", decision: agent.DecisionOnce, content: json.RawMessage(openAgain)},
		}
		return
	}
	w.reason = fmt.Sprintf("%s wants you to open a page of %s in your browser: %s", server, hostShown(l), says)
	w.message = sentence(w.reason) + " The whole address is " + l.URL
	if l.Decoded != "" {
		w.message += " (Careful: the name of its host is spelled with letters that can pass for others.)"
	}
	w.choices = []choice{{title: decline, decision: agent.DecisionDeny}, {title: "Open", decision: agent.DecisionOnce}}
}

// openLink lets the client open a link that a person consented to; where it
// cannot, the person is told. The link is never fetched here.
func (s *Server) openLink(ctx context.Context, w *question) {
	err := s.openExternal(ctx, w.elicit.link.URL)
	if err == nil || ctx.Err() != nil {
		return
	}
	s.o.Log.Info("the client did not open a link", "host", w.elicit.link.Host, "error", err)
	s.showMessage(protocol.MessageTypeWarning, fmt.Sprintf("%s: your editor did not open it. Open this in your browser: %s", s.tell(w.server), w.elicit.link.URL))
}
