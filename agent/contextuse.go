package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ContextUse is how full a session's context window is, in tokens as agentls
// counts them.
type ContextUse struct {
	Model  string // may be empty
	Window int    // of the model, as far as it is known
	Room   int    // for a request
	Parts  []ContextPart
	// Messages is how many the session has; so many of the first are summarised.
	Messages, Summarised int
	Last                 Usage // of the last run, as the provider told it
}

// ContextPart is a part of a request.
type ContextPart struct {
	Name   string
	Tokens int
	Count  int // tools, messages …; 0: it has no parts
}

// Used is what a request would have now.
func (u ContextUse) Used() (n int) {
	for _, p := range u.Parts {
		n += p.Tokens
	}
	return n
}

// ContextUse looks at what a task's session would send now. It needs Session,
// Folder, Folders, LLM, Limits and Host.
func (a *Agent) ContextUse(ctx context.Context, task Task) (ContextUse, error) {
	t, err := a.aside(ctx, task)
	if err != nil {
		return ContextUse{}, err
	}
	own, served := t.tools(task.Folders != nil && len(task.Folders()) > 0)
	set := choose(own, served, wish{room: t.toolRoom(), of: &t.s.offering})
	f, system := t.fit(set, t.budget())
	f.all, f.shelf = true, shelf{store: a.results} // nothing is kept of what is only looked at
	messages, size, _ := t.s.excerpt.fit(f)
	said, index, project := t.serversSay(), t.resources(set), t.guidance()
	tokens := func(texts []string) int { return len(strings.Join(texts, "\n")) / 3 }
	m, g := t.model(), a.gauges.of(t.model())
	use := ContextUse{Model: m.Name, Window: windowOf(m, g), Room: t.budget(), Messages: len(t.s.said.entries)}
	summarised := 0
	if s := t.s.said.summary; s.fits(t.s.said.entries) {
		use.Summarised, summarised = s.Upto, t.vocabulary().count(s.forModel())
	}
	if t.s.said.last != nil && t.s.said.last.Usage != nil {
		use.Last = *t.s.said.last.Usage
	}
	tools := toolsTokens(set.specs)
	use.Parts = []ContextPart{
		{"instructions", len(system.Text)/3 - tokens(said) - tokens(index) - tokens(project), 0},
		{"tools", tools, len(set.specs)},
		{"what MCP servers say of themselves", tokens(said), len(said)},
		{"index of MCP resources", tokens(index), len(index)},
		{"AGENTS.md", tokens(project), len(project)},
		{"summary of the conversation", summarised, 0},
		{"conversation", max(size-f.fixed-summarised, 0), len(messages)},
	}
	return use, nil
}

// aside is a thread on a copy of a task's session, for those who only look. A
// session that is not there is an empty one.
func (a *Agent) aside(ctx context.Context, task Task) (*thread, error) {
	r := newRun(a, task)
	r.s = newMemorySession(&session{key: sessionKey{task.Folder, task.Session}, log: a.log})
	said, _, err := a.sessions.look(ctx, r.s.key)
	if err != nil && !errors.Is(err, ErrNoSession) {
		return nil, err
	}
	r.s.said = said
	r.own = &thread{run: r, s: r.s}
	return r.own, nil
}

// Compacted is what became of a session that a person had summarised.
type Compacted struct {
	Messages      int // that are summarised; 0: there was nothing new to summarise
	Before, After int // tokens that they take in a request
	Usage         Usage
}

// CompactSession has the model summarise all of a task's session, which no run
// may work on meanwhile. It needs what [Agent.ContextUse] needs. Errors:
// ErrNoSession, ErrSessionBusy, a [*ProviderError], ctx's cause, or why there is
// no summary; nothing was changed then.
func (a *Agent) CompactSession(ctx context.Context, task Task) (Compacted, error) {
	if standIn, ok := task.LLM.(StandIn); ok {
		return Compacted{}, fmt.Errorf("there is no language model to ask: %s", standIn.StandIn())
	}
	key, err := a.sessions.find([]string{task.Folder}, task.Session)
	if err != nil {
		return Compacted{}, err
	}
	s := a.sessions.enter(key)
	defer a.sessions.leave(s)
	select {
	case s.turn <- struct{}{}:
		defer s.release()
	default:
		return Compacted{}, ErrSessionBusy
	}
	r := newRun(a, task)
	if err := s.begin(ctx, r.notKept); err != nil {
		return Compacted{}, err
	}
	defer a.sessions.finish(ctx, s, a.calls.own)
	r.s, r.own = s, &thread{run: r, s: s}
	return r.own.compactAll(ctx)
}

// compactAll summarises the whole of a history that no run works on.
func (t *thread) compactAll(ctx context.Context) (out Compacted, err error) {
	c := t.s.condensed()
	if len(c.messages)-c.first < 2 {
		return out, nil
	}
	tokens := func(c condensed) (n int) {
		for _, size := range t.s.excerpt.counts.of(t.vocabulary(), c.messages) {
			n += size
		}
		return n
	}
	out.Before = tokens(c)
	made, err := t.summary(ctx, c, len(c.messages))
	switch {
	case ctx.Err() != nil:
		return out, context.Cause(ctx)
	case err != nil:
		return out, err
	}
	t.s.summarise(made)
	out.Messages, out.After, out.Usage = made.Upto, tokens(t.s.condensed()), t.usage()
	return out, nil
}
