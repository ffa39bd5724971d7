package agent

import "context"

// StepStatus is where a step of a plan stands.
type StepStatus string

// Where a step stands.
const (
	StepPending   StepStatus = "pending"
	StepRunning   StepStatus = "running"
	StepCompleted StepStatus = "completed"
	StepFailed    StepStatus = "failed"
	StepSkipped   StepStatus = "skipped" // something that it depends on failed
	StepCancelled StepStatus = "cancelled"
)

// PlanStep is a step of a plan.
type PlanStep struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Task      string     `json:"task,omitempty"` // what is to be done, in whole sentences; empty where only the state is told
	DependsOn []string   `json:"dependsOn"`      // ids of steps; never nil
	Status    StepStatus `json:"status,omitempty"`
	Note      string     `json:"note,omitempty"` // first words of the result, or why it failed
}

// PlanState is a plan and how far it is.
type PlanState struct {
	Plan  int        `json:"plan"` // which of the run's, from 1
	Steps []PlanStep `json:"steps"`
}

// PlanDecision is what a person says to a plan.
type PlanDecision string

// The decisions.
const (
	PlanRun    PlanDecision = "run"
	PlanRevise PlanDecision = "revise" // another plan is wanted
	PlanStop   PlanDecision = "stop"   // the run ends
)

// PlanAnswer answers a question of kind "plan".
type PlanAnswer struct {
	Decision PlanDecision
	Steps    []PlanStep // as edited; nil: as asked
	Note     string     // for the planner: what is wrong with the plan
}

// planStep is a step while it is carried out.
type planStep struct {
	PlanStep
	n      int // its place, from 1
	plan   *planned
	result string // whole
}

// planned is a plan that was accepted.
type planned struct {
	number int // which of the run's, from 1
	steps  []*planStep
}

// stepper is how a step is carried out: plan and team differ in this alone. An
// error means that the step failed, and says why in words for the planner; the
// result is kept all the same.
type stepper func(ctx context.Context, s *planStep) (result string, err error)
