package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// cancelled runs a prompt, cancels it once it waits for something, and says
// how long the answer took.
func (w *world) cancelled(prompt string, steps ...agenttest.Step) (agent.Result, time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	type answer struct {
		res agent.Result
		err error
	}
	done := make(chan answer, 1)
	go func() {
		res, _, err := w.run(ctx, prompt, steps...)
		done <- answer{res, err}
	}()
	synctest.Wait()
	began := time.Now()
	cancel(agent.ErrCancelled)
	got := <-done
	if !errors.Is(got.err, agent.ErrCancelled) || got.res.Status != "cancelled" {
		w.t.Errorf("a cancelled run ended with %+v, %v", got.res, got.err)
	}
	return got.res, time.Since(began)
}

func ask(ctx context.Context, _ agent.Question) (agent.Answer, error) {
	<-ctx.Done()
	return agent.Answer{}, context.Cause(ctx)
}

// Each point at which a run can be cancelled: the answer comes within 500 ms,
// each call has a result, and the next prompt works on what was kept.
func TestCancel(t *testing.T) {
	tool := func(name string) agenttest.Step {
		return agenttest.Step{Text: []string{"I call. "}, Calls: []agent.ToolCall{call("c1", name, "{}"), call("c2", "mcp__fake__echo", "{}")}}
	}
	for _, c := range []struct {
		name     string
		prompt   string
		prepare  func(*world)
		steps    []agenttest.Step
		statuses []agent.Outcome
		kept     string
		most     time.Duration
	}{
		{name: "while servers start", prepare: func(w *world) { w.servers.hang["WaitStarted"] = true }},
		{name: "while lists settle", prepare: func(w *world) { w.servers.hang["Settle"] = true }},
		{name: "while a mention is read", prompt: "be first @fake:file://doc.md", prepare: func(w *world) { w.servers.hang["Read"] = true }},
		{name: "while a mention hangs", prompt: "be first @fake:file://x/stubborn", most: 300 * time.Millisecond},
		// editor-code-assistant/eca#554
		{name: "before the first token", steps: []agenttest.Step{{Block: true}}, kept: "[the run was cancelled here]"},
		{name: "in the stream", steps: []agenttest.Step{{Text: []string{"partial "}, Block: true}}, kept: "partial \n\n[the run was cancelled here]"},
		// obot-platform/obot#5697
		{
			name: "while a question is open", prepare: func(w *world) { w.host.Answer = ask }, steps: []agenttest.Step{tool("mcp__fake__echo")},
			statuses: []agent.Outcome{"cancelled", "cancelled"}, kept: "I call. ",
		},
		{name: "in a call", steps: []agenttest.Step{tool("mcp__fake__sleep")}, statuses: []agent.Outcome{"cancelled", "completed"}, kept: "I call. "},
		// agentclientprotocol/claude-agent-acp#680, vybestack/llxprt-code#282
		{name: "in a call that does not react", steps: []agenttest.Step{tool("mcp__fake__stubborn")}, statuses: []agent.Outcome{"completed", "unknown"}, kept: "I call. ", most: 300 * time.Millisecond},
		{name: "in the second answer", steps: []agenttest.Step{tool("mcp__fake__fail"), {Text: []string{"so "}, Block: true}}, statuses: []agent.Outcome{"completed", "failed"}, kept: "I call. "},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if c.prepare != nil {
					c.prepare(w)
				}
				if c.prompt == "" {
					c.prompt = "be first"
				}
				res, took := w.cancelled(c.prompt, c.steps...)
				if took > c.most {
					t.Errorf("the answer took %v", took)
				}
				got := statuses(res)
				slices.Sort(got)
				slices.Sort(c.statuses)
				equal(t, "statuses", got, c.statuses)
				clear(w.servers.hang)
				w.host.Answer = agenttest.Always(agent.DecisionOnce)
				_, llm := w.must("next")
				contains(t, llm.Last().Messages[1].Text, "be first")
				contains(t, llm.Last().Messages[2].Text, c.kept)
				events := len(w.host.Events())
				w.close()
				synctest.Wait()
				if n := len(w.host.Events()); n != events {
					t.Errorf("%d events after the run", n-events)
				}
			})
		})
	}
}

// obot-platform/obot#5697, stagewise-io/stagewise#1541: a late answer does nothing.
func TestAnswerAfterCancelRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.host.Answer = func(ctx context.Context, _ agent.Question) (agent.Answer, error) {
			<-ctx.Done()
			return agent.Answer{Decision: agent.DecisionAlways}, nil
		}
		res, _ := w.cancelled("go", agenttest.Call(call("c", "mcp__fake__echo", "{}")))
		equal(t, "statuses", statuses(res), []agent.Outcome{"cancelled"})
		if got := w.servers.called(); len(got) > 0 {
			t.Errorf("called %v", got)
		}
		w.host.Answer = nil
		w.must("again", agenttest.Call(call("c", "mcp__fake__echo", "{}")))
		if len(w.host.Questions()) != 2 {
			t.Error("the late answer was remembered")
		}
	})
}

// openai/codex#26956: no call starts after a cancel, also of those that wait for their turn.
func TestNoCallStartsAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.task.Limits.ParallelTools = 2
		var calls []agent.ToolCall
		for i := range 6 {
			calls = append(calls, call(fmt.Sprint("c", i), "mcp__fake__sleep", "{}"))
		}
		res, _ := w.cancelled("go", agenttest.Call(calls...))
		if n := len(w.servers.called()); n != 2 || len(res.ToolCalls) != 6 {
			t.Errorf("%d of %d calls reached the server", n, len(res.ToolCalls))
		}
		for i, l := range w.lines() {
			if l.Outcome != agent.Cancelled {
				t.Errorf("audit line %d: %+v", i, l)
			}
		}
	})
}

func TestCloseWaitsHalfASecondForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cancelled("go", agenttest.Call(call("c", "mcp__fake__stubborn", "{}")))
		began := time.Now()
		w.agent.Close()
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("Close took %v", took)
		}
		res, llm := w.must("go", agenttest.Call(call("c", "mcp__fake__echo", "{}")))
		equal(t, "statuses", statuses(res), []agent.Outcome{"failed"})
		contains(t, results(llm.Last())[1], "shutting down")
		close(w.servers.stubborn)
	})
}

var (
	_ agent.Manager = (*servers)(nil)
	_ agent.Manager = (*mcp.Manager)(nil)
)
