package lsp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

// show puts a question before the person and takes the answer, until ctx ends.
// When nobody can be reached the question stays open for agentls.approve.
func (q *questions) show(ctx context.Context, w *question) {
	if f := q.s.peer.features; f.approvals || f.plans && w.plan != nil {
		q.showOwn(ctx, w)
	} else {
		q.showStock(ctx, w)
	}
}

// showStock asks by window/showMessageRequest, one at a time. It is of type
// Error because VS Code hides a Warning after 12 s; there are editors that let
// a second request replace the first, which then is never answered. The next
// question waits until the answer counts, since it may settle that one too.
func (q *questions) showStock(ctx context.Context, w *question) {
	if len(w.choices) == 0 {
		q.tellHow(w)
		return
	}
	t := &showTurn{q: q}
	if !t.take(ctx) {
		return
	}
	w.free = t.free
	if ctx.Err() != nil || q.decided(w) {
		return
	}
	dialog := w.dialog
	if dialog == nil {
		dialog = q.oneMessage
	}
	answer, ok, err := dialog(ctx, w, func(text string, titles []string) (string, error) { return q.showActions(ctx, t, text, titles) })
	switch {
	case err != nil:
		if ctx.Err() == nil { // it stays open, and nobody sees it
			w.free()
		}
		q.unreached(ctx, w, err)
	case ok:
		q.resolve(w.id, answer)
	default:
		w.free()
	}
}

// oneMessage is the dialog of a question whose choices are its actions.
func (q *questions) oneMessage(ctx context.Context, w *question, ask askFunc) (answer agent.Answer, ok bool, err error) {
	text := w.message + q.beside(ctx, w)
	if ctx.Err() != nil {
		return answer, false, context.Cause(ctx)
	}
	titles := make([]string, len(w.choices))
	for i, c := range w.choices {
		titles[i] = c.title
	}
	title, err := ask(text, titles)
	if err != nil {
		return answer, false, err
	}
	return w.chosen(title), true, nil
}

// showActions shows one message and gives the title that was chosen; empty:
// the answer names none.
func (q *questions) showActions(ctx context.Context, t *showTurn, text string, titles []string) (title string, err error) {
	if !t.take(ctx) {
		return "", context.Cause(ctx)
	}
	params := protocol.ShowMessageRequestParams{Type: protocol.MessageTypeError, Message: text}
	for _, title := range titles {
		params.Actions = append(params.Actions, protocol.MessageActionItem{Title: title})
	}
	var result protocol.LSPAny
	if err := q.s.call(ctx, "window/showMessageRequest", params, &result); err != nil {
		return "", err
	}
	return chosenTitle(result), nil
}

// chosenTitle is the title in the answer to window/showMessageRequest; empty:
// there is none.
func chosenTitle(result protocol.LSPAny) string {
	var item struct {
		Title string `json:"title"`
	}
	if json.Unmarshal(result, &item) != nil {
		return ""
	}
	return item.Title
}

// showTurn is the place of the one question that a stock client shows.
type showTurn struct {
	q *questions

	mu     sync.Mutex
	held   bool
	silent *time.Timer // gives it up when the client says nothing
}

// take waits for the place, or begins its silence anew. false: ctx has ended.
func (t *showTurn) take(ctx context.Context) bool {
	t.mu.Lock()
	if t.held {
		t.silent.Reset(t.q.silence)
		t.mu.Unlock()
		return true
	}
	t.mu.Unlock()
	select {
	case t.q.slot <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held, t.silent = true, time.AfterFunc(t.q.silence, t.free)
	return true
}

// free gives the place to the next.
func (t *showTurn) free() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held {
		t.held = false
		t.silent.Stop()
		<-t.q.slot
	}
}

// beside shows what is too long for a question about a change, and says where
// it is.
func (q *questions) beside(ctx context.Context, w *question) string {
	if w.whole != "" {
		return " " + q.s.previews.showText(ctx, string(w.kind)+" "+w.server, w.whole) + "."
	}
	if w.preview == nil {
		return ""
	}
	if _, ok := q.s.inWords(*w.preview); ok {
		return ""
	}
	return " " + q.s.previews.show(ctx, w.session, *w.preview) + "."
}

// chosen gives the answer of a stock client. Only an exact title decides.
func (w *question) chosen(title string) agent.Answer {
	for _, c := range w.choices {
		if c.title == title && c.decision == agent.DecisionDeny {
			return deny("denied by the user")
		} else if c.title == title {
			return agent.Answer{Decision: c.decision, Content: c.content}
		}
	}
	return deny(dismissed)
}

// decided looks at the rules again: another answer may have settled a question
// that had to wait.
func (q *questions) decided(w *question) bool {
	if w.recheck == nil {
		return false
	}
	a, ok := w.recheck()
	if ok {
		q.resolve(w.id, a)
	}
	return ok
}

// unreached tells how to answer a question that the client did not show.
func (q *questions) unreached(ctx context.Context, w *question, err error) {
	if ctx.Err() != nil {
		return // the question was withdrawn, or the client is gone
	}
	q.s.o.Log.Info("the client did not show a question", "id", w.id, "err", err)
	q.tellHow(w)
}

func (q *questions) tellHow(w *question) {
	text := w.howToAnswer()
	q.s.showMessage(protocol.MessageTypeWarning, text)
	q.s.logMessage(protocol.MessageTypeWarning, text)
}

// orEmpty gives JSON that is at least an object.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
