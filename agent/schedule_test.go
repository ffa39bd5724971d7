package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// Random schedules: whatever happens at whatever time, each call has one
// result, one audit line and one outcome told, and the history is valid.
func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t)
			w.task.Limits.Steps = 6
			w.host.Answer = randomAnswers(rand.New(rand.NewPCG(seed, 2)))
			var wg sync.WaitGroup
			asked := 0
			for i := range 1 + rnd.IntN(3) {
				ctx, cancel := context.WithCancelCause(t.Context())
				task := w.task
				task.RunID = fmt.Sprint("run", i)
				task.Prompt = []string{"go", "see @fake:file://doc.md and @fake:file://none", "see @fake:file://x/stubborn"}[rnd.IntN(3)]
				llm := agenttest.NewScript(t, randomScript(rand.New(rand.NewPCG(seed, uint64(3+i)))))
				task.LLM = llm
				if rnd.IntN(3) > 0 {
					time.AfterFunc(time.Duration(rnd.IntN(12000))*time.Millisecond, func() { cancel(agent.ErrCancelled) })
				} else {
					time.AfterFunc(3*time.Minute, func() { cancel(agent.ErrCancelled) })
				}
				asked++
				wg.Go(func() { // ends by the cancel at the latest
					res, err := w.work(ctx, task)
					w.checkRun(res, err)
				})
			}
			wg.Wait()
			w.host.Answer = agenttest.Always(agent.DecisionOnce)
			_, llm := w.must("last")
			users := 0
			for _, m := range llm.Last().Messages {
				if m.Role == agent.User && !strings.HasPrefix(m.Text, "[agentls") {
					users++
				}
			}
			if users > asked+1 {
				t.Errorf("seed %d: %d prompts in the history of %d", seed, users, asked+1)
			}
			w.close()
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// checkRun checks that nothing of a run was lost; the world's own check holds
// its calls against the audit.
func (w *world) checkRun(res agent.Result, err error) {
	if err == nil && res.Status != "completed" && res.Status != "stopped" || err != nil && res.Status != "cancelled" && res.Status != "failed" {
		w.t.Errorf("%s: status %s, error %v", res.RunID, res.Status, err)
	}
	ids := map[string]agent.Outcome{}
	for _, c := range res.ToolCalls {
		if ids[c.ID] != "" || c.Status == "" {
			w.t.Errorf("%s: call %+v", res.RunID, c)
		}
		ids[c.ID] = c.Status
	}
}

func randomAnswers(rnd *rand.Rand) func(context.Context, agent.Question) (agent.Answer, error) {
	var mu sync.Mutex
	return func(ctx context.Context, q agent.Question) (agent.Answer, error) {
		mu.Lock()
		wait := time.Duration(rnd.IntN(1500)) * time.Millisecond
		answer := []agent.Answer{{Decision: agent.DecisionOnce}, {Decision: agent.DecisionSession}, {}, {Decision: agent.DecisionOnce, Arguments: []byte(`{"text":"edited"}`)}, {Decision: agent.DecisionOnce, Arguments: []byte(`7`)}}[rnd.IntN(5)]
		mu.Unlock()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return agent.Answer{}, context.Cause(ctx)
		}
		if a, ok := q.Recheck(); ok {
			return a, nil
		}
		return answer, nil
	}
}

func randomScript(rnd *rand.Rand) agenttest.Script {
	tools := []string{"mcp__fake__echo", "mcp__fake__sleep", "mcp__fake__stubborn", "mcp__fake__fail", "mcp__fake__error", "mcp__fake__panic", "mcp__fake__progress", "mcp__fake__read_resource", "read_file", "list_dir", "nosuch", "no such!"}
	args := []string{"", "{}", `{"text":"x"}`, `{"uri":"file://doc.md"}`, "null", "[1]", `{"broken`, `{"path":"../x"}`}
	return func(int, agent.Request) agenttest.Step {
		hold := make(chan struct{})
		time.AfterFunc(time.Duration(rnd.IntN(2000))*time.Millisecond, func() { close(hold) })
		s := agenttest.Step{Wait: hold}
		if rnd.IntN(2) == 0 {
			s.Text = []string{"some ", "text"}
		}
		switch rnd.IntN(10) {
		case 0:
			s.Block = true
		case 1:
			s.Err = &agent.ProviderError{Kind: agent.KindNetwork, Message: "lost"}
		case 2:
			s.Panic = "bug"
		case 3, 4:
		default:
			for range 1 + rnd.IntN(6) {
				id := fmt.Sprint("c", rnd.IntN(4)) // doubles happen
				s.Calls = append(s.Calls, call(id, tools[rnd.IntN(len(tools))], args[rnd.IntN(len(args))]))
			}
		}
		return s
	}
}
