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
		return " " + q.s.previews.showText(ctx, w.kind+" "+w.server, w.whole) + "."
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

// approveParams is the request agentls/approve.
type approveParams struct {
	ID                string          `json:"id"`
	Kind              string          `json:"kind"`
	RunID             string          `json:"runId"`
	Session           string          `json:"session"`
	Server            string          `json:"server"`
	Tool              string          `json:"tool"`
	Description       string          `json:"description"`
	Arguments         json.RawMessage `json:"arguments"`
	Reason            string          `json:"reason"`
	DefinitionChanged bool            `json:"definitionChanged"`
	// Covers is what session and always would allow from then on; empty: both
	// count as once. Decisions are those that make sense, the safe one first.
	Covers    string           `json:"covers"`
	Decisions []agent.Decision `json:"decisions"`
	Preview   *previewParams   `json:"preview,omitzero"`
	Part      string           `json:"part,omitzero"` // of the run that asks
	// Plan is what a question of kind "plan" is about, and Problem says what was
	// wrong with the answer before.
	Plan    *planParams `json:"plan,omitzero"`
	Problem string      `json:"problem,omitzero"`
}

// previewParams is what the call would change of a file. The diff is content,
// as the arguments are.
type previewParams struct {
	Path    string `json:"path"`
	Added   int    `json:"added"` // lines
	Removed int    `json:"removed"`
	Diff    string `json:"diff"` // unified
}

// previewOf is the preview of a question; nil where it has none.
func (w *question) previewOf() *previewParams {
	if w.preview == nil {
		return nil
	}
	return &previewParams{clean(w.preview.Path), w.preview.Added, w.preview.Removed, w.preview.Diff}
}

// showOwn asks a client that announced approvals; its questions are shown
// beside each other. The arguments go whole: they are what will be done, and
// what a person may edit.
func (q *questions) showOwn(ctx context.Context, w *question) {
	if q.decided(w) {
		return
	}
	var problem string
	for again := 0; ; again++ {
		answer, err := q.askOwn(ctx, w, problem)
		switch {
		case answer == nil:
			q.unreached(ctx, w, err)
			return
		case err == nil || w.kind != "elicit" && w.plan == nil || again == maxAgain:
			q.resolve(w.id, *answer)
			return
		}
		problem = err.Error() // of a form or a plan: it is asked again
	}
}

// askOwn asks such a client once. nil: it did not answer, and err says why;
// else err says what was wrong with what it said, which the answer denies.
func (q *questions) askOwn(ctx context.Context, w *question, problem string) (*agent.Answer, error) {
	method, params := "agentls/approve", any(approveParams{
		w.id, w.kind, w.runID, w.session, clean(w.server), clean(w.tool), q.s.tell(w.description), orEmpty(w.arguments), q.s.tell(w.reason), w.changed,
		q.s.tell(w.covers), w.decisions(), w.previewOf(), clean(w.part), w.planParams(q.s), q.s.tell(problem),
	})
	ownPlan := w.plan != nil && q.s.peer.features.plans
	switch {
	case w.elicit != nil:
		method, params = "agentls/elicit", q.elicitParams(w, problem)
	case ownPlan:
		method, params = "agentls/plan", planAsk{w.id, w.runID, w.session, *w.planParams(q.s), q.s.tell(problem)}
	}
	var result protocol.LSPAny
	if err := q.s.call(ctx, method, params, &result); err != nil {
		return nil, err
	}
	if ownPlan {
		return w.planReply(result)
	}
	no := deny(dismissed)
	var a struct {
		Decision  agent.Decision  `json:"decision"`
		Reason    string          `json:"reason"`
		Arguments json.RawMessage `json:"arguments"`
		Content   json.RawMessage `json:"content"`
	}
	if readable := json.Unmarshal(result, &a) == nil; !readable || a.Decision == "" {
		return &no, nil
	}
	answer, err := w.answerOf(a.Decision, a.Reason, a.Arguments, a.Content)
	if err != nil {
		return &no, err
	}
	return &answer, nil
}

// answerOf is [answerOf] for a question that may want more than a decision.
func (w *question) answerOf(d agent.Decision, reason string, arguments, content json.RawMessage) (agent.Answer, error) {
	answer, err := answerOf(d, reason, arguments)
	if err == nil && w.plan != nil {
		c, err := planContentOf(d, reason, content)
		if err != nil {
			return agent.Answer{}, err
		}
		if answer, err = w.planAnswer(c); err != nil {
			err = badf("agentls.approve: content.steps cannot run: %s; mend them", err)
		}
		return answer, err
	}
	if err != nil || answer.Decision == agent.DecisionDeny {
		return answer, err
	}
	answer.Content = content // as given: what is null in it must not get its default
	if w.elicit != nil {
		_, err = w.elicit.check(content)
	}
	return answer, err
}

// answerOf checks an answer that came in words of the protocol.
func answerOf(d agent.Decision, reason string, arguments json.RawMessage) (agent.Answer, error) {
	if err := oneOf("agentls.approve", "decision", string(d), "once", "session", "always", "deny"); err != nil {
		return agent.Answer{}, err
	}
	if string(arguments) == "null" {
		arguments = nil
	}
	if len(arguments) > 0 && arguments[0] != '{' {
		return agent.Answer{}, badf("agentls.approve: arguments must be an object, the tool's arguments as edited")
	}
	if d != agent.DecisionDeny {
		return agent.Answer{Decision: d, Arguments: arguments}, nil
	}
	if reason == "" {
		reason = "denied by the user"
	}
	return deny(reason), nil
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
