package openai

import (
	"encoding/json"
	"sync"

	"github.com/sashabaranov/go-openai"

	"agentls/agent"
)

// Bounds of what is remembered of past calls.
const (
	maxThoughts     = 256
	maxThoughtBytes = 4 << 20
	maxExtra        = 64 << 10 // of one call
)

// thought is what a provider wants to see again beside a tool call, and what
// the history has no place for: the reasoning before it (DeepSeek, Kimi) and
// the provider's own mark on it (Gemini's thought signature).
type thought struct {
	reasoning string
	extra     json.RawMessage
}

// thoughts remembers the latest calls by their ids. Providers ask for the ones
// of the current turn only, so that losing the oldest, or all of them with the
// process, harms nothing.
type thoughts struct {
	mu    sync.Mutex
	of    map[string]thought
	order []string // ids, the oldest first
	size  int
}

func newThoughts() *thoughts { return &thoughts{of: map[string]thought{}} }

// keep remembers the calls of an answer; marks are the providers' own, in the
// order of the calls.
func (t *thoughts) keep(r agent.Response, marks []json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, c := range r.ToolCalls {
		var th thought
		if i == 0 {
			th.reasoning = r.Reasoning // once for all calls of the answer
		}
		if i < len(marks) {
			th.extra = marks[i]
		}
		if th.reasoning == "" && th.extra == nil {
			continue
		}
		t.drop(c.ID)
		t.of[c.ID] = th
		t.order = append(t.order, c.ID)
		t.size += len(th.reasoning) + len(th.extra)
	}
	for len(t.order) > maxThoughts || t.size > maxThoughtBytes {
		t.drop(t.order[0])
	}
}

func (t *thoughts) drop(id string) {
	th, ok := t.of[id]
	if !ok {
		return
	}
	delete(t.of, id)
	t.size -= len(th.reasoning) + len(th.extra)
	for i := range t.order {
		if t.order[i] == id {
			t.order = append(t.order[:i], t.order[i+1:]...)
			return
		}
	}
}

// about gives the reasoning before the calls of a message, and their marks;
// nil when there are none.
func (t *thoughts) about(calls []openai.ToolCall) (reasoning string, marks []json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, c := range calls {
		th := t.of[c.ID]
		if reasoning == "" {
			reasoning = th.reasoning
		}
		if th.extra != nil {
			if marks == nil {
				marks = make([]json.RawMessage, len(calls))
			}
			marks[i] = th.extra
		}
	}
	return reasoning, marks
}
