package lsp

import (
	"testing"

	"agentls/agent"
)

// Progress says how far a plan is, and of a team's steps where they are.
func TestProgressOfAPlan(t *testing.T) {
	step := func(title string, status agent.StepStatus, note string) agent.PlanStep {
		return agent.PlanStep{Title: title, Status: status, Note: note}
	}
	for _, c := range []struct {
		want  string
		steps []agent.PlanStep
	}{
		{"plan 0/2", []agent.PlanStep{step("Look", agent.StepPending, ""), step("Build", agent.StepPending, "")}},
		{"plan 1/3: Build · Tell (in review)", []agent.PlanStep{step("Look", agent.StepCompleted, "seen"), step("Build", agent.StepRunning, ""), step("Tell", agent.StepRunning, "in review")}},
		{"plan 1/2: Build (sent back)", []agent.PlanStep{step("Look", agent.StepFailed, "no"), step("Build\x1b[2J", agent.StepRunning, "sent back: mend\nit")}},
		{"", []agent.PlanStep{step("Look", agent.StepCompleted, "seen"), step("Build", agent.StepSkipped, "")}},
	} {
		if got := planProgress(&agent.PlanState{Steps: c.steps}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
