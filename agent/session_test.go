package agent_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
)

func TestPromptsOfASessionWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		gate := make(chan struct{})
		ended := make(chan string, 4)
		start := func(ctx context.Context, session, prompt string, step agenttest.Step) {
			task := w.task
			task.Session, task.Prompt, task.LLM = session, prompt, agenttest.NewLLM(t, step)
			go func() {
				_, err := w.work(ctx, task)
				ended <- fmt.Sprint(prompt, " ", err)
			}()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		start(t.Context(), "s", "one", agenttest.Step{Wait: gate, Text: []string{"1"}})
		start(ctx, "s", "two", agenttest.Text("2"))
		start(t.Context(), "s", "three", agenttest.Text("3"))
		start(t.Context(), "other", "beside", agenttest.Text("4"))
		cancel(agent.ErrCancelled)
		synctest.Wait()
		close(gate)
		got := []string{<-ended, <-ended, <-ended, <-ended}
		slices.Sort(got[2:]) // the second may come back before the first is out of Run
		equal(t, "ended", got, []string{"beside <nil>", "two cancelled", "one <nil>", "three <nil>"})
		var texts []string
		for _, m := range w.agent.History(w.dir, "s") {
			texts = append(texts, m.Text)
		}
		equal(t, "history", texts, []string{"one", "1", "three", "3"})
	})
}

func TestSameSessionOfAnotherFolderIsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.must("here")
		w.task.Folder = "/elsewhere"
		_, llm := w.must("there")
		if len(llm.Last().Messages) != 2 {
			t.Errorf("messages %v", llm.Last().Messages)
		}
	})
}
