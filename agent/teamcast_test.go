package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// teamCast is a model that plays the parts of a team, each by a script of its own.
// n counts the requests of a part for a step, from 1. Parts without a script say
// that they are done, and approve.
type teamCast struct {
	planner  func(n int) agenttest.Step
	worker   func(step string, n int) agenttest.Step
	reviewer func(step string, n int) agenttest.Step

	mu       sync.Mutex
	requests map[string][]agent.Request // by role
}

// play answers a request as the part that it is for.
func (c *teamCast) play(_ int, req agent.Request) agenttest.Step {
	if strings.HasPrefix(req.Messages[0].Text, "You summarise ") {
		return agenttest.Text("A summary of what was seen in the files, of sufficient length.")
	}
	role := roleOf(req)
	c.mu.Lock()
	if c.requests == nil {
		c.requests = map[string][]agent.Request{}
	}
	c.requests[role] = append(c.requests[role], req)
	n := len(c.requests[role])
	c.mu.Unlock()
	part, step, _ := strings.Cut(role, " ")
	switch {
	case part == "planner" && c.planner != nil:
		return c.planner(n)
	case part == "planner" && n == 1:
		return submit("one")
	case part == "step" && c.worker != nil:
		return c.worker(step, n)
	case part == "step":
		return agenttest.Text(fmt.Sprintf("result %d of %s", n, step))
	case part == "reviewer" && c.reviewer != nil:
		return c.reviewer(step, n)
	case part == "reviewer":
		return reviews("approve", "fine")
	}
	return agenttest.Text("all told")
}

// of gives the requests of a part.
func (c *teamCast) of(key string) []agent.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests[key])
}

func reviews(verdict, notes string) agenttest.Step {
	args, _ := json.Marshal(map[string]string{"verdict": verdict, "notes": notes})
	return agenttest.Call(call("v", "submit_review", string(args)))
}

// team runs a team on a prompt.
func (w *world) team(ctx context.Context, c *teamCast) (agent.Result, error) {
	task := w.task
	llm := agenttest.NewScript(w.t, c.play)
	llm.Of.ContextWindow = w.window
	task.Prompt, task.Mode, task.LLM = "build it", agent.ModeTeam, llm
	return w.work(ctx, task)
}

// planned gives the statuses of a plan's steps, and their notes where they say
// more than that a step is done.
func planned(res agent.Result) (out []string) {
	for _, s := range res.Plan {
		line := s.ID + " " + string(s.Status)
		if s.Status != agent.StepCompleted && s.Note != "" {
			line += ": " + s.Note
		}
		out = append(out, line)
	}
	return out
}

// notes gives what was told of a step while the plan ran, each once.
func (w *world) notes(id string) (out []string) {
	for _, e := range w.host.Events() {
		if e.Plan == nil {
			continue
		}
		for _, s := range e.Plan.Steps {
			line := strings.TrimSpace(string(s.Status) + " " + s.Note)
			if s.ID == id && (len(out) == 0 || out[len(out)-1] != line) {
				out = append(out, line)
			}
		}
	}
	return out
}

// after is closed when d has passed.
func after(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}
