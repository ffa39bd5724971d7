package openai

import (
	"crypto/rand"
	"strings"

	"github.com/sashabaranov/go-openai"

	"agentls/agent"
)

// callCost is what each tool call counts beside its text against the limit.
const callCost = 256

// answer gathers the chunks of one answer.
type answer struct {
	limit, size     int
	text, reasoning strings.Builder
	calls           []*gathered // by the index that the normaliser gave
	finish          string
	usage           agent.Usage
}

type gathered struct {
	id, name string
	args     strings.Builder
}

// add takes in a chunk and tells its deltas; false: the answer is too large.
func (a *answer) add(chunk openai.ChatCompletionStreamResponse, on func(agent.Delta)) bool {
	if u := chunk.Usage; u != nil {
		a.usage = agent.Usage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
		if d := u.PromptTokensDetails; d != nil {
			a.usage.CachedTokens = min(d.CachedTokens, u.PromptTokens)
		}
	}
	for _, c := range chunk.Choices {
		d := agent.Delta{Text: c.Delta.Content, Reasoning: c.Delta.ReasoningContent}
		a.size += len(d.Text) + len(d.Reasoning)
		for _, t := range c.Delta.ToolCalls {
			a.size += len(t.Function.Arguments) + len(t.Function.Name)
			a.call(t)
		}
		if a.size > a.limit {
			return false
		}
		if d != (agent.Delta{}) {
			a.text.WriteString(d.Text)
			a.reasoning.WriteString(d.Reasoning)
			on(d)
		}
		if c.FinishReason != "" {
			a.finish = string(c.FinishReason)
		}
	}
	return true
}

func (a *answer) call(t openai.ToolCall) {
	i := len(a.calls)
	if t.Index != nil {
		i = min(*t.Index, i)
	}
	if i == len(a.calls) {
		a.calls = append(a.calls, &gathered{})
		a.size += callCost
	}
	g := a.calls[i]
	if t.ID != "" {
		g.id = t.ID
	}
	if t.Function.Name != "" {
		g.name = strings.TrimSpace(t.Function.Name)
	}
	g.args.WriteString(t.Function.Arguments)
}

// partial is what had arrived when an answer failed.
func (a *answer) partial() agent.Response {
	return agent.Response{Text: a.text.String(), Reasoning: a.reasoning.String(), Usage: a.usage}
}

// response is the whole answer.
func (a *answer) response() agent.Response {
	r := a.partial()
	r.FinishReason = a.finish
	taken := map[string]bool{}
	for _, g := range a.calls {
		c := agent.ToolCall{ID: g.id, Name: g.name, Arguments: g.args.String()}
		if strings.TrimSpace(c.Arguments) == "" {
			c.Arguments = "{}"
		}
		for c.ID == "" || taken[c.ID] {
			c.ID = newCallID()
		}
		taken[c.ID] = true
		r.ToolCalls = append(r.ToolCalls, c)
	}
	switch {
	case len(r.ToolCalls) > 0 && (r.FinishReason == "stop" || r.FinishReason == ""):
		r.FinishReason = "tool_calls"
	case r.FinishReason == "":
		r.FinishReason = "stop"
	}
	return r
}

// newCallID makes an id of nine letters and digits, the only form that every
// provider takes back (Mistral's rule is the narrowest).
func newCallID() string { return rand.Text()[:9] }
