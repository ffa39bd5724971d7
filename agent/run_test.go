package agent_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
)

func TestPromptIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, c := range []struct {
			prompt string
			want   error
		}{{"", agent.ErrEmptyPrompt}, {" \n\t", agent.ErrEmptyPrompt}, {strings.Repeat("x", 10<<20), agent.ErrLongPrompt}} {
			res, llm, err := w.run(t.Context(), c.prompt)
			pe, ok := errors.AsType[*agent.ProviderError](err)
			if !ok || !errors.Is(err, c.want) || pe.Message == "" || res.Status != "failed" || res.RunID != "r1" || len(llm.Requests()) > 0 {
				t.Errorf("a prompt of %d bytes: %+v, %v", len(c.prompt), res, err)
			}
		}
		if h := w.agent.History(w.dir, "s"); len(h) > 0 {
			t.Errorf("history %v", h)
		}
		task, llm := w.task, agenttest.NewLLM(t)
		llm.Of.ContextWindow = 8 << 20
		task.Prompt, task.LLM = strings.Repeat("y", 4<<20), llm
		if _, err := w.work(t.Context(), task); err != nil || lastUser(llm.Last()).Text != task.Prompt {
			t.Errorf("the longest prompt: %.200v", err)
		}
	})
}

// A model that counts on where the run would must not hide a call behind the
// events of another one.
func TestEveryCallTellsOfItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		one := func(id string) agenttest.Step { return agenttest.Call(call(id, "read_file", `{"path":"a"}`)) }
		res, _ := w.must("go", one("x"), one("x#2"), one("x"), one("x#2"))
		seen := map[string]bool{}
		for _, c := range res.ToolCalls {
			seen[c.ID] = true
		}
		if len(res.ToolCalls) != 4 || len(seen) != 4 {
			t.Errorf("calls %+v", res.ToolCalls)
		}
	})
}

// charmbracelet/crush#2492: the next prompt works, whatever the one before ended by.
func TestFailureKeepsTheHistoryValid(t *testing.T) {
	for _, c := range []struct {
		name string
		step agenttest.Step
		kind agent.ErrorKind
		kept string // of the answer
	}{
		{"auth", agenttest.Step{Err: &agent.ProviderError{Kind: agent.KindAuth, Message: "the key is refused"}}, agent.KindAuth, "[the run failed: the key is refused]"},
		{"mid-stream", agenttest.Step{Text: []string{"I was say"}, Err: &agent.ProviderError{Kind: agent.KindNetwork, Message: "connection lost"}}, agent.KindNetwork, "I was say\n\n[the run failed"},
		{"unknown", agenttest.Step{Err: errors.New("odd")}, agent.KindInternal, "[the run failed"},
		{"panic", agenttest.Step{Panic: "bug"}, agent.KindInternal, "[the run failed"},
		{"panic in the stream", agenttest.Step{Text: []string{"I was ", "say"}, Panic: "bug"}, agent.KindInternal, "I was say\n\n[the run failed"},
		{"empty answer", agenttest.Step{}, "", "[an empty answer]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				res, _, err := w.run(t.Context(), "first", c.step)
				pe, _ := errors.AsType[*agent.ProviderError](err)
				if c.kind == "" && err != nil || c.kind != "" && (pe == nil || pe.Kind != c.kind || res.Status != "failed") {
					t.Fatalf("%+v, %v", res, err)
				}
				_, llm := w.must("second")
				m := llm.Last().Messages
				if len(m) != 4 || m[1].Text != "first" || !strings.HasPrefix(m[2].Text, c.kept) || m[3].Text != "second" {
					t.Errorf("messages %q", m)
				}
			})
		})
	}
}
