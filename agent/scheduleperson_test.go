package agent_test

import (
	"context"
	"time"

	"agentls/agent"
)

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
	return []error{nil, nil, nil, nil, nil, nil, agent.ErrStale, agent.ErrUnconfirmed}[rnd.IntN(8)]
}

// diagnostics are those of an edited document.
func (r *scheduledRun) diagnostics(ctx context.Context, _ string) []string {
	defer r.in(atDiagnostics)()
	sleep(ctx, milliseconds(r.chance("diagnostics", r.count("diagnostics")), 900))
	return []string{"1:1: error: wrong [test]"}
}
