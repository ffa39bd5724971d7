package offline

import (
	"context"
	"strings"
	"time"

	"agentls/agent"
)

// LLM implements [agent.LLM] by rules.
type LLM struct {
	pause time.Duration // between words, when the prompt asks to go slowly
}

// New returns the stand-in.
func New() *LLM { return &LLM{pause: 50 * time.Millisecond} }

// StandIn implements [agent.StandIn].
func (l *LLM) StandIn() string {
	return "agentls has no provider; choose one with agentls.setup or `agentls init`"
}

// Complete answers the last prompt of req: it quotes the resources mentioned,
// calls the tools named, reports what they gave, or lists what is connected.
// It streams word by word and fails only with ctx's cause.
func (l *LLM) Complete(ctx context.Context, req agent.Request, on func(agent.Delta)) (agent.Response, error) {
	t := newTurn(req)
	var r agent.Response
	err := l.stream(ctx, t.answer(), t.slow(), func(word string) {
		r.Text += word
		if on != nil {
			on(agent.Delta{Text: word})
		}
	})
	if err != nil {
		return r, err
	}
	r.FinishReason = "stop"
	if r.ToolCalls = t.calls; len(t.calls) > 0 {
		r.FinishReason = "tool_calls"
	}
	return r, nil
}

// stream says text word by word, each with the white space behind it.
func (l *LLM) stream(ctx context.Context, text string, slowly bool, say func(word string)) error {
	for word := range words(text) {
		if slowly {
			select {
			case <-ctx.Done():
			case <-time.After(l.pause):
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		say(word)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// words cuts text after each run of white space.
func words(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			end := strings.IndexAny(text, " \n")
			if end < 0 {
				end = len(text)
			}
			for end < len(text) && (text[end] == ' ' || text[end] == '\n') {
				end++
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}
