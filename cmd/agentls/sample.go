package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/mcp"
)

// sampler lets servers ask the model, once the person at the terminal has
// allowed it. An err says why there is no model.
func (p *parts) sampler(cfg config.Config, llm agent.LLM, err error, ask func(context.Context, agent.Question) (agent.Answer, error)) func(context.Context, mcp.Request) mcp.RequestAnswer {
	return func(ctx context.Context, r mcp.Request) mcp.RequestAnswer {
		if err != nil {
			return mcp.RequestAnswer{Problem: "there is no model to ask: " + err.Error()}
		}
		t := agent.NewSampleTask(r)
		t.LLM, t.Limits, t.Timeout, t.Ask = llm, cfg.Limits, cfg.Approval.Timeout, ask
		return agent.SampleAnswer(p.agent.Sample(ctx, t))
	}
}

// sampleQuestion says what a server wants to ask the model, or what the model
// answered, and asks for one of the answers that count.
func (t *terminal) sampleQuestion(q agent.Question) (note, shown, choices string) {
	show := func(text string) string {
		return strings.ReplaceAll(strings.TrimRight(printable(t.secrets.Redact(text)), "\n"), "\n", "\n  ")
	}
	s := q.Sample
	if s.Answer != nil {
		return fmt.Sprintf("The model answered. Send it to the server %s?", q.Server), show(*s.Answer), "[N]o, [y]es: "
	}
	note = fmt.Sprintf("The server %s wants to ask %s, for up to %d tokens", q.Server, strings.TrimSpace("the model "+s.Model), s.Request.MaxTokens)
	choices = "[N]o, [y]es once, once and [r]eview the answer: "
	if q.Covers != "" {
		choices = fmt.Sprintf("(For the session: %s.)\n  [N]o, [y]es once, once and [r]eview the answer, for this [s]ession: ", oneLine(q.Covers, 300))
	}
	var b strings.Builder
	if s.Request.System != "" {
		b.WriteString("system: " + s.Request.System + "\n")
	}
	for _, m := range s.Request.Messages {
		for _, c := range m.Contents {
			if c.Blob != "" {
				fmt.Fprintf(&b, "%s: [%s %s]\n", m.Role, c.Type, c.MIMEType)
			} else {
				fmt.Fprintf(&b, "%s: %s\n", m.Role, c.Text)
			}
		}
	}
	text := []rune(b.String())
	if len(text) > 20000 {
		return note, show(string(text[:20000])) + "…\n  (That is not all of it.)", choices
	}
	return note, show(string(text)), choices
}

// sampleAnswer reads the answer to such a question; ok is false for a word that
// other questions know as well.
func sampleAnswer(word string) (a agent.Answer, ok bool) {
	if word != "r" && word != "review" {
		return agent.Answer{}, false
	}
	return agent.Answer{Decision: agent.DecisionOnce, Content: json.RawMessage(`{"review":true}`)}, true
}
