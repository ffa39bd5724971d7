package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agentls/mcp"
)

// SampleTool is the name of a server's request to the model, in questions and
// in the audit.
const SampleTool = "sampling/createMessage"

// ErrSampleRejected says that a person, or their silence, refused what a server
// wanted to ask the model.
var ErrSampleRejected = errors.New("rejected")

// StandIn is an [LLM] that is no language model: a server must not take what it
// says for the answer of one.
type StandIn interface {
	// StandIn says what to do to have a model.
	StandIn() string
}

// SampleTask is what an MCP server wants to ask the model. It enters no
// session: the model sees what the server gave, and nothing else.
type SampleTask struct {
	Server string // configured name
	// RunID and Session are of the run whose call the server serves; empty:
	// that is not certain.
	RunID, Session string
	Request        mcp.SampleRequest
	LLM            LLM
	Limits         Limits
	Timeout        time.Duration // how long a question stays open; 0: the default
	// Ask puts a question to a person, as [Host] does.
	Ask func(ctx context.Context, q Question) (Answer, error)
}

// NewSampleTask is the task of a server's request; what else it needs is its
// front end's.
func NewSampleTask(r mcp.Request) SampleTask {
	return SampleTask{Server: r.Server, RunID: r.Origin.RunID, Session: r.Origin.Session, Request: r.Sample}
}

// SampleAnswer is what a server's request is answered with for what
// [Agent.Sample] gave.
func SampleAnswer(res mcp.SampleResult, err error) mcp.RequestAnswer {
	switch {
	case err == nil:
		return res.Answer()
	case errors.Is(err, ErrSampleRejected):
		return mcp.RequestAnswer{Decline: true}
	}
	return mcp.RequestAnswer{Problem: err.Error()}
}

// SampleQuestion is what a question of kind "sample" is about. The texts are
// the server's, but for Answer, which is the model's.
type SampleQuestion struct {
	Request mcp.SampleRequest
	Model   string  // that would be asked; may be empty
	Answer  *string // the model's answer, to be reviewed before the server gets it; nil: it was not asked yet
}

// Sample asks a person whether a server may ask the model, asks it, and lets
// the person review the answer who wants to. The error is ErrSampleRejected, a
// [*ProviderError], ctx's cause, or says which bound is reached. Each is
// audited. What it costs counts into the run that it serves.
func (a *Agent) Sample(ctx context.Context, t SampleTask) (res mcp.SampleResult, err error) {
	t.Limits = t.Limits.orDefaults()
	s := sampling{a: a, t: t, began: time.Now(), by: "policy"}
	s.read()
	defer func() { s.audit(ctx, err) }()
	if standIn, ok := t.LLM.(StandIn); ok {
		return res, fmt.Errorf("there is no language model to ask: %s", standIn.StandIn())
	}
	if err := s.permit(ctx); err != nil {
		return res, err
	}
	if res, err = s.complete(ctx); err != nil {
		return mcp.SampleResult{}, err
	}
	if !s.review {
		return res, nil
	}
	return s.reviewed(ctx, res)
}

// sampling is a [SampleTask] on its way.
type sampling struct {
	a      *Agent
	t      SampleTask
	began  time.Time
	by     string    // who decided, for the audit
	reason string    // of a rejection or of a permission that was remembered
	review bool      // the person wants to see the answer first
	asked  []Message // what the model reads
	prompt int       // tokens of it
	taken  int       // tokens that were taken out of what is allowed for the session
}

// key names what an allowance is for: what was allowed of another server of
// the name does not count.
func (s *sampling) key() sampleKey {
	k := sampleKey{server: s.t.Server, session: s.t.Session}
	for _, info := range s.a.manager.Servers() {
		if info.Name == s.t.Server {
			k.fingerprint = info.Fingerprint
		}
	}
	return k
}

// model is the name of the model that would answer.
func (s *sampling) model() Model {
	if d, ok := s.t.LLM.(Described); ok {
		return d.Model()
	}
	return Model{}
}

// permit lets what a person allowed for the session pass, and asks for the
// rest.
func (s *sampling) permit(ctx context.Context) error {
	if err := s.a.samples.room(s.t.Server, s.t.Limits); err != nil {
		return err
	}
	if s.a.samples.take(s.key(), s.cost()) {
		s.by, s.reason, s.taken = "user", string(DecisionSession), s.cost()
		return nil
	}
	q := s.question()
	q.Arguments = s.t.Request.Params
	q.Sample = &SampleQuestion{Request: s.t.Request, Model: s.model().Name}
	if s.t.Session != "" && s.cost() <= sessionTokens(s.t.Limits) {
		q.Covers = fmt.Sprintf("up to %d tokens for this server in this session, unasked", sessionTokens(s.t.Limits))
	}
	answer, err := s.ask(ctx, q)
	if err != nil {
		return err
	}
	if answer.Arguments != nil && !bytes.Equal(answer.Arguments, q.Arguments) {
		edited, err := mcp.ParseSample(answer.Arguments)
		if err != nil {
			s.reason = "the edited arguments cannot be used: " + err.Error()
			return fmt.Errorf("%w: %s", ErrSampleRejected, s.reason)
		}
		s.t.Request = edited
		s.read()
	}
	if answer.Decision != DecisionOnce && q.Covers != "" {
		s.a.samples.allow(s.key(), sessionTokens(s.t.Limits))
		if s.a.samples.take(s.key(), s.cost()) {
			s.taken = s.cost()
		}
	}
	var more struct {
		Review bool `json:"review"`
	}
	_ = json.Unmarshal(answer.Content, &more)
	s.by, s.review, s.reason = decidedBy(answer), more.Review, string(answer.Decision)
	return nil
}

func (s *sampling) question() Question {
	return Question{
		ID: randomID(), Kind: "sample", RunID: s.t.RunID, Session: s.t.Session, Server: s.t.Server, Tool: SampleTool,
		Reason: "the server wants to ask the model", Timeout: cmp.Or(s.t.Timeout, defaultTimeout),
	}
}

// ask puts a question; an answer that does not allow is an error.
func (s *sampling) ask(ctx context.Context, q Question) (Answer, error) {
	answer, err := s.t.Ask(ctx, q)
	if answer.Kept != nil {
		defer answer.Kept()
	}
	switch {
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	case err != nil:
		s.reason = "the question could not be put: " + err.Error()
	case answer.allows():
		return answer, nil
	default:
		s.by, s.reason = decidedBy(answer), cmp.Or(strings.TrimSpace(answer.Reason), "denied")
	}
	return answer, fmt.Errorf("%w: %s", ErrSampleRejected, s.reason)
}

// reviewed shows the answer to the person, who may change its text or keep it.
func (s *sampling) reviewed(ctx context.Context, res mcp.SampleResult) (mcp.SampleResult, error) {
	q := s.question()
	q.Reason = "the model has answered; the server has not got it yet"
	q.Arguments = marshal(map[string]string{"text": res.Text})
	q.Sample = &SampleQuestion{Request: s.t.Request, Model: res.Model, Answer: &res.Text}
	answer, err := s.ask(ctx, q)
	if err != nil {
		return mcp.SampleResult{}, err
	}
	var edited struct {
		Text *string `json:"text"`
	}
	if answer.Arguments != nil {
		if json.Unmarshal(answer.Arguments, &edited) != nil || edited.Text == nil {
			s.reason = `the edited arguments cannot be used: they must be {"text": "…"}`
			return mcp.SampleResult{}, fmt.Errorf("%w: %s", ErrSampleRejected, s.reason)
		}
		res.Text = *edited.Text
	}
	return res, nil
}

// audit writes the one line of the request.
func (s *sampling) audit(ctx context.Context, err error) {
	e := AuditEntry{
		Time: s.began, RunID: s.t.RunID, Session: s.t.Session, Server: s.t.Server, Tool: SampleTool, Arguments: s.t.Request.Params,
		Outcome: Completed, DecidedBy: s.by, Reason: s.a.tellable(s.reason, 300), DurationMS: time.Since(s.began).Milliseconds(),
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		e.Outcome, e.Reason = Cancelled, "cancelled"
	case errors.Is(err, ErrSampleRejected):
		e.Outcome = Rejected
	default:
		e.Outcome, e.Reason = Failed, s.a.tellable(err.Error(), 300)
	}
	s.a.audit.Write(e)
}
