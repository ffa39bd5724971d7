package agent

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

// Plans reports whether a run of the mode goes by a plan.
func (m Mode) Plans() bool { return m == ModePlan || m == ModeTeam }
