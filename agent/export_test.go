package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
)

// Manager lets tests put a double in the place of the real one.
type Manager = manager

// NewWith returns an agent on a double of the manager.
func NewWith(o Options, m Manager, ignored func(path string, dir bool) bool) *Agent {
	a := newAgent(o)
	a.manager = m
	if ignored != nil {
		a.ignored = ignored
	}
	return a
}

// SetHistory puts a history in the place of a session's, as if loaded.
func (a *Agent) SetHistory(folder, session string, history []Message) {
	s := a.sessions.enter(sessionKey{folder, session})
	defer a.sessions.leave(s)
	s.change(record{Type: recordAnew})
	s.add(history...)
	s.file.behind = true // the file has it not
}

// History returns a session's history.
func (a *Agent) History(folder, session string) []Message {
	s := a.sessions.enter(sessionKey{folder, session})
	defer a.sessions.leave(s)
	return s.messages()
}

// Offered returns the names of the tools that a request would offer, sorted.
func (a *Agent) Offered() (names []string) {
	for _, spec := range a.Specs() {
		names = append(names, spec.Name)
	}
	slices.Sort(names)
	return names
}

// Specs returns what a request would offer.
func (a *Agent) Specs() []ToolSpec {
	own, served := a.tools(true)
	return choose(own, served, wish{room: DefaultWindow, of: &offering{}}).specs
}

// FetchFromLoopback lets web_fetch reach a test's servers.
func (a *Agent) FetchFromLoopback() { a.web = newFetcher(nil, "test", loopbackToo) }

// SetTool puts a func in the place of a built-in tool, or beside them. The gate
// is tried without the tools' own work.
func (a *Agent) SetTool(name string, run func(ctx context.Context, args json.RawMessage) (string, error)) {
	a.builtins = slices.DeleteFunc(a.builtins, func(t *tool) bool { return t.name == name })
	a.builtins = append(a.builtins, &tool{name: name, description: name, schema: json.RawMessage(`{"properties":{},"type":"object"}`), run: func(ctx context.Context, _ env, args json.RawMessage) (output, error) {
		text, err := run(ctx, args)
		return output{text: text}, err
	}})
}

// Stub puts a tool that does nothing in the place of a built-in one: what it
// is called with comes out.
func (a *Agent) Stub(names ...string) {
	for _, name := range names {
		a.SetTool(name, func(_ context.Context, args json.RawMessage) (string, error) { return "ran " + string(args), nil })
	}
}

// View is what of a history a model sees.
type View = excerpt

// Fit fits a history into budget tokens, of which fixed are taken; what is left
// out is kept in dir.
func (v *View) Fit(history []Message, prompt, fixed, budget int, dir string) ([]Message, error) {
	s := newStore(dir, slog.New(slog.DiscardHandler))
	got, size, _ := v.fit(fit{all: true, vocabulary: o200k, shelf: s.of(sessionKey{"f", "s"}), history: history, prompt: prompt, fixed: fixed, budget: budget, usual: budget})
	if size > budget {
		return nil, errTooLong
	}
	return got, nil
}

// FitBehind is Fit for a history that a summary begins.
func (v *View) FitBehind(history []Message, prompt, fixed, budget int, dir string) ([]Message, error) {
	s := newStore(dir, slog.New(slog.DiscardHandler))
	got, size, _ := v.fit(fit{all: true, pinned: 1, vocabulary: o200k, shelf: s.of(sessionKey{"f", "s"}), history: history, prompt: prompt, fixed: fixed, budget: budget, usual: budget})
	if size > budget {
		return nil, errTooLong
	}
	return got, nil
}

// Tokens counts as the newest models of OpenAI do.
func Tokens(messages ...Message) (n int) {
	for _, m := range messages {
		n += o200k.message(m)
	}
	return n
}
