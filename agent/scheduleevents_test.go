package agent_test

import (
	"reflect"
	"strings"

	"agentls/agent"
)

// told compares the events with the result; r.here is held.
func (r *scheduledRun) told(res agent.Result) {
	seen := map[string]bool{}
	for _, c := range res.ToolCalls {
		if seen[c.ID] || c.Status == "" || r.states[c.ID] != agent.ToolCallState(c.Status) {
			r.t.Errorf("%s: the call %+v, of which was told %q", r.name, c, r.states[c.ID])
		}
		seen[c.ID] = true
	}
	for id, state := range r.states {
		if !seen[id] {
			r.t.Errorf("%s: the call %s, told as %s, is not in the result", r.name, id, state)
		}
	}
	if r.usage != res.Usage || r.used != res.Usage {
		r.t.Errorf("%s: the usage %+v, of which was told %+v, and the model said %+v", r.name, res.Usage, r.usage, r.used)
	}
	if r.steps != res.Steps {
		r.t.Errorf("%s: %d steps, of which %d were told", r.name, res.Steps, r.steps)
	}
	var plan []agent.PlanStep
	if r.plan != nil {
		plan = r.plan.Steps
	}
	if !reflect.DeepEqual(plan, res.Plan) {
		r.t.Errorf("%s: the plan %+v, of which was told %+v", r.name, res.Plan, plan)
	}
	for _, s := range plan {
		if s.Status == agent.StepPending || s.Status == agent.StepRunning || s.Status == agent.StepCancelled && r.cancelled.IsZero() {
			r.t.Errorf("%s ended with the step %+v", r.name, s)
		}
	}
}

// event sees what the run tells, in order.
func (r *scheduledRun) event(e agent.Event) {
	r.here.Lock()
	if r.ended {
		r.t.Errorf("%s tells after its end: %+v", r.name, e)
	}
	place := ""
	switch e.Kind {
	case agent.EventStep:
		r.steps++
		place = atRound
	case agent.EventUsage:
		r.usage = *e.Usage
	case agent.EventNotice:
		if strings.Contains(e.Delta, "cannot be kept on disk") {
			defer r.lose()
		}
	case agent.EventPlan:
		place = r.planEvent(e.Plan)
	case agent.EventToolCall:
		place = r.callEvent(*e.ToolCall)
		if e.ToolCall.State == agent.ToolPending && e.ToolCall.Part != "" {
			defer func() { r.in(atStepPending)() }()
		}
	}
	r.here.Unlock()
	r.in(place)()
}

// planEvent holds the steps of a plan against their order, and gives the place;
// r.here is held.
func (r *scheduledRun) planEvent(now *agent.PlanState) (place string) {
	was := r.plan
	r.plan = now
	if was == nil || was.Plan != now.Plan {
		was = &agent.PlanState{Plan: now.Plan, Steps: make([]agent.PlanStep, len(now.Steps))}
		if r.counts["plans"]++; now.Plan != r.counts["plans"] {
			r.t.Errorf("%s: plan %d is the %d.", r.name, now.Plan, r.counts["plans"])
		}
	}
	for i, s := range now.Steps {
		before := was.Steps[i].Status
		if s.Status == before {
			continue
		}
		ok := false
		switch s.Status {
		case agent.StepPending:
			ok = before == ""
		case agent.StepRunning:
			ok = before == agent.StepPending
		case agent.StepCompleted, agent.StepFailed:
			ok, place = before == agent.StepRunning, atStepEnd
		case agent.StepSkipped:
			ok = before == agent.StepPending
		case agent.StepCancelled:
			ok = (before == agent.StepPending || before == agent.StepRunning) && !r.cancelled.IsZero()
		}
		if !ok {
			r.t.Errorf("%s: the step %s of plan %d went from %q to %q", r.name, s.ID, now.Plan, before, s.Status)
		}
	}
	return place
}

// lose notes that the session's file lacks something.
func (r *scheduledRun) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unkept = true
}

// callEvent holds a call's states against their order, and gives the place;
// r.here is held.
func (r *scheduledRun) callEvent(e agent.ToolCallEvent) (place string) {
	was, known := r.states[e.ID]
	r.states[e.ID] = e.State
	if e.State == agent.ToolPending && e.Part == "" {
		r.ownCalls++
	}
	switch {
	case e.State == agent.ToolPending && known, e.State == agent.ToolRunning && was != agent.ToolPending && was != agent.ToolRunning,
		known && was != agent.ToolPending && was != agent.ToolRunning, e.State != agent.ToolPending && !known:
		r.t.Errorf("%s: the call %s went from %q to %q", r.name, e.ID, was, e.State)
	}
	switch e.State {
	case agent.ToolPending:
		return atPending
	case agent.ToolRunning:
		return ""
	}
	return atResult
}
