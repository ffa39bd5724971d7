package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// planAnswers answers questions about plans, one after another; all else is allowed.
func planAnswers(list ...agent.Answer) func(context.Context, agent.Question) (agent.Answer, error) {
	return func(_ context.Context, q agent.Question) (agent.Answer, error) {
		if q.Kind != "plan" || len(list) == 0 {
			return agent.Answer{Decision: agent.DecisionOnce}, nil
		}
		a := list[0]
		list = list[1:]
		return a, nil
	}
}

func decides(a agent.PlanAnswer) agent.Answer { return agent.Answer{Plan: &a} }

// submits are the lines of the audit about plans.
func (w *world) submits() (out []agent.AuditEntry) {
	w.t.Helper()
	lines, err := w.audit.Read(agent.AuditFilter{Limit: 100, Tool: "submit_plan"})
	if err != nil {
		w.t.Fatal(err)
	}
	return lines
}

// slopus/happy#808: a plan that is sent back with a note is made anew by it.
func TestPlanIsRevised(t *testing.T) {
	w := newWorld(t)
	w.host.Answer = planAnswers(decides(agent.PlanAnswer{Decision: agent.PlanRevise, Note: "Tests first."}), decides(agent.PlanAnswer{Decision: agent.PlanRevise}))
	res, llm, err := w.plan(t.Context(), "change it", cast{"planner": {submit("a"), submit("b"), submit("c"), agenttest.Text("Done.")}})
	if err != nil || res.Status != agent.StatusCompleted || stepStates(res.Plan) != "c completed: done" {
		t.Fatalf("%+v %v", res, err)
	}
	if got := planResult(llm, 0); !holds(got, "The user wants another plan: Tests first. Nothing was done. Submit a plan that heeds it") {
		t.Error(got)
	}
	if got := planResult(llm, 1); !holds(got, "The user wants another plan. Nothing was done.") {
		t.Error(got)
	}
	if strings.Contains(res.Text, "1. a") || !strings.HasPrefix(res.Text, "**Plan**\n\n1. c") {
		t.Errorf("%q", res.Text)
	}
	lines := w.submits()
	if len(lines) != 3 || lines[0].Outcome == lines[2].Outcome {
		t.Fatalf("%+v", lines)
	}
	for _, l := range lines {
		if l.DecidedBy != "user" || l.Outcome == agent.Rejected != strings.HasPrefix(l.Reason, "another plan is wanted") {
			t.Errorf("%+v", l)
		}
	}
}

// What runs is what the person made of the plan, and the planner hears it.
func TestPlanIsEdited(t *testing.T) {
	edited := []agent.PlanStep{{ID: "x", Title: "x", Task: "Do x instead."}, {Title: "y", Task: "Do y.", DependsOn: []string{"x"}}}
	for name, answer := range map[string]agent.Answer{
		"its own answer":   decides(agent.PlanAnswer{Decision: agent.PlanRun, Steps: edited}),
		"edited arguments": {Decision: agent.DecisionOnce, Arguments: json.RawMessage(`{"steps":[{"id":"x","title":"x","task":"Do x instead."},{"title":"y","task":"Do y.","dependsOn":["x"]}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.host.Answer = planAnswers(answer)
			res, llm, err := w.plan(t.Context(), "change it", cast{"planner": {submit("a"), agenttest.Text("Done.")}})
			if err != nil || stepStates(res.Plan) != "x completed: done\n2 completed: done" {
				t.Fatalf("%+v %v", res, err)
			}
			if got := planResult(llm, 0); !holds(got, "The user had changed the plan before it ran. It was:", `"task":"Do x instead."`) {
				t.Error(got)
			}
			if lines := w.submits(); len(lines) != 1 || !strings.Contains(string(lines[0].Arguments), "Do x instead.") || lines[0].Reason != "run, as edited" {
				t.Errorf("%+v", lines)
			}
		})
	}
	t.Run("to what cannot run", func(t *testing.T) {
		w := newWorld(t)
		w.host.Answer = planAnswers(decides(agent.PlanAnswer{Decision: agent.PlanRun, Steps: []agent.PlanStep{{ID: "x", Task: "x", DependsOn: []string{"y"}}}}), decides(agent.PlanAnswer{Decision: agent.PlanRun}))
		res, _, err := w.plan(t.Context(), "change it", cast{"planner": {submit("a"), agenttest.Text("Done.")}})
		q := w.host.Questions()
		if err != nil || stepStates(res.Plan) != "a completed: done" || len(q) != 2 || q[0].ID == q[1].ID || !holds(q[1].Reason, "the edited plan cannot be used", `the step "x" depends on "y", which is no step of the plan: its steps have the ids x`) {
			t.Fatalf("%+v %v %+v", res, err, q)
		}
	})
	t.Run("to what cannot run, again and again", func(t *testing.T) {
		w := newWorld(t)
		w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
			return decides(agent.PlanAnswer{Decision: agent.PlanRun, Steps: []agent.PlanStep{}}), nil
		}
		res, _, err := w.plan(t.Context(), "change it", cast{"planner": {submit("a")}})
		if err != nil || res.StopReason != "plan_stopped" || len(w.host.Questions()) != 3 {
			t.Fatalf("%+v %v", res, err)
		}
	})
}

// anthropics/claude-code#26520: a person can leave a plan, and the run ends there.
func TestPlanIsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		answer agent.Answer
		err    error
		says   string
	}{
		"by the person":        {answer: decides(agent.PlanAnswer{Decision: agent.PlanStop})},
		"by a denial":          {answer: agent.Answer{Decision: agent.DecisionDeny, Reason: "not now"}, says: " (not now)"},
		"dismissed":            {answer: agent.Answer{Reason: "dismissed"}, says: " (dismissed)"},
		"a front end in ruins": {err: errors.New("lost"), says: " (the question could not be put: lost)"},
		"silence":              {answer: agent.Answer{Decision: agent.DecisionDeny, Reason: "no answer in 600 s"}, says: " (no answer in 600 s)"},
		"a word nobody knows":  {answer: decides(agent.PlanAnswer{Decision: "yes"})},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.task.Steer = &agent.Steer{}
			w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
				add(t, w.task.Steer, "too late")
				return c.answer, c.err
			}
			res, llm, err := w.plan(t.Context(), "change it", cast{"planner": {submit("a"), agenttest.Text("never asked")}})
			if err != nil || res.Status != agent.StatusStopped || res.StopReason != "plan_stopped" || res.Plan != nil || !strings.HasPrefix(res.Note, "the plan was not accepted"+c.says+": ") {
				t.Fatalf("%+v %v", res, err)
			}
			if n := len(llm.Requests()); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			h := w.agent.History(w.dir, "s")
			if last := h[len(h)-3]; !holds(last.Text, "[stopped by agentls: the plan was not accepted"+c.says) {
				t.Errorf("%+v", h)
			}
			if err := agenttest.CheckHistory(append([]agent.Message{{Role: agent.System, Text: "-"}}, h...)); err != nil {
				t.Error(err)
			}
			if lines := w.submits(); len(lines) != 1 || lines[0].Outcome != agent.Rejected {
				t.Errorf("%+v", lines)
			}
			if left := w.task.Steer.Close(); len(left) != 1 {
				t.Errorf("what was added is told as read: %q", left)
			}
		})
	}
}

// The rules decide about plans; no default does, and no answer is remembered.
func TestPlanUnderRules(t *testing.T) {
	for name, c := range map[string]struct {
		approval agent.Approval
		asked    int
		by       string
		outcome  agent.Outcome
	}{
		"allowed by default": {agent.Approval{Default: "allow"}, 2, "user", agent.Completed},
		"denied by default":  {agent.Approval{Default: "deny"}, 2, "user", agent.Completed},
		"a rule that allows": {agent.Approval{Allow: []string{"submit_plan"}}, 0, "rule:submit_plan", agent.Completed},
		"a rule that asks":   {agent.Approval{Allow: []string{"submit_plan"}, Ask: []string{"submit_plan"}}, 2, "rule:submit_plan", agent.Completed},
		"a rule that denies": {agent.Approval{Deny: []string{"submit_plan"}}, 0, "rule:submit_plan", agent.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.task.Approval = c.approval
			w.host.Answer = agenttest.Always(agent.DecisionAlways) // covers nothing
			res, _, err := w.plan(t.Context(), "change it", cast{"planner": {submit("a"), submit("b"), agenttest.Text("Done.")}})
			if err != nil || res.Status != agent.StatusCompleted || len(w.host.Questions()) != c.asked {
				t.Fatalf("%+v %v, asked %d times", res, err, len(w.host.Questions()))
			}
			lines := w.submits()
			if len(lines) != 2 || lines[0].Outcome != c.outcome || c.by != "" && c.asked == 0 && lines[0].DecidedBy != c.by || c.asked > 0 && lines[0].DecidedBy != "user" {
				t.Errorf("%+v", lines)
			}
		})
	}
}

// anthropics/claude-code#49977: a planner that submits the same plan again,
// whatever is said to it, comes to an end.
func TestPlanIsSentBackForGood(t *testing.T) {
	w := newWorld(t)
	w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
		return decides(agent.PlanAnswer{Decision: agent.PlanRevise, Note: "no"}), nil
	}
	again := make([]agenttest.Step, 9)
	for i := range again {
		again[i] = submit("a")
	}
	res, _, err := w.plan(t.Context(), "change it", cast{"planner": again})
	if err != nil || res.Status != agent.StatusStopped || res.StopReason != "loop" || len(w.host.Questions()) != 4 || res.Plan != nil {
		t.Errorf("%+v %v", res, err)
	}
}

// Nobody is asked about a plan for which there are no tokens left.
func TestPlanWithoutTokens(t *testing.T) {
	w := newWorld(t)
	w.task.Limits.Tokens = 10
	res, _, err := w.plan(t.Context(), "change it", cast{"planner": {{Calls: submit("a").Calls, Usage: agent.Usage{TotalTokens: 10}}}})
	if err != nil || res.StopReason != "max_tokens" || len(w.host.Questions()) > 0 || res.ToolCalls[0].Status != agent.Failed {
		t.Errorf("%+v %v", res, err)
	}
}

// A rule that comes while the question is open decides (Recheck), as for calls.
func TestPlanQuestionIsLookedAtAgain(t *testing.T) {
	w := newWorld(t)
	w.host.Answer = func(_ context.Context, q agent.Question) (agent.Answer, error) {
		if _, decided := q.Recheck(); decided {
			t.Error("decided though no rule says so")
		}
		return agent.Answer{Decision: agent.DecisionDeny, By: "rule:submit_plan", Reason: "a rule denies it"}, nil
	}
	res, llm, err := w.plan(t.Context(), "change it", cast{"planner": {submit("a"), agenttest.Text("Then not.")}})
	if err != nil || res.Text != "Then not." || !strings.HasPrefix(planResult(llm, 0), "This call is not allowed") {
		t.Errorf("%+v %v", res, err)
	}
}

// A cancel that comes with the answer counts, not the answer.
func TestPlanIsCancelledWithItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancelCause(context.Background())
		w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
			time.Sleep(time.Minute)
			cancel(agent.ErrCancelled)
			return agent.Answer{Decision: agent.DecisionOnce}, nil
		}
		res, llm, err := w.plan(ctx, "change it", cast{"planner": {submit("a")}})
		if !errors.Is(err, agent.ErrCancelled) || res.Plan != nil || len(llm.Requests()) != 1 {
			t.Errorf("%+v %v", res, err)
		}
	})
}
