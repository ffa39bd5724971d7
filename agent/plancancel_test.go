package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// planCell is a place in a plan at which it is cancelled: by cancel, or a minute
// after it began.
type planCell struct {
	*world
	cancel func()
	cast   cast
	want   string        // the plan's steps, "" where no plan ran
	most   time.Duration // how long the end may take
	says   []string      // what the result of submit_plan has
	none   bool          // no call of submit_plan is in the history
}

var planPlaces = []struct {
	name string
	set  func(c *planCell)
}{
	{"in the planner's first answer", func(c *planCell) {
		c.cast["planner"], c.none = []agenttest.Step{{Text: []string{"I "}, Block: true}}, true
	}},
	{"with the planner's call", func(c *planCell) {
		step := submit("a")
		step.Then = func() { c.cancel() }
		c.cast["planner"], c.says = []agenttest.Step{step}, []string{"cancelled before this call started"}
	}},
	{"while the question is open", func(c *planCell) {
		c.host.Answer = ask
		c.says = []string{"cancelled before this call started"}
	}},
	{"as the plan is accepted", func(c *planCell) {
		c.host.On = func(e agent.Event) {
			if e.Kind == agent.EventPlan {
				c.cancel()
			}
		}
		c.want = "a cancelled b cancelled c cancelled"
		c.says = []string{"Step 1 (a), a: cancelled: the run was cancelled before it began"}
	}},
	{"in a step's model call", func(c *planCell) {
		c.cast["step a"] = []agenttest.Step{{Text: []string{"half of a"}, Block: true}}
		c.want = "a cancelled b cancelled c completed"
		c.says = []string{"Step 1 (a), a: cancelled: the run was cancelled while it was carried out", "Step 3 (c), c: completed", "c is done"}
	}},
	{"in a step's back-off", func(c *planCell) {
		c.cast["step a"] = []agenttest.Step{{Wait: make(chan struct{})}}
		c.want = "a cancelled b cancelled c completed"
	}},
	{"in a step's call", func(c *planCell) {
		c.cast["step a"] = []agenttest.Step{agenttest.Call(call("s", "run_command", `{"command":"hang"}`))}
		c.agent.SetTool("run_command", func(ctx context.Context, _ json.RawMessage) (string, error) { return "", obeys(ctx) })
		c.want = "a cancelled b cancelled c completed"
	}},
	{"in a step's call that never reacts", func(c *planCell) {
		c.cast["step a"] = []agenttest.Step{agenttest.Call(call("s", "mcp__fake__stubborn", `{}`))}
		c.want, c.most = "a cancelled b cancelled c completed", grace
		c.says = []string{"Step 1 (a), a: cancelled", "c is done"}
	}},
	{"while a step asks", func(c *planCell) {
		c.cast["step a"] = []agenttest.Step{agenttest.Call(call("s", "mcp__fake__echo", `{}`))}
		c.host.Answer = func(ctx context.Context, q agent.Question) (agent.Answer, error) {
			if q.Kind == "plan" {
				return agent.Answer{Decision: agent.DecisionOnce}, nil
			}
			return ask(ctx, q)
		}
		c.want = "a cancelled b cancelled c completed"
	}},
	{"between two steps", func(c *planCell) {
		c.host.On = func(e agent.Event) {
			if e.Kind == agent.EventPlan && e.Plan.Steps[0].Status == agent.StepCompleted {
				c.cancel()
			}
		}
		c.cast["step c"] = []agenttest.Step{{Block: true}}
		c.want = "a completed b cancelled c cancelled"
		c.says = []string{"Step 1 (a), a: completed", "a is done", "Step 2 (b), b: cancelled: the run was cancelled before it began"}
	}},
	{"in the last step's end", func(c *planCell) {
		c.host.On = func(e agent.Event) {
			if e.Kind == agent.EventPlan && e.Plan.Steps[2].Status == agent.StepCompleted {
				c.cancel()
			}
		}
		c.task.Limits.ParallelTools = 1
		c.want = "a completed b completed c completed"
		c.says = []string{"3 of 3 steps are completed"}
	}},
	{"in the answer after the plan", func(c *planCell) {
		c.cast["planner"] = []agenttest.Step{submit("a"), {Text: []string{"All "}, Block: true}}
		c.want = "a completed"
		c.says = []string{"Plan 1 ran: 1 of 1 steps are completed."}
	}},
	{"while the question about another plan is open", func(c *planCell) {
		c.cast["planner"] = []agenttest.Step{submit("a"), submit("b")}
		c.host.Answer = func(ctx context.Context, q agent.Question) (agent.Answer, error) {
			if q.Plan.Plan == 1 {
				return agent.Answer{Decision: agent.DecisionOnce}, nil
			}
			return ask(ctx, q)
		}
		c.want = "a completed"
		c.says = []string{"Plan 1 ran: 1 of 1 steps are completed.", "cancelled before this call started"}
	}},
	{"in another plan", func(c *planCell) {
		c.cast["planner"] = []agenttest.Step{submit("a"), submit("b")}
		c.cast["step b"] = []agenttest.Step{{Block: true}}
		c.want = "b cancelled"
		c.says = []string{"Plan 1 ran: 1 of 1", "Plan 2 ran: 0 of 1"}
	}},
	{"while what a person added is read", func(c *planCell) {
		c.task.Steer = &agent.Steer{}
		step := agenttest.Call(call("l", "list_dir", `{}`))
		step.Then = func() {
			synctest.Wait() // step c is in its request: what is added is for step a
			c.servers.hang["Read"] = true
			add(c.t.(*testing.T), c.task.Steer, "see @fake:file://doc.md")
		}
		c.cast["step a"], c.cast["step c"] = []agenttest.Step{step}, []agenttest.Step{{Block: true}}
		c.want = "a cancelled b cancelled c cancelled"
	}},
}

// agentscope-ai/agentscope-java#2408, gotgenes/pi-packages#403, anomalyco/opencode#28866:
// a cancel ends a plan wherever it is: within the grace, with all its steps; no
// step begins after it, the history stays valid and says of each step what
// became of it, and the next prompt is answered.
func TestPlanIsCancelled(t *testing.T) {
	for _, p := range planPlaces {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.close()
				ctx, stop := context.WithCancelCause(context.Background())
				c := &planCell{world: w, most: time.Millisecond}
				var at time.Time
				c.cancel = sync.OnceFunc(func() {
					at = time.Now()
					stop(agent.ErrCancelled)
				})
				c.cast = cast{"planner": {submit("a", "b < a", "c")}, "step a": {agenttest.Text("a is done")}, "step b": {agenttest.Text("b is done")}, "step c": {agenttest.Text("c is done")}}
				p.set(c)
				timer := time.AfterFunc(time.Minute, c.cancel)
				defer timer.Stop()
				res, llm, err := w.plan(ctx, "change it", c.cast)
				took := time.Since(at)
				if !errors.Is(err, agent.ErrCancelled) || res.Status != agent.StatusCancelled || took > c.most {
					t.Fatalf("%+v %v after %v", res, err, took)
				}
				asked := len(llm.Requests())
				var got []string
				for _, s := range res.Plan {
					got = append(got, s.ID+" "+string(s.Status))
				}
				if strings.Join(got, " ") != c.want {
					t.Errorf("%q", got)
				}
				if err := w.checkHistory(); err != nil {
					t.Error(err)
				}
				text := ""
				for _, m := range w.agent.History(w.dir, "s") {
					if m.Role == agent.ToolRole {
						text += m.Text + "\n"
					}
				}
				if !holds(text, c.says...) || c.none != (text == "") {
					t.Error(text)
				}
				w.servers.hang["Read"] = false
				w.host.Answer, w.host.On = agenttest.Always(agent.DecisionOnce), nil
				w.task.RunID, w.task.Steer = "r2", nil
				time.Sleep(time.Minute)
				if n := len(llm.Requests()); n != asked {
					t.Errorf("the model was asked %d times after the end", n-asked)
				}
				w.must("and now?", agenttest.Text("Nothing."))
			})
		})
	}
}

// avante-corp/avante.nvim#2208: a stop keeps what was done.
func TestCancelledPlanKeepsWhatWasDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Minute, func() { cancel(agent.ErrCancelled) })
		res, _, err := w.plan(ctx, "change it", cast{
			"planner": {submit("a", "b < a")},
			"step a":  {agenttest.Call(call("w", "write_file", `{"path":"f.txt","content":"of a\n"}`)), agenttest.Text("a wrote f.txt")},
			"step b":  {{Text: []string{"half"}, Block: true}},
		})
		if !errors.Is(err, agent.ErrCancelled) || len(res.Changed) != 1 || !strings.Contains(res.Text, "- completed: 1. a") {
			t.Fatalf("%+v %v", res, err)
		}
		if text, err := os.ReadFile(filepath.Join(w.dir, "f.txt")); err != nil || string(text) != "of a\n" {
			t.Errorf("%q %v", text, err)
		}
		w.restart()
		w.task.RunID = "r2"
		_, llm := w.must("what was done?", agenttest.Text("a."))
		got := strings.Join(history(llm.Last()), "\n")
		if !holds(got, "Step 1 (a), a: completed", "a wrote f.txt", "Step 2 (b), b: cancelled") {
			t.Error(got)
		}
		if _, err := w.agent.Undo(t.Context(), "r1", w.task.Folders(), w.host); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(w.dir, "f.txt")); !os.IsNotExist(err) {
			t.Errorf("%v", err)
		}
	})
}

// No event of a plan comes after its run, and
// the states of a step only go on.
func TestPlanEventsAreInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		order := []agent.StepStatus{agent.StepPending, agent.StepRunning, agent.StepCompleted}
		var last []agent.PlanStep
		ended := false
		w.host.On = func(e agent.Event) {
			if ended {
				t.Errorf("after the end: %+v", e)
			}
			if e.Kind != agent.EventPlan {
				if e.Kind == agent.EventText && e.Part != "" {
					t.Errorf("a step's text is the run's: %+v", e)
				}
				return
			}
			for i, s := range e.Plan.Steps {
				if last != nil && slices.Index(order, s.Status) < slices.Index(order, last[i].Status) {
					t.Errorf("step %d goes from %s to %s", i, last[i].Status, s.Status)
				}
			}
			last = e.Plan.Steps
		}
		if _, _, err := w.plan(t.Context(), "change it", cast{"planner": {submit("a", "b", "c < a b", "d", "e < d")}}); err != nil {
			t.Fatal(err)
		}
		ended = true
		if got := stepStates(last); got != "a completed: done\nb completed: done\nc completed: done\nd completed: done\ne completed: done" {
			t.Error(got)
		}
	})
}
