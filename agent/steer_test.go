package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// steered is a world whose runs can be steered.
func steered(t *testing.T) (*world, *agent.Steer) {
	w := newWorld(t)
	w.task.Steer = &agent.Steer{}
	return w, w.task.Steer
}

// users are the user messages of a request.
func users(req agent.Request) (out []string) {
	for _, m := range req.Messages {
		if m.Role == agent.User {
			out = append(out, m.Text)
		}
	}
	return out
}

// add steers; the run must take it.
func add(t *testing.T, s *agent.Steer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := s.Add(text); err != nil {
			t.Errorf("%q is not taken: %v", text, err)
		}
	}
}

// What a person adds comes to the model at its next turn, wherever the run is.
func TestSteer(t *testing.T) {
	sleep := agenttest.Call(call("c", "mcp__fake__sleep", "{}"))
	hang := func(method string) func(w *world) func() {
		return func(w *world) func() {
			w.servers.hang[method] = true
			return func() {}
		}
	}
	for _, c := range []struct {
		name string
		// prepare brings the run to where it is steered, and gives what lets it go on.
		prepare func(w *world) func()
		steps   []agenttest.Step
		at      int // the request that has the text
		roles   string
		text    string
	}{
		{"while servers start", hang("WaitStarted"), nil, 0, "system user", "done"},
		{"while a list settles", hang("Settle"), []agenttest.Step{agenttest.Text("first")}, 1, "system user assistant user", "first\n\ndone"},
		{"while a tool runs", nil, []agenttest.Step{sleep}, 1, "system user assistant tool user", "done"},
		{"while a question is open", func(w *world) func() {
			answer := make(chan struct{})
			w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
				<-answer
				return agent.Answer{Decision: agent.DecisionOnce}, nil
			}
			return func() { close(answer) }
		}, []agenttest.Step{agenttest.Call(call("c", "mcp__fake__echo", "{}"))}, 1, "system user assistant tool user", "done"},
		{"during the final answer", nil, []agenttest.Step{agenttest.Text("an answer")}, 1, "system user assistant user", "an answer\n\ndone"},
		{"during an empty answer", nil, []agenttest.Step{{}}, 1, "system user assistant user", "done"},
		{"during an answer that is cut", nil, []agenttest.Step{{Text: []string{"an ans"}, Finish: "length"}}, 1, "system user assistant user", "an ans\n\ndone"},
		{"during an answer with calls", nil, []agenttest.Step{agenttest.Call(call("c", "read_file", `{"path":"x"}`), call("d", "list_dir", "{}"))}, 1, "system user assistant tool tool user", "done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s := steered(t)
				release := func() {}
				if c.prepare != nil {
					release = c.prepare(w)
				}
				steps := held(c.steps)
				type answer struct {
					res agent.Result
					llm *agenttest.LLM
				}
				done := make(chan answer, 1)
				go func() {
					res, llm := w.must("go", steps...)
					done <- answer{res, llm}
				}()
				synctest.Wait()
				add(t, s, "not that @fake:file://doc.md", "but this")
				release()
				got := <-done
				if got.res.Status != "completed" || got.res.StopReason != "end_turn" || got.res.Text != c.text {
					t.Errorf("result %+v", got.res)
				}
				all := got.llm.Requests()
				if len(all) != c.at+1 {
					t.Fatalf("%d requests", len(all))
				}
				var roles []string
				for _, m := range all[c.at].Messages {
					roles = append(roles, string(m.Role))
				}
				if got := strings.Join(roles, " "); got != c.roles {
					t.Errorf("roles %s, want %s", got, c.roles)
				}
				text := lastUser(all[c.at]).Text
				contains(t, text, "not that @fake:file://doc.md", `<resource server="fake" uri="file://doc.md"`, "but this")
				if strings.Index(text, "not that") > strings.Index(text, "but this") {
					t.Errorf("not in order:\n%s", text)
				}
				if len(got.res.Mentions) != 1 || got.res.Mentions[0].Status != "expanded" {
					t.Errorf("mentions %+v", got.res.Mentions)
				}
				if lines := w.lines(); lines[0].DecidedBy != "mention" && lines[len(lines)-1].DecidedBy != "mention" {
					t.Errorf("the read is not in the audit: %+v", lines)
				}
				if err := s.Add("late"); !errors.Is(err, agent.ErrSteerEnded) || len(s.Close()) > 0 {
					t.Errorf("after the run: %v, left %q", err, s.Close())
				}
			})
		})
	}
}

// held lets the first step come after a second.
func held(steps []agenttest.Step) []agenttest.Step {
	if len(steps) == 0 {
		return nil
	}
	hold := make(chan struct{})
	time.AfterFunc(time.Second, func() { close(hold) })
	steps = slices.Clone(steps)
	steps[0].Wait = hold
	return steps
}

// What comes too late is no loss: it is told, and the next prompt finds it.
func TestSteerThatComesTooLate(t *testing.T) {
	sleep := agenttest.Call(call("c", "mcp__fake__sleep", "{}"))
	for _, c := range []struct {
		name   string
		limits agent.Limits
		cancel bool
		steps  []agenttest.Step
		status string
	}{
		{"the last step", agent.Limits{Steps: 1}, false, []agenttest.Step{sleep}, "stopped"},
		{"the answer of the last step", agent.Limits{Steps: 1}, false, []agenttest.Step{agenttest.Text("an answer")}, "completed"},
		{"no tokens", agent.Limits{Tokens: 1}, false, []agenttest.Step{sleep}, "stopped"},
		{"a failure", agent.Limits{}, false, []agenttest.Step{{Text: []string{"half"}, Err: &agent.ProviderError{Kind: agent.KindAuth, Message: "no"}}}, "failed"},
		{"a panic", agent.Limits{}, false, []agenttest.Step{{Panic: "bug"}}, "failed"},
		{"a cancel", agent.Limits{}, true, []agenttest.Step{sleep}, "cancelled"},
		{"a cancel in the stream", agent.Limits{}, true, []agenttest.Step{{Text: []string{"half"}, Block: true}}, "cancelled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s := steered(t)
				w.task.Limits = c.limits
				ctx, cancel := context.WithCancelCause(t.Context())
				ended := make(chan agent.Result, 1)
				go func() {
					res, _, _ := w.run(ctx, "go", held(c.steps)...)
					ended <- res
				}()
				synctest.Wait()
				add(t, s, "one more thing", "and another")
				if c.cancel {
					cancel(agent.ErrCancelled)
				}
				if res := <-ended; res.Status != c.status {
					t.Errorf("result %+v", res)
				}
				equal(t, "left", s.Close(), []string{"one more thing", "and another"})
				if err := s.Add("late"); !errors.Is(err, agent.ErrSteerEnded) {
					t.Errorf("after the run: %v", err)
				}
				w.task.Limits, w.task.Steer = agent.Limits{}, nil
				_, llm := w.must("go on")
				equal(t, "user messages", users(llm.Last()), []string{"go", "one more thing\n\nand another", "go on"})
				cancel(nil)
			})
		})
	}
}

// A cancel while the mentions of an added text are read: the text is kept.
func TestCancelWhileAnAddedMentionIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := steered(t)
		w.servers.call["fake/add"] = func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
			add(t, s, "also @fake:file://x/stubborn")
			return mcp.ToolResult{}, nil
		}
		w.servers.tools = append(w.servers.tools, mcp.Tool{Server: "fake", Name: "add"})
		res, took := w.cancelled("go", agenttest.Call(call("c", "mcp__fake__add", "{}")))
		if took > 300*time.Millisecond || len(res.Mentions) != 1 || res.Mentions[0].Status != "failed" {
			t.Errorf("%v, %+v", took, res.Mentions)
		}
		w.task.Steer = nil
		_, llm := w.must("next")
		contains(t, users(llm.Last())[1], "also @fake:file://x/stubborn")
		w.close()
	})
}

func TestSteerIsBounded(t *testing.T) {
	s := &agent.Steer{}
	add(t, s, strings.Repeat("x", agent.MaxPrompt-1), "y")
	if err := s.Add("z"); !errors.Is(err, agent.ErrSteerFull) {
		t.Errorf("over the limit: %v", err)
	}
	var none *agent.Steer
	if err := none.Add("x"); !errors.Is(err, agent.ErrSteerEnded) || none.Close() != nil {
		t.Errorf("nil: %v", err)
	}
}

// Whatever is taken while a run ends is in its history, once; what is not is
// refused. Steers and the end race for real here.
func TestSteerRacesWithTheEnd(t *testing.T) {
	for round := range 50 {
		w, s := steered(t)
		var wg sync.WaitGroup
		taken := make([][]string, 3)
		for i := range taken {
			wg.Go(func() { // ends when the run takes nothing more
				for k := 0; ; k++ {
					text := fmt.Sprintf("<%d %d>", i, k)
					if s.Add(text) != nil {
						return
					}
					taken[i] = append(taken[i], text)
				}
			})
		}
		w.task.Limits.Steps = 1 + round%4
		w.window = 64 << 20 // they add megabytes
		w.must("go")
		wg.Wait()
		kept := make([][]string, len(taken))
		for _, m := range w.agent.History(w.dir, "s") {
			for text := range strings.SplitSeq(m.Text, "\n\n") {
				var i, k int
				if n, _ := fmt.Sscanf(text, "<%d %d>", &i, &k); n == 2 {
					kept[i] = append(kept[i], text)
				}
			}
		}
		for i, texts := range taken {
			if !slices.Equal(kept[i], texts) {
				t.Fatalf("%d were taken, %d are kept", len(texts), len(kept[i]))
			}
		}
	}
}
