package agent_test

import (
	"context"
	"fmt"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// stepper is a model that takes no time: so many calls, one in each answer.
type stepper struct{ steps, n int }

func (s *stepper) Complete(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) {
	if s.n++; s.n > s.steps {
		return agent.Response{Text: "done", FinishReason: "stop"}, nil
	}
	return agent.Response{ToolCalls: []agent.ToolCall{call("c", "mcp__fake__echo", fmt.Sprintf(`{"text":"%d"}`, s.n))}, FinishReason: "tool_calls"}, nil
}

// BenchmarkLoopStep is what a step costs beside the model and the tool, in
// runs of so many: the gate, the audit on disk, the history.
func BenchmarkLoopStep(b *testing.B) {
	for _, steps := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(steps, " steps"), func(b *testing.B) {
			w := newWorld(b)
			w.task.Limits = agent.Limits{Steps: steps + 1, Tokens: 1 << 40}
			w.task.Approval.Default = "allow"
			runs := 0
			for b.Loop() {
				runs++
				t := w.task
				t.Prompt, t.LLM = "go", &stepper{steps: steps}
				t.RunID, t.Session = fmt.Sprint("r", runs), fmt.Sprint("s", runs)
				if res, err := w.work(b.Context(), t); err != nil || len(res.ToolCalls) != steps {
					b.Fatalf("%d calls, %v", len(res.ToolCalls), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(runs*steps), "ns/step")
			w.told = agenttest.Evidence{SomeRuns: true} // enough of them to take longer than the benchmark
			w.log.Reset()
		})
	}
}
