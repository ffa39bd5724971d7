package lsp

import (
	"context"
	"encoding/json"

	"agentls/agent"
)

// approvalInfo is one line of agentls.approvals.
type approvalInfo struct {
	ID        string          `json:"id"`
	Kind      questionKind    `json:"kind"`
	RunID     string          `json:"runId,omitzero"`
	Server    string          `json:"server,omitzero"`
	Tool      string          `json:"tool,omitzero"`
	Arguments json.RawMessage `json:"arguments,omitzero"`
	Reason    string          `json:"reason"`
	Deadline  string          `json:"deadline"` // RFC 3339
	// The rest is as in agentls/approve, and as agentls/elicit: a client that lost
	// its question can show all of it again.
	Session     string `json:"session,omitzero"`
	Description string `json:"description,omitzero"`
	Changed     bool   `json:"definitionChanged,omitzero"`

	Covers    string           `json:"covers,omitzero"`
	Decisions []agent.Decision `json:"decisions"`
	Preview   *previewParams   `json:"preview,omitzero"`
	Part      string           `json:"part,omitzero"`
	Plan      *planParams      `json:"plan,omitzero"`
	Elicit    *elicitParams    `json:"elicit,omitzero"`
}

func prepareApprovals(s *Server, _ context.Context, _ none, _ invocation) (serveFunc, error) {
	list := []approvalInfo{}
	for _, w := range s.asks.waiting() {
		info := approvalInfo{
			ID: w.id, Kind: w.kind, RunID: w.runID, Server: clean(w.server), Tool: clean(w.tool), Arguments: orEmpty(w.arguments), Reason: s.tell(w.reason),
			Deadline: w.deadlineOf(), Session: w.session, Description: s.tell(w.description), Changed: w.changed, Covers: s.tell(w.covers),
			Decisions: w.decisions(), Preview: w.previewOf(), Part: clean(w.part), Plan: w.planParams(s),
		}
		if w.elicit != nil {
			p := s.asks.elicitParams(w, "")
			info.Elicit = &p
		}
		list = append(list, info)
	}
	return answerNow(list), nil
}

// approvedInfo is the result of agentls.approve.
type approvedInfo struct {
	Resolved bool `json:"resolved"` // false: it was settled before
}

// approveArg is the argument of agentls.approve.
type approveArg struct {
	ID        *string         `json:"id"`
	Decision  *string         `json:"decision" contract:"Decision"`
	Reason    *string         `json:"reason"`
	Arguments json.RawMessage `json:"arguments"`
	Content   json.RawMessage `json:"content"` // what the question asks for: {name: value}
}

func prepareApprove(s *Server, _ context.Context, arg approveArg, in invocation) (serveFunc, error) {
	if err := required(in.command, "id", arg.ID); err != nil {
		return nil, err
	}
	if err := required(in.command, "decision", arg.Decision); err != nil {
		return nil, err
	}
	w := s.asks.find(*arg.ID)
	if w == nil {
		w = &question{} // the rest of the argument is checked all the same
	}
	decision := agent.Decision(*arg.Decision)
	if read := w.reads(decision, arg.Content); read != nil {
		return func(context.Context) (any, error) {
			content, err := read()
			if err != nil {
				return nil, err
			}
			answer, err := w.answerOf(decision, deref(arg.Reason), arg.Arguments, content)
			if err != nil {
				return nil, w.document.mend(err)
			}
			return approvedInfo{s.asks.resolve(*arg.ID, answer)}, nil
		}, nil
	}
	answer, err := w.answerOf(decision, deref(arg.Reason), arg.Arguments, arg.Content)
	if err != nil {
		return nil, err
	}
	return answerNow(approvedInfo{s.asks.resolve(*arg.ID, answer)}), nil
}
