package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// Where no model can be asked any more no further step begins, and the run ends
// with what keeps it from that, in both modes; other failures fail their step.
func TestStepsWhoseProviderFails(t *testing.T) {
	for _, c := range []struct {
		kind agent.ErrorKind
		ends bool
	}{
		{agent.KindAuth, true},
		{agent.KindConfig, true},
		{agent.KindRateLimit, false},
		{agent.KindNetwork, false},
		{agent.KindContext, false},
		{agent.KindProvider, false},
	} {
		for _, mode := range []agent.Mode{agent.ModePlan, agent.ModeTeam} {
			for _, part := range []string{"worker", "reviewer"} {
				if mode == agent.ModePlan && part == "reviewer" {
					continue
				}
				t.Run(fmt.Sprintf("%s of the %s in %s", c.kind, part, mode), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						w.task.Limits.ParallelTools = 1
						broken := agenttest.Step{Err: &agent.ProviderError{Kind: c.kind, Message: "the provider says no"}}
						fails := func(step string, _ int) agenttest.Step {
							if step == "one" {
								return broken
							}
							return agenttest.Text("done")
						}
						team := &teamCast{planner: func(n int) agenttest.Step {
							switch {
							case n == 1:
								return submit("one", "two", "three < one")
							case c.ends:
								return broken
							}
							return agenttest.Text("all told")
						}}
						team.worker = fails
						if part == "reviewer" {
							team.worker = nil
							team.reviewer = func(step string, n int) agenttest.Step {
								if step == "one" {
									return broken
								}
								return reviews("approve", "fine")
							}
						}
						task := w.task
						task.Prompt, task.Mode, task.LLM = "build it", mode, agenttest.NewScript(t, team.play)
						res, err := w.work(t.Context(), task)
						why := "the provider says no"
						if part == "reviewer" {
							why = "not approved: " + why
						}
						want := []string{"one failed: " + why, "two completed", "three skipped: it depends on step 1, which was not done"}
						if c.ends {
							want[1] = "two skipped: no model can be asked: the provider says no"
						}
						equal(t, "plan", planned(res), want)
						pe, failed := errors.AsType[*agent.ProviderError](err)
						if failed != c.ends || failed && pe.Kind != c.kind {
							t.Errorf("it ended with %v", err)
						}
						w.reloads()
					})
				})
			}
		}
	}
}

// A worker that comes to nothing when a step was sent back: the step has failed
// for its reason, and what it had said before is kept.
func TestWorkerFailsAfterItWasSentBack(t *testing.T) {
	for why, step := range map[string]agenttest.Step{
		"no such file":                               agenttest.Call(call("f", "fail_step", `{"reason":"no such file"}`)),
		"the provider is broken":                     {Err: &agent.ProviderError{Kind: agent.KindProvider, Message: "the provider is broken"}},
		"internal error: step 1 ended":               {Panic: "boom"},
		"the answer was cut by the provider's":       {Text: []string{""}, Finish: "length"},
		"the provider's content filter ended":        {Finish: "content_filter"},
		"it ended without a word of what came of it": agenttest.Text(" "),
		"the limit of 2 model calls (limits.st":      agenttest.Call(call("l", "list_dir", "{}")),
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if strings.Contains(why, "limit") {
					w.task.Limits.Steps = 2
				}
				c := &teamCast{
					worker: func(_ string, n int) agenttest.Step {
						if n >= 2 {
							return step
						}
						return agenttest.Text("result 1 of one")
					},
					reviewer: func(string, int) agenttest.Step { return reviews("revise", "mend it") },
				}
				res, err := w.team(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if got := planned(res)[0]; !strings.HasPrefix(got, "one failed: "+why) {
					t.Error(got)
				}
				contains(t, results(c.of("planner")[1])[0], "<step_result step=\"one\" title=\"one\">\nresult 1 of one\n</step_result>")
				w.reloads()
			})
		})
	}
}
