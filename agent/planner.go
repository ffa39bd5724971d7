package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const submitPlanName = "submit_plan"

const submitPlanSchema = `{"properties":{"steps":{"description":"The steps, 1 to 20, in the order in which a person reads them.","items":{"properties":{` +
	`"dependsOn":{"description":"Ids of the steps whose results this one needs. Steps that do not depend on each other run at the same time.","items":{"type":"string"},"type":"array"},` +
	`"id":{"description":"A short word, other than that of each other step.","minLength":1,"type":"string"},` +
	`"task":{"description":"What is to be done, in whole sentences, with all that is needed to do it: who carries it out sees neither this dialogue nor what you have read.","minLength":1,"type":"string"},` +
	`"title":{"description":"A few words for the person.","minLength":1,"type":"string"}` +
	`},"required":["id","title","task","dependsOn"],"type":"object"},"maxItems":20,"minItems":1,"type":"array"}},"required":["steps"],"type":"object"}`

// maxPlans is how many plans a run may carry out.
const maxPlans = 3

// planner is what the run's own conversation is in the modes that plan: it
// looks, and submits plans.
func (r *run) planner() part {
	return part{system: "plan.md", offers: looks, whyNot: "it is for the steps of a plan: submit one", own: []*tool{r.submitPlanTool()}, remind: r.remindOfPlan}
}

// looks reports whether a tool only looks, as far as that is known.
func looks(t *tool) bool {
	return t.virtual || t.readOnly || t.server == "" && startAllowed[t.name] && t.name != failStepName && t.name != submitReviewName
}

// submitPlanTool takes a plan and carries it out. A person is asked by the gate.
func (r *run) submitPlanTool() *tool {
	return &tool{
		name: submitPlanName, anywhere: true, plan: true, description: prompt("submit_plan.md"), schema: json.RawMessage(submitPlanSchema),
		read: func(args json.RawMessage) (json.RawMessage, error) {
			steps, err := readPlan(args)
			if err != nil {
				return args, err
			}
			return planArguments(steps), nil
		},
		gone: func() string {
			if r.plansRan() < maxPlans {
				return ""
			}
			return fmt.Sprintf("%d plans have run for this request, and no more will: answer the user with what is done and what is not", maxPlans)
		},
		run: func(ctx context.Context, e env, args json.RawMessage) (output, error) {
			steps, err := readPlan(args)
			if err != nil {
				return output{}, err
			}
			p := r.accept(steps, e.edited)
			p.work(ctx)
			if ctx.Err() != nil {
				return output{text: p.report(e)}, context.Cause(ctx)
			}
			return output{text: p.report(e)}, nil
		},
	}
}

// planArguments is a plan as the arguments of submit_plan.
func planArguments(steps []PlanStep) json.RawMessage {
	return marshal(struct {
		Steps []PlanStep `json:"steps"`
	}{steps})
}

// plansRan counts the plans of the run that were accepted.
func (r *run) plansRan() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plans
}

// accept takes a plan down that runs from now on.
func (r *run) accept(steps []PlanStep, edited bool) *planned {
	r.mu.Lock()
	r.plans++
	p := &planned{r: r, number: r.plans, edited: edited}
	r.mu.Unlock()
	p.do, p.beside = r.stepper()
	for i, s := range steps {
		s.Status = StepPending
		p.steps = append(p.steps, &planStep{PlanStep: s, n: i + 1, plan: p})
	}
	p.change(func() { r.own.write(p.list()) })
	return p
}

// stepper is how the run's mode carries out a step, and how many beside each
// other at most.
func (r *run) stepper() (do stepper, beside int) {
	if r.task.Mode == ModeTeam {
		return r.carryOutAsTeam, min(teamWorkers, r.task.Limits.ParallelTools)
	}
	return r.carryOut, r.task.Limits.ParallelTools
}

// alone gives what each call of an answer finds. One plan runs at a time: of
// several in an answer the first is taken up that can be read.
func alone(set toolset, calls []ToolCall) []toolset {
	sets := make([]toolset, len(calls))
	taken, first := -1, -1
	for i, c := range calls {
		sets[i] = set
		if t := set.byName[c.Name]; t != nil && t.plan {
			if first < 0 {
				first = i
			}
			if _, err := t.arguments(c.Arguments); err == nil && taken < 0 {
				taken = i
			}
		}
	}
	if taken < 0 {
		taken = first
	}
	for i, c := range calls {
		if t := set.byName[c.Name]; t != nil && t.plan && i != taken {
			sets[i] = set.without(c.Name, "one plan runs at a time, and there is another one in this answer")
		}
	}
	return sets
}

// proposed is a plan that a person is asked about.
func (r *run) proposed(args json.RawMessage) *PlanState {
	steps, _ := readPlan(args) // they were read before
	for i := range steps {
		steps[i].Status = StepPending
	}
	return &PlanState{Plan: r.plansRan() + 1, Steps: steps}
}

// withheldNames lists the tools that a thread may not call, as far as they find
// room.
func (s toolset) withheldNames() string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.withheld)), func(name string) bool { return name == submitPlanName })
	text := strings.Join(names, ", ")
	if len(text) > maxListedNames {
		text = text[:strings.LastIndex(text[:maxListedNames], ",")] + ", and others"
	}
	return text
}
