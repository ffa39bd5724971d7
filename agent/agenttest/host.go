package agenttest

import (
	"context"
	"os"
	"slices"
	"sync"

	"agentls/agent"
)

// Host is a front end that records what it is told. Its zero value has no
// documents open and denies every question.
type Host struct {
	// Answer answers questions; nil: all are denied. It is called beside
	// itself, as an editor is.
	Answer func(ctx context.Context, q agent.Question) (agent.Answer, error)
	// On is called for each event, in order; nil: it is only recorded.
	On func(agent.Event)
	// Editing is called before an edit of an open document; an error is
	// Edit's, and nothing is edited. nil: every edit is taken.
	Editing func(agent.Edit) error
	// Found gives the diagnostics of an edited file; nil: there are none.
	Found func(ctx context.Context, path string) []string
	// Keeps says that edited documents are not saved.
	Keeps bool

	mu        sync.Mutex
	documents map[string]string
	events    []agent.Event
	questions []agent.Question
}

// Open gives a file's text as an editor has it; path is absolute.
func (h *Host) Open(path, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.documents == nil {
		h.documents = map[string]string{}
	}
	h.documents[path] = text
}

// Document implements [agent.Host].
func (h *Host) Document(path string) (text string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, ok = h.documents[path]
	return text, ok
}

// Edit implements [agent.Host]: on what Open gave. A document that is saved is
// written to its path where there is a file.
func (h *Host) Edit(ctx context.Context, e agent.Edit) (agent.Edited, error) {
	if h.Editing != nil {
		if err := h.Editing(e); err != nil {
			return agent.Edited{}, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	text, ok := h.documents[e.Path]
	switch {
	case !ok:
		return agent.Edited{}, agent.ErrNotOpen
	case text != e.Before:
		return agent.Edited{}, agent.ErrStale
	case ctx.Err() != nil:
		return agent.Edited{}, context.Cause(ctx)
	}
	disk, err := os.ReadFile(e.Path)
	saved := err == nil && string(disk) == text && !h.Keeps
	if saved {
		if err := os.WriteFile(e.Path, []byte(e.After), 0o600); err != nil {
			return agent.Edited{}, err
		}
	}
	h.documents[e.Path] = e.After
	return agent.Edited{URI: "file://" + e.Path, Text: e.After, Saved: saved}, nil
}

// Diagnostics implements [agent.Host].
func (h *Host) Diagnostics(ctx context.Context, path string) []string {
	if h.Found == nil {
		return nil
	}
	return h.Found(ctx, path)
}

// Ask implements [agent.Host].
func (h *Host) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	h.mu.Lock()
	h.questions = append(h.questions, q)
	h.mu.Unlock()
	if h.Answer == nil {
		return agent.Answer{Decision: agent.DecisionDeny}, nil
	}
	return h.Answer(ctx, q)
}

// Emit implements [agent.Host].
func (h *Host) Emit(e agent.Event) {
	h.mu.Lock()
	h.events = append(h.events, e)
	h.mu.Unlock()
	if h.On != nil {
		h.On(e)
	}
}

// Events returns what was told so far.
func (h *Host) Events() []agent.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// Questions returns what was asked so far.
func (h *Host) Questions() []agent.Question {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.questions)
}

// Always is an Answer func that decides the same on every question.
func Always(d agent.Decision) func(context.Context, agent.Question) (agent.Answer, error) {
	return func(context.Context, agent.Question) (agent.Answer, error) {
		return agent.Answer{Decision: d}, nil
	}
}

// Folders gives the folders of a task whose folders stay what they are.
func Folders(paths ...string) func() []agent.Folder {
	var list []agent.Folder
	for _, path := range paths {
		list = append(list, agent.Folder{Path: path})
	}
	return func() []agent.Folder { return list }
}
