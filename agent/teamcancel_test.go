package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// A cancel wherever a team is: the run answers soon, nothing starts after it, the
// plan says how far it came, and the session goes on.
func TestTeamCancels(t *testing.T) {
	type scene struct {
		*teamCast
		w      *world
		cancel func()
	}
	once := func(f func()) func() { return sync.OnceFunc(f) }
	for _, c := range []struct {
		name  string
		stage func(s *scene)
		plan  []string
		asked map[string]int // requests of the parts
	}{
		{"in the worker's answer", func(s *scene) {
			s.worker = func(string, int) agenttest.Step {
				time.AfterFunc(time.Second, s.cancel)
				return agenttest.Step{Text: []string{"I am"}, Block: true}
			}
		}, []string{"one cancelled", "two cancelled"}, map[string]int{"step one": 1}},
		{"in the review", func(s *scene) {
			s.reviewer = func(string, int) agenttest.Step {
				time.AfterFunc(time.Second, s.cancel)
				return agenttest.Step{Block: true}
			}
		}, []string{"one cancelled", "two cancelled"}, map[string]int{"step one": 1, "reviewer one": 1}},
		{"in a look of the reviewer", func(s *scene) {
			s.w.servers.reading = func(ctx context.Context) error {
				time.AfterFunc(time.Second, s.cancel)
				<-ctx.Done()
				return context.Cause(ctx)
			}
			s.reviewer = func(string, int) agenttest.Step {
				return agenttest.Call(call("r", "mcp__fake__read_resource", `{"uri":"file://doc.md"}`))
			}
		}, []string{"one cancelled", "two cancelled"}, map[string]int{"step one": 1, "reviewer one": 1}},
		{"before the review", func(s *scene) {
			s.w.host.On = func(e agent.Event) {
				if e.Plan != nil && e.Plan.Steps[0].Note == "in review" {
					s.cancel()
				}
			}
		}, []string{"one cancelled", "two cancelled"}, map[string]int{"step one": 1}},
		{"between the rounds", func(s *scene) {
			s.reviewer = func(string, int) agenttest.Step { return reviews("revise", "mend it") }
			s.w.host.On = func(e agent.Event) {
				if e.Plan != nil && strings.HasPrefix(e.Plan.Steps[0].Note, "sent back") {
					s.cancel()
				}
			}
		}, []string{"one cancelled", "two cancelled"}, map[string]int{"step one": 1, "reviewer one": 1}},
		{"with the approval", func(s *scene) {
			s.reviewer = func(string, int) agenttest.Step {
				step := reviews("approve", "fine")
				step.Then = s.cancel
				return step
			}
		}, []string{"one cancelled", "two cancelled"}, map[string]int{"step one": 1, "reviewer one": 1}},
		{"in the second round", func(s *scene) {
			s.reviewer = func(string, int) agenttest.Step { return reviews("revise", "mend it") }
			s.worker = func(_ string, n int) agenttest.Step {
				if n == 2 {
					s.cancel()
				}
				return agenttest.Text("done")
			}
		}, []string{"one cancelled", "two cancelled"}, map[string]int{"step one": 2, "reviewer one": 1}},
		{"between the steps", func(s *scene) {
			s.w.host.On = func(e agent.Event) {
				if e.Plan != nil && e.Plan.Steps[0].Status == agent.StepCompleted {
					s.cancel()
				}
			}
		}, []string{"one completed", "two cancelled"}, map[string]int{"step one": 1, "reviewer one": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				ctx, cancel := context.WithCancelCause(t.Context())
				var at time.Time
				s := &scene{teamCast: &teamCast{}, w: w, cancel: once(func() {
					at = time.Now()
					cancel(agent.ErrCancelled)
				})}
				s.planner = func(n int) agenttest.Step {
					if n == 1 {
						return submit("one", "two < one")
					}
					return agenttest.Text("all told")
				}
				c.stage(s)
				res, err := w.team(ctx, s.teamCast)
				if !errors.Is(err, agent.ErrCancelled) || res.Status != agent.StatusCancelled {
					t.Fatalf("%+v, %v", res, err)
				}
				if took := time.Since(at); took > 500*time.Millisecond {
					t.Errorf("it answered %v after the cancel", took)
				}
				var got []string
				for _, p := range res.Plan {
					got = append(got, p.ID+" "+string(p.Status))
				}
				equal(t, "plan", got, c.plan)
				for part, n := range map[string]int{"step one": c.asked["step one"], "reviewer one": c.asked["reviewer one"], "worker two": 0, "planner": 1} {
					if asked := len(s.of(part)); asked != n {
						t.Errorf("%s was asked %d times, want %d", part, asked, n)
					}
				}
				w.reloads()
				w.host.On, w.task.Mode, w.task.RunID = nil, "", "r2"
				w.must("and now?", agenttest.Text("I say")) // the model checks the history
			})
		})
	}
}

// A limit in tokens that is reached in a review stops the run; what was done is
// told.
func TestTeamStopsAtItsTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.task.Limits.Tokens = 100_000
		c := &teamCast{
			planner: func(int) agenttest.Step { return submit("one", "two < one") },
			reviewer: func(string, int) agenttest.Step {
				return agenttest.Step{Text: []string{"hm"}, Usage: agent.Usage{TotalTokens: 200_000}}
			},
		}
		res, err := w.team(t.Context(), c)
		if err != nil || res.Status != agent.StatusStopped || res.StopReason != "max_tokens" {
			t.Fatalf("%+v, %v", res, err)
		}
		if res.Plan[0].Status != agent.StepFailed || res.Plan[1].Status != agent.StepSkipped {
			t.Errorf("plan %q", planned(res))
		}
		w.reloads()
	})
}

// What a person adds while a step is looked at reaches the reviewer.
func TestReviewerHearsWhatIsAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, steer := steered(t)
		c := &teamCast{reviewer: func(_ string, n int) agenttest.Step {
			if n == 1 {
				step := agenttest.Call(call("l", "list_dir", "{}"))
				step.Then = func() { add(t, steer, "with tabs") }
				return step
			}
			return reviews("approve", "fine")
		}}
		if _, err := w.team(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		contains(t, strings.Join(users(c.of("reviewer one")[1]), "\n"), "with tabs")
		contains(t, strings.Join(users(c.of("planner")[1]), "\n"), "with tabs")
	})
}

// A verdict that is given is not asked for again, whatever is added meanwhile.
func TestReviewEndsWithItsVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, steer := steered(t)
		c := &teamCast{reviewer: func(string, int) agenttest.Step {
			step := reviews("approve", "fine")
			step.Then = func() { add(t, steer, "with tabs") }
			return step
		}}
		res, err := w.team(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "plan", planned(res), []string{"one completed"})
		if n := len(c.of("reviewer one")); n != 1 {
			t.Errorf("the reviewer was asked %d times", n)
		}
		contains(t, strings.Join(users(c.of("planner")[1]), "\n"), "with tabs")
	})
}
