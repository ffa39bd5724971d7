package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agentls/agent"
)

// quietHost is [agent.Host] for what asks nobody and tells nothing.
type quietHost struct{ editor }

// Ask denies: there is nothing to ask about.
func (quietHost) Ask(context.Context, agent.Question) (agent.Answer, error) {
	return agent.Answer{}, nil
}

// Emit implements [agent.Host].
func (quietHost) Emit(agent.Event) {}

// sessionTask is a task that only looks at a session, or has it summarised.
func (s *Server) sessionTask(ctx context.Context, id, session string) (agent.Task, error) {
	cfg, llm, err := s.model(ctx)
	if err != nil {
		return agent.Task{}, err
	}
	return agent.Task{
		RunID: id, Session: session, Folder: s.o.Agent.SessionFolder(s.sessionFolders(), session), Folders: s.taskFolders,
		TrustWanted: func() {}, LLM: llm, Approval: cfg.Approval, Limits: cfg.Limits, Host: quietHost{editor{s}},
	}, nil
}

// slashContext shows how full the session's context window is.
func slashContext(s *Server, q *slashRequest) (local, error) {
	return func(ctx context.Context) (string, error) {
		task, err := s.sessionTask(ctx, newID(), q.session)
		if err != nil {
			return "", err
		}
		use, err := s.o.Agent.ContextUse(ctx, task)
		if err != nil {
			return "", s.sessionFailed(q.command, q.session, err)
		}
		return contextText(use), nil
	}, nil
}

// contextText shows what a request would have.
func contextText(u agent.ContextUse) string {
	var b strings.Builder
	name := "The model"
	if u.Model != "" {
		name = code(u.Model)
	}
	fmt.Fprintf(&b, "%s takes %d tokens. About %d of the %d that a request can have are used: %d %%.\n\n", name, u.Window, u.Used(), u.Room, 100*u.Used()/max(u.Room, 1))
	b.WriteString("| part | tokens |\n| --- | ---: |\n")
	for _, p := range u.Parts {
		if p.Tokens <= 0 {
			continue
		}
		what := p.Name
		if p.Count > 0 {
			what += fmt.Sprintf(" (%d)", p.Count)
		}
		fmt.Fprintf(&b, "| %s | %d |\n", what, p.Tokens)
	}
	fmt.Fprintf(&b, "\nThe session has %s", count(u.Messages, "message", "messages"))
	if u.Summarised > 0 {
		fmt.Fprintf(&b, ", of which the first %d are summarised", u.Summarised)
	}
	b.WriteString(".")
	if u.Last.PromptTokens > 0 {
		fmt.Fprintf(&b, " The last run sent %d tokens", u.Last.PromptTokens)
		if u.Last.CachedTokens > 0 {
			fmt.Fprintf(&b, ", %d of which the provider had cached", u.Last.CachedTokens)
		}
		b.WriteString(".")
	}
	return b.String()
}

// slashCompact has the model summarise the session, so that the next prompts have
// more room.
func slashCompact(s *Server, q *slashRequest) (local, error) {
	if s.runs.hasLive(q.session) {
		return nil, q.badf("must wait: a run works on this session; end it with /cancel in a prompt of its own, or wait")
	}
	return func(ctx context.Context) (string, error) {
		task, err := s.sessionTask(ctx, newID(), q.session)
		if err != nil {
			return "", err
		}
		done, err := s.o.Agent.CompactSession(ctx, task)
		switch {
		case errors.Is(err, agent.ErrNoSession), err == nil && done.Messages == 0:
			return "There is nothing new in this session to summarise.", nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errors.Is(err, agent.ErrSessionBusy):
			return "", s.sessionFailed(q.command, q.session, err)
		case err != nil:
			return "", failed("/compact: the session was not summarised and is as it was (%s); send it once more, or choose another model with /model", s.tell(err.Error()))
		}
		if done.After >= done.Before {
			return fmt.Sprintf("The model goes on from a summary of the %d messages above, but it is no shorter: about %d tokens instead of %d. The session keeps them all.", done.Messages, done.After, done.Before), nil
		}
		return fmt.Sprintf("The model goes on from a summary of the %d messages above: about %d tokens instead of %d. The session keeps them all.", done.Messages, done.After, done.Before), nil
	}, nil
}
