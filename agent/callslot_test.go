package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// sleeps is an answer with so many calls that take five seconds.
func sleeps(n int) agenttest.Step {
	var calls []agent.ToolCall
	for i := range n {
		calls = append(calls, call(fmt.Sprint("c", i), "mcp__fake__sleep", fmt.Sprintf(`{"n":%d}`, i)))
	}
	return agenttest.Call(calls...)
}

// limits.parallelTools bounds the calls of a run, whatever conversation of it
// they are of; the call that the plan is waits for none.
func TestCallsOfAllStepsAreBounded(t *testing.T) {
	for _, most := range []int{1, 3, 4} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.task.Approval.Default = "allow"
				w.task.Limits.ParallelTools = most
				began := time.Now()
				res, _, err := w.plan(t.Context(), "change it", cast{
					"planner": {submit("a", "b", "c")}, "step a": {sleeps(4)}, "step b": {sleeps(4)}, "step c": {sleeps(4)},
				})
				if err != nil || stepStates(res.Plan) != "a completed: done\nb completed: done\nc completed: done" || len(res.ToolCalls) != 13 {
					t.Fatalf("%+v %v", res, err)
				}
				if took := time.Since(began); w.servers.most != most || took != time.Duration(12/most)*5*time.Second {
					t.Errorf("%d calls beside each other, in %v", w.servers.most, took)
				}
			})
		})
	}
}

// A question that waits for a person keeps no other call from its work.
func TestQuestionsTakeNoPlaceOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.task.Limits.ParallelTools = 2
		w.task.Approval.Allow = []string{"fake/echo"}
		worked := make(chan struct{})
		w.servers.call["fake/echo"] = func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
			close(worked)
			return mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: "pong"}}}, nil
		}
		w.host.Answer = func(_ context.Context, q agent.Question) (agent.Answer, error) {
			if q.Kind != "plan" {
				<-worked // for ever, if the call of the other step waits for this answer
			}
			return agent.Answer{Decision: agent.DecisionOnce}, nil
		}
		res, _, err := w.plan(t.Context(), "change it", cast{
			"planner": {submit("a", "b")}, "step a": {sleeps(2)},
			"step b": {agenttest.Call(call("e", "mcp__fake__echo", `{}`))},
		})
		if err != nil || len(w.host.Questions()) != 3 || len(res.ToolCalls) != 4 {
			t.Errorf("%+v %v", res, err)
		}
	})
}

// While a call waits for its place its server may become another one: what was
// permitted is asked about anew. A call that stayed the same is not.
func TestCallIsLookedAtAgainAfterItsWait(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(s *servers)
		asked     int
	}{
		"nothing changed":    {func(*servers) {}, 1},
		"another server":     {func(s *servers) { s.configure("f2") }, 2},
		"another definition": {func(s *servers) { s.redefine(func(t *mcp.Tool) { t.Description = "Does something else" }) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if _, err := w.waitingEcho(t.Context(), func() { c.meanwhile(w.servers) }); err != nil {
					t.Fatal(err)
				}
				asked := 0
				for _, q := range w.host.Questions() {
					if q.Tool == "echo" {
						asked++
					}
				}
				if got := w.servers.called(); asked != c.asked || len(got) != 3 || !strings.HasPrefix(got[2], "fake/echo") {
					t.Errorf("asked %d times, called %q", asked, got)
				}
			})
		})
	}
}

// openai/codex#26956: a call that waits for its place when the run is cancelled
// never starts.
func TestCallThatWaitsIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		res, err := w.waitingEcho(ctx, func() { cancel(agent.ErrCancelled) })
		if !errors.Is(err, agent.ErrCancelled) || time.Since(began) > 4*time.Second+300*time.Millisecond {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		i := slices.IndexFunc(res.ToolCalls, func(c agent.ToolCallResult) bool { return c.Tool == "echo" })
		if got := w.servers.called(); len(got) != 2 || res.ToolCalls[i].Status != agent.Cancelled || res.ToolCalls[i].DurationMS != 0 {
			t.Errorf("called %q: %+v", got, res.ToolCalls)
		}
	})
}

// waitingEcho runs a plan in which one step has all places from the start until
// 5 s, and another calls echo, which is allowed at 1 s. meanwhile is called at 4 s.
func (w *world) waitingEcho(ctx context.Context, meanwhile func()) (agent.Result, error) {
	w.t.Helper()
	w.task.Limits.ParallelTools = 2
	res, _, err := w.plan(ctx, "change it", cast{
		"planner": {submit("a", "b")}, "step a": {sleeps(2)},
		"step b": {{Then: func() {
			time.Sleep(time.Second)
			time.AfterFunc(3*time.Second, meanwhile)
		}, Calls: []agent.ToolCall{call("e", "mcp__fake__echo", `{}`)}}},
	})
	return res, err
}
