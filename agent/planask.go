package agent

import (
	"bytes"
	"cmp"
	"context"
	"strings"
)

// putPlan asks a person about a plan, whose edited steps it leaves in p. One
// that does not want it to run ends the run, or wants another plan.
func (a *Agent) putPlan(ctx context.Context, t *thread, p *pending, v verdict) permit {
	if t.tokensLeft() <= 0 { // nobody is asked about what cannot run
		return permit{callResult: failed("no step can run: " + t.limit().why + "." + notRun)}
	}
	q := a.question(t, *p, v)
	for range maxAsked {
		answer, err := t.task.Host.Ask(ctx, q)
		if answer.Kept != nil {
			defer answer.Kept()
		}
		switch {
		case ctx.Err() != nil:
			return permit{callResult: notStarted("policy")}
		case err != nil:
			return t.stopsAtPlan(Answer{By: "policy", Reason: "the question could not be put: " + err.Error()})
		}
		edited, said, problem := answer.plan()
		switch said.Decision {
		case PlanRevise:
			return anotherPlan(answer, said.Note)
		case PlanStop:
			return t.stopsAtPlan(answer)
		}
		may := permit{}
		if problem == "" {
			may, problem = a.takePlan(t, p, answer, edited, said.Steps)
		}
		if problem == "" {
			return may
		}
		q.ID, q.Reason = randomID(), problem
	}
	return t.stopsAtPlan(Answer{By: "policy", Reason: "the edited plan could not be used"})
}

// plan is what an answer says of a plan. Without a word of the plan itself its
// decision counts, and its arguments are the steps. problem says what is wrong
// with those.
func (a Answer) plan() (edited bool, said PlanAnswer, problem string) {
	switch {
	case a.Plan != nil && (a.Plan.Decision == PlanRun || a.Plan.Decision == PlanRevise):
		return a.Plan.Decision == PlanRun && a.Plan.Steps != nil, *a.Plan, ""
	case a.Plan != nil || !a.allows():
		return false, PlanAnswer{Decision: PlanStop}, ""
	case a.Arguments == nil:
		return false, PlanAnswer{Decision: PlanRun}, ""
	}
	steps, err := readPlan(a.Arguments)
	if err != nil {
		return false, PlanAnswer{Decision: PlanRun}, "the edited plan cannot be used: " + err.Error()
	}
	return true, PlanAnswer{Decision: PlanRun, Steps: steps}, ""
}

// takePlan lets a plan run as a person wants it; problem says what is wrong with
// its edited steps.
func (a *Agent) takePlan(t *thread, p *pending, answer Answer, edited bool, steps []PlanStep) (may permit, problem string) {
	may = granted(decidedBy(answer), cmp.Or(answer.Reason, string(PlanRun)))
	if !edited {
		return may, ""
	}
	fit, err := FitPlan(steps)
	if err != nil {
		return permit{}, "the edited plan cannot be used: " + err.Error()
	}
	if args := planArguments(fit); !bytes.Equal(args, p.args) {
		p.args, may.edited = args, true
		may.reason = "run, as edited"
		// The rules look at what will run, which is what the person wrote.
		if v := a.decide(t.run, p.tool, p.args); v.action == actionDeny {
			return denied(v), ""
		}
	}
	return may, ""
}

// anotherPlan tells the planner that the person wants another plan.
func anotherPlan(answer Answer, note string) permit {
	text := "The user wants another plan"
	if note = strings.TrimSpace(note); note != "" {
		text += ": " + ellipsis(note, 20000)
	}
	return permit{callResult: callResult{
		status: Rejected, by: decidedBy(answer), reason: strings.TrimSuffix("another plan is wanted: "+note, ": "),
		text: strings.TrimRight(text, ".") + "." + notRun + " Submit a plan that heeds it, or ask what is meant.",
	}}
}

// stopsAtPlan ends the run at a plan that was not accepted.
func (t *thread) stopsAtPlan(answer Answer) permit {
	may := rejected(answer)
	if may.status == Denied { // by a rule that came while the question waited: the model is told
		return may
	}
	reason := strings.TrimSpace(answer.Reason)
	why := "the plan was not accepted"
	if reason != "" {
		why += " (" + t.a.tellable(reason, 200) + ")"
	}
	t.stopBy(ending{reason: "plan_stopped", why: why, advice: "say what should be done instead, or " + goOn})
	may.reason = cmp.Or(reason, "stopped at the plan")
	may.text = "The plan was not accepted, and the run ends." + notRun
	if reason != "" {
		may.text = "The plan was not accepted: " + strings.TrimRight(ellipsis(reason, 2000), ".") + ". The run ends." + notRun
	}
	return may
}
