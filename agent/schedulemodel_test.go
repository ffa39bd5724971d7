package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// scheduledModel is the model of a run: it follows the run's script, and holds
// each answer where a provider would.
type scheduledModel struct{ r *scheduledRun }

// Complete implements [agent.LLM].
func (m scheduledModel) Complete(ctx context.Context, req agent.Request, on func(agent.Delta)) (agent.Response, error) {
	r := m.r
	r.starts("a model call")
	rnd := r.chance("answer", requestKey(req), r.count(requestKey(req)))
	if rnd.IntN(5) == 0 {
		leave := r.in(atBackOff)
		on(agent.Delta{Waits: "429: asked again in 2 s"})
		sleep(ctx, milliseconds(rnd, 4000))
		leave()
	}
	first := r.in(atFirst)
	defer first()
	sleep(ctx, milliseconds(rnd, 2000))
	resp, err := r.llm.Complete(ctx, req, func(d agent.Delta) {
		first()
		on(d)
		place := atText
		if d.Reasoning != "" {
			place = atReasoning
		}
		defer r.in(place)()
		sleep(ctx, milliseconds(rnd, 300))
	})
	first()
	switch {
	case err != nil:
	case len(resp.ToolCalls) > 0:
		r.in(atAnswer)()
	default:
		r.in(atEnd)()
	}
	return resp, err
}

// requestKey tells requests of a run apart, the same each time.
func requestKey(req agent.Request) string {
	h := fnv.New64a()
	for _, m := range req.Messages {
		if m.Role == agent.User { // what a person wrote, or a task
			_, _ = h.Write([]byte(strings.Fields(m.Text + " -")[0]))
		}
	}
	return fmt.Sprint(len(req.Messages), h.Sum64())
}

// script draws the answer to a request.
func (r *scheduledRun) script(n int, req agent.Request) agenttest.Step {
	rnd := r.chance("script", requestKey(req), r.count("script"+requestKey(req)))
	var s agenttest.Step
	if rnd.IntN(2) == 0 {
		s.Text = []string{"some ", fmt.Sprint("text ", n)}
	}
	if rnd.IntN(4) == 0 {
		s.Reasoning = []string{"hm"}
	}
	if rnd.IntN(8) > 0 { // else agentls has to count
		s.Usage = agent.Usage{PromptTokens: rnd.IntN(1000), CompletionTokens: rnd.IntN(100)}
	}
	what := rnd.IntN(14)
	if r.aim == atAddedExpansion {
		what = 13 // many turns
	}
	switch what {
	case 0:
		s.Block = true
	case 1:
		s.Err = &agent.ProviderError{Kind: agent.KindNetwork, Message: "lost"}
	case 2:
		s.Panic = "bug"
	case 3:
		s.Err = &agent.ProviderError{Kind: agent.KindNetwork, Message: "lost", Retryable: true, Began: true}
	case 4:
		s.Err = &agent.ProviderError{Kind: agent.KindRateLimit, Message: "too many requests", Retryable: true}
	case 5, 6:
		s.Finish = []string{"", "length", "content_filter"}[rnd.IntN(3)]
	default:
		if r.aim == atEnd && rnd.IntN(2) == 0 {
			break // an answer
		}
		s.Calls = scheduledCalls(rnd)
		if edits := r.aim == atEdit || r.aim == atDiagnostics; edits && rnd.IntN(2) == 0 || rnd.IntN(8) == 0 {
			s.Calls = append(s.Calls, r.edit())
		}
		if rnd.IntN(8) == 0 {
			s.Finish = "stop"
		}
	}
	return s
}

// scheduledCalls draws calls of any tool with arguments that say what it does,
// or with wrong ones.
func scheduledCalls(rnd *rand.Rand) (calls []agent.ToolCall) {
	tools := []string{"mcp__fake__echo", "mcp__fake__sleep", "mcp__fake__stubborn", "mcp__fake__fail", "mcp__fake__error", "mcp__fake__panic", "mcp__fake__progress", "nosuch", "no such!"}
	for _, k := range callKinds {
		tools = append(tools, k.tool)
	}
	args := []string{
		"", "{}", `{"text":"x"}`, `{"uri":"file://doc.md"}`, "null", "[1]", `{"broken`, `{"path":"../x"}`,
		`{"do":"wait","ms":700}`, `{"do":"wait","ms":5000,"path":"a.txt"}`, `{"do":"deaf"}`, `{"do":"fail","command":"ls"}`, `{"do":"panic"}`, `{"do":"long"}`, `{"do":"long","url":"https://example.com/"}`,
	}
	for range 1 + rnd.IntN(6) {
		id := fmt.Sprint("c", rnd.IntN(4)) // doubles happen
		calls = append(calls, call(id, tools[rnd.IntN(len(tools))], args[rnd.IntN(len(args))]))
	}
	return calls
}

// edit is a call that changes what the editor has open.
func (r *scheduledRun) edit() agent.ToolCall {
	text, _ := r.host.Document(r.dir + "/open.txt")
	return call("edit", "edit_file", fmt.Sprintf(`{"path":"open.txt","edits":[{"old":%q,"new":%q}]}`, text, text+"more\n"))
}

// act is what the tools do: what their arguments say.
func (s *schedule) act(ctx context.Context, args json.RawMessage) (string, error) {
	r := s.of(ctx)
	r.starts("a tool")
	var in struct {
		Do string
		MS int
	}
	_ = json.Unmarshal(args, &in) // the zero value does nothing
	if in.Do == "deaf" {
		defer r.in(atDeafTool)()
		return "late", s.deaf(ctx)
	}
	defer r.in(atTool)()
	switch in.Do {
	case "wait":
		sleep(ctx, time.Duration(in.MS)*time.Millisecond)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	case "fail":
		return "", errors.New("no such thing")
	case "panic":
		panic("a tool's bug")
	case "long":
		return strings.Repeat("long line\n", 500), nil
	}
	return "did " + string(args), nil
}

// answer is a person's, after a while.
func (r *scheduledRun) answer(ctx context.Context, q agent.Question) (agent.Answer, error) {
	r.starts("a question")
	about := q.Tool + string(q.Arguments)
	rnd := r.chance("question", about, r.count(about))
	defer r.in(atQuestion)()
	answer := []agent.Answer{
		{Decision: agent.DecisionOnce},
		{Decision: agent.DecisionSession},
		{Decision: agent.DecisionAlways},
		{},
		{Decision: agent.DecisionDeny, Reason: "not now"},
		{Decision: agent.DecisionOnce, Arguments: []byte(`{"text":"edited"}`)},
		{Decision: agent.DecisionOnce, Arguments: []byte(`7`)},
	}[rnd.IntN(7)]
	sleep(ctx, milliseconds(rnd, 1500))
	if ctx.Err() != nil {
		if rnd.IntN(10) == 0 { // whatever the person says now
			return answer, nil
		}
		return agent.Answer{}, context.Cause(ctx)
	}
	if a, ok := q.Recheck(); ok {
		return a, nil
	}
	r.in(atAnswered)()
	return answer, nil
}

// editing is what the editor does with an edit: it takes a while, and a cancel
// does not break it off.
func (r *scheduledRun) editing(agent.Edit) error {
	r.starts("an edit")
	defer r.in(atEdit)()
	rnd := r.chance("edit", r.count("edit"))
	time.Sleep(milliseconds(rnd, 1500))
	return []error{nil, nil, nil, agent.ErrStale, agent.ErrUnconfirmed}[rnd.IntN(5)]
}

// diagnostics are those of an edited document.
func (r *scheduledRun) diagnostics(ctx context.Context, _ string) []string {
	defer r.in(atDiagnostics)()
	sleep(ctx, milliseconds(r.chance("diagnostics", r.count("diagnostics")), 900))
	return []string{"1:1: error: wrong [test]"}
}
