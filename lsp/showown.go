package lsp

import (
	"context"
	"encoding/json"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

// approveParams is the request agentls/approve.
type approveParams struct {
	ID                string          `json:"id"`
	Kind              questionKind    `json:"kind"`
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
	Plan     *planParams `json:"plan,omitzero"`
	Problem  string      `json:"problem,omitzero"`
	Deadline string      `json:"deadline"` // RFC 3339; after it the question is denied
}

// previewParams is what the call would change of a file. The diff is content,
// as the arguments are.
type previewParams struct {
	Path    string `json:"path"`
	URI     string `json:"uri"`
	Added   int    `json:"added"` // lines
	Removed int    `json:"removed"`
	Diff    string `json:"diff"` // unified
}

// approveReply answers agentls/approve and agentls/elicit.
type approveReply struct {
	Decision  agent.Decision  `json:"decision"`
	Reason    string          `json:"reason,omitzero"`
	Arguments json.RawMessage `json:"arguments,omitzero"` // as edited
	Content   json.RawMessage `json:"content,omitzero"`   // what the question asks for: {name: value}
}

// previewOf is the preview of a question; nil where it has none.
func (w *question) previewOf() *previewParams {
	if w.preview == nil {
		return nil
	}
	return &previewParams{clean(w.preview.Path), w.preview.URI, w.preview.Added, w.preview.Removed, w.preview.Diff}
}

// deadlineOf is when a question that is open is denied: RFC 3339, in seconds.
func (w *question) deadlineOf() string { return w.deadline.UTC().Format(time.RFC3339) }

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
		case err == nil || w.kind != asksElicit && w.plan == nil || again == maxAgain:
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
		q.s.tell(w.covers), w.decisions(), w.previewOf(), clean(w.part), w.planParams(q.s), q.s.tell(problem), w.deadlineOf(),
	})
	ownPlan := w.plan != nil && q.s.peer.features.plans
	switch {
	case w.elicit != nil:
		method, params = "agentls/elicit", q.elicitParams(w, problem)
	case ownPlan:
		method, params = "agentls/plan", planAsk{w.id, w.runID, w.session, *w.planParams(q.s), q.s.tell(problem), w.deadlineOf()}
	}
	var result protocol.LSPAny
	if err := q.s.call(ctx, method, params, &result); err != nil {
		return nil, err
	}
	if ownPlan {
		return w.planReply(result)
	}
	no := deny(dismissed)
	var a approveReply
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
