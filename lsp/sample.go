package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/mcp"
)

// The titles of a question about sampling, beside Deny and Allow once.
const (
	allowAndReview = "Allow once and show me the answer"
	allowSession   = "Allow for this session"
	sendAnswer     = "Send the answer"
)

// sampleWhole bounds what is shown of a request beside the question.
const sampleWhole = 2000 // lines, and code points of each

// serveSample lets a server ask the model, once a person has allowed it
// (CONTRACT §9). What it asks enters no session.
func (q *questions) serveSample(ctx context.Context, r mcp.Request) mcp.RequestAnswer {
	s := q.s
	cfg, err := s.settings.inForce(ctx)
	if err != nil {
		return mcp.RequestAnswer{Problem: "the configuration is not read yet: " + err.Error()}
	}
	llm, err := s.llm(cfg)
	if err != nil {
		return mcp.RequestAnswer{Problem: "there is no model to ask: " + err.Error()}
	}
	t := agent.NewSampleTask(r)
	t.LLM, t.Limits, t.Timeout, t.Ask = llm, cfg.Limits, cfg.Approval.Timeout, s.asker(r.Origin.RunID)
	res, err := s.o.Agent.Sample(ctx, t)
	if err != nil && ctx.Err() == nil && !errors.Is(err, agent.ErrSampleRejected) {
		s.o.Log.Info("a server's request to the model failed", "server", r.Server, "err", s.o.Secrets.Redact(err.Error()))
	}
	return agent.SampleAnswer(res, err)
}

// llm is the model that the configuration names.
func (s *Server) llm(cfg *config.Config) (agent.LLM, error) {
	if cfg.Provider.Err != "" {
		return nil, errors.New(cfg.Provider.Err)
	}
	return s.o.NewLLM(cfg.Provider)
}

// asker puts questions in the name of a run, which waits meanwhile, as far as
// there is one.
func (s *Server) asker(runID string) func(context.Context, agent.Question) (agent.Answer, error) {
	return func(ctx context.Context, a agent.Question) (agent.Answer, error) {
		return s.asks.askInRun(ctx, s.runs.find(runID), toolQuestion(s, a))
	}
}

// sampleQuestion words a question about sampling.
func (w *question) sampleQuestion(s *Server, a agent.Question) {
	deny := choice{title: "Deny", decision: agent.DecisionDeny}
	if a.Sample.Answer != nil {
		w.choices = []choice{deny, {title: sendAnswer, decision: agent.DecisionOnce}}
		w.message, w.whole = s.answerMessage(a)
		return
	}
	review, _ := json.Marshal(map[string]bool{"review": true}) // always encodes
	w.choices = []choice{deny, {title: allowOnce, decision: agent.DecisionOnce}, {allowAndReview, agent.DecisionOnce, review}}
	if a.Covers != "" {
		w.choices = append(w.choices, choice{title: allowSession, decision: agent.DecisionSession})
	}
	w.message, w.whole = s.sampleMessage(a)
}

// sampleMessage words what a server wants to ask the model, and gives all of it
// where the message does not hold it.
func (s *Server) sampleMessage(a agent.Question) (message, whole string) {
	r := a.Sample.Request
	var all []string
	if r.System != "" {
		all = append(all, "system: "+r.System)
	}
	for _, m := range r.Messages {
		all = append(all, m.Role+": "+contentWords(m.Contents))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: may this server ask the model", s.tell(a.Server))
	if a.Sample.Model != "" {
		b.WriteString(" " + s.tell(a.Sample.Model))
	}
	fmt.Fprintf(&b, ", for up to %d tokens", r.MaxTokens)
	if len(r.Hints) > 0 {
		b.WriteString(" (it would like " + s.tell(strings.Join(r.Hints, ", ")) + ")")
	}
	shown := s.tell(strings.Join(all, " / "))
	b.WriteString("? It says: " + shown)
	if a.Covers != "" {
		b.WriteString(" — For the session: " + s.tell(a.Covers) + ".")
	}
	if strings.HasSuffix(shown, "…") || slices.ContainsFunc(all, func(text string) bool { return strings.ContainsRune(text, '\n') }) {
		whole = s.shownWhole(strings.Join(all, "\n\n"))
	}
	return b.String(), whole
}

// answerMessage words the model's answer, before the server gets it.
func (s *Server) answerMessage(a agent.Question) (message, whole string) {
	shown := s.tell(*a.Sample.Answer)
	if strings.HasSuffix(shown, "…") || strings.ContainsRune(*a.Sample.Answer, '\n') {
		whole = s.shownWhole(*a.Sample.Answer)
	}
	return fmt.Sprintf("%s: send this answer of the model to the server? %s", s.tell(a.Server), shown), whole
}

// shownWhole makes a foreign text fit for a document that a person reads.
func (s *Server) shownWhole(text string) string {
	shown, more := cleanLines(s.o.Secrets.Redact(text), sampleWhole, sampleWhole)
	if more {
		shown += "\n\n(That is not all: agentls.approvals has the whole.)"
	}
	return shown + "\n"
}

// contentWords are the texts of a message; what is none is named.
func contentWords(contents []mcp.Content) string {
	var parts []string
	for _, c := range contents {
		switch {
		case c.Blob != "":
			parts = append(parts, fmt.Sprintf("[%s %s]", c.Type, c.MIMEType))
		case c.Text == "" && c.URI != "":
			parts = append(parts, "["+c.Type+" "+c.URI+"]")
		default:
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n")
}
