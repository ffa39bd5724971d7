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
	defer r.in(r.callPlace(req))()
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
	r.uses(resp.Usage)
	switch {
	case err != nil:
	case len(resp.ToolCalls) > 0:
		r.in(atAnswer)()
	case scheduledRole(req) == "":
		r.in(atEnd)()
	}
	return resp, err
}

// uses adds up what the model tells.
func (r *scheduledRun) uses(u agent.Usage) {
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	r.here.Lock()
	defer r.here.Unlock()
	r.used = r.used.Add(u)
}

// scheduledRole says whose a request is: a step's, a reviewer's, or "", that of
// the run's own conversation.
func scheduledRole(req agent.Request) string {
	for _, t := range req.Tools {
		switch t.Name {
		case "fail_step":
			return "step"
		case "submit_review":
			return "reviewer"
		}
	}
	return ""
}

// callPlace is the place of a model call in the modes that plan.
func (r *scheduledRun) callPlace(req agent.Request) string {
	last := req.Messages[len(req.Messages)-1]
	switch role := scheduledRole(req); {
	case role == "reviewer":
		return atReview
	case role == "step" && last.Role == agent.User && strings.Contains(last.Text, revised):
		return atRework
	case role == "step":
		return atStep
	case r.planned():
		return atPlanned
	}
	return ""
}

// planned reports whether a plan was accepted.
func (r *scheduledRun) planned() bool {
	r.here.Lock()
	defer r.here.Unlock()
	return r.plan != nil
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
	switch {
	case r.aim == atAddedExpansion: // many turns
		what = 13
	case r.task.Mode.Plans(): // a run has many threads, and most are to come to their ends
		what = rnd.IntN(28)
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
		if s.Calls = r.roleCalls(rnd, req); s.Calls != nil {
			break
		} else if r.task.Mode.Plans() && rnd.IntN(3) == 0 {
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

// revised is in the notes of reviews.
const revised = "<do it again>"

// roleCalls draws calls of what a role alone is there for; nil: none.
func (r *scheduledRun) roleCalls(rnd *rand.Rand, req agent.Request) []agent.ToolCall {
	switch role := scheduledRole(req); {
	case role == "step":
		if rnd.IntN(10) == 0 {
			return []agent.ToolCall{call("f", "fail_step", []string{`{"reason":"it cannot be done"}`, `{}`}[rnd.IntN(2)])}
		}
	case role == "reviewer":
		verdicts := []string{`{"verdict":"approve","notes":""}`, `{"verdict":"approve"}`, `{"verdict":"revise","notes":"` + revised + `"}`, `{"verdict":"revise","notes":"` + revised + `"}`, `{"verdict":"perhaps"}`, `7`}
		if rnd.IntN(4) > 0 {
			return []agent.ToolCall{call("v", "submit_review", verdicts[rnd.IntN(len(verdicts))])}
		}
	case r.task.Mode.Plans() && rnd.IntN(4) > 0:
		calls := []agent.ToolCall{call("p", "submit_plan", scheduledPlan(rnd))}
		if rnd.IntN(8) == 0 {
			calls = append(calls, call("q", "submit_plan", scheduledPlan(rnd)))
		}
		return calls
	}
	return nil
}

// scheduledPlan draws a plan, which may be wrong.
func scheduledPlan(rnd *rand.Rand) string {
	if rnd.IntN(8) == 0 {
		return []string{`{}`, `{"steps":[]}`, planOf("a < a"), planOf("a < b", "b < a"), planOf("a", "a"), `{"steps":"none"}`}[rnd.IntN(6)]
	}
	var steps []string
	for i := range 1 + rnd.IntN(4) {
		step := fmt.Sprint("s", i)
		for k := range i {
			if rnd.IntN(4) == 0 {
				if !strings.Contains(step, "<") {
					step += " <"
				}
				step += fmt.Sprint(" s", k)
			}
		}
		steps = append(steps, step)
	}
	return planOf(steps...)
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
	if q.Kind == "plan" {
		return r.answerPlan(ctx, q)
	}
	if q.Part != "" {
		defer r.in(atStepQuestion)()
	}
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

// answerPlan is a person's answer about a plan, after a while.
func (r *scheduledRun) answerPlan(ctx context.Context, q agent.Question) (agent.Answer, error) {
	rnd := r.chance("plan", r.count("plan"))
	defer r.in(atPlanQuestion)()
	edited := append([]agent.PlanStep(nil), q.Plan.Steps[:1]...)
	edited[0].DependsOn, edited[0].Title = nil, "edited"
	answers := []agent.Answer{
		{},
		{Decision: agent.DecisionDeny, Reason: "no answer in 600 s"},
		{Plan: &agent.PlanAnswer{Decision: agent.PlanStop}},
		{Plan: &agent.PlanAnswer{Decision: agent.PlanRevise, Note: "fewer steps"}},
		{Plan: &agent.PlanAnswer{Decision: agent.PlanRun, Steps: []agent.PlanStep{}}},
		{Plan: &agent.PlanAnswer{Decision: agent.PlanRun, Steps: edited}},
		{Decision: agent.DecisionOnce},
		{Decision: agent.DecisionSession},
	}
	answer := agent.Answer{Plan: &agent.PlanAnswer{Decision: agent.PlanRun}}
	if n := rnd.IntN(3 * len(answers)); n < len(answers) {
		answer = answers[n]
	}
	sleep(ctx, milliseconds(rnd, 3000))
	if ctx.Err() != nil {
		return agent.Answer{}, context.Cause(ctx)
	}
	r.in(atPlanAnswered)()
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
