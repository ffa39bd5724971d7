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
// the history has no place for: the reasoning before it (DeepSeek, Kimi, GLM),
// the parts of that (OpenRouter, Anthropic) and the provider's own mark on the
// call (Gemini's thought signature).
type thought struct {
	reasoning string
	field     string          // of the message, that the parts stand in
	parts     json.RawMessage // nil: none
	extra     json.RawMessage
}

func (t thought) bytes() int { return len(t.reasoning) + len(t.parts) + len(t.extra) }

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

// keep remembers the calls of an answer, and what n saw beside them.
func (t *thoughts) keep(r agent.Response, n *normaliser) {
	marks := n.slots.marks()
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, c := range r.ToolCalls {
		var th thought
		if i == 0 { // once for all calls of the answer
			th.reasoning, th.field, th.parts = r.Reasoning, n.details.field, n.details.whole()
		}
		if i < len(marks) {
			th.extra = marks[i]
		}
		if th.bytes() == 0 {
			continue
		}
		t.drop(c.ID)
		t.of[c.ID] = th
		t.order = append(t.order, c.ID)
		t.size += th.bytes()
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
	t.size -= th.bytes()
	for i := range t.order {
		if t.order[i] == id {
			t.order = append(t.order[:i], t.order[i+1:]...)
			return
		}
	}
}

// about is what is known of the calls of a message: of the whole, and the mark
// of each.
func (t *thoughts) about(calls []openai.ToolCall) (all messageThought) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, c := range calls {
		th := t.of[c.ID]
		if all.reasoning == "" {
			all.reasoning = th.reasoning
		}
		if all.parts == nil {
			all.field, all.parts = th.field, th.parts
		}
		if th.extra != nil {
			if all.marks == nil {
				all.marks = make([]json.RawMessage, len(calls))
			}
			all.marks[i] = th.extra
		}
	}
	return all
}

// messageThought is what a provider wants to see again with one message.
type messageThought struct {
	reasoning string
	field     string
	parts     json.RawMessage
	marks     []json.RawMessage // of the calls; nil: none has one
}
