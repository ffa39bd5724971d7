package agent_test

import (
	"context"
	"encoding/json"
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

func TestAnswerStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		res, _ := w.must("hi", agenttest.Step{Text: []string{"Hello ", "there."}, Reasoning: []string{"hm"}, Usage: agent.Usage{PromptTokens: 10, CompletionTokens: 5}})
		if res.Status != "completed" || res.StopReason != "end_turn" || res.Text != "Hello there." || res.Steps != 1 {
			t.Errorf("result %+v", res)
		}
		if want := (agent.Usage{PromptTokens: 10, CompletionTokens: 5, TotalTokens: 15}); res.Usage != want {
			t.Errorf("usage %+v", res.Usage)
		}
		var kinds []string
		for _, e := range w.host.Events() {
			kinds = append(kinds, string(e.Kind)+e.Delta)
		}
		equal(t, "events", kinds, []string{"step", "reasoninghm", "textHello ", "textthere.", "usage"})
		data, _ := json.Marshal(res)
		contains(t, string(data), `"mentions":[]`, `"toolCalls":[]`, `"changed":[]`, `"untracked":[]`)
	})
}

// The usage of all answers is summed, what was cached too, and told after each.
func TestUsageIsSummed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first := agenttest.Call(call("c", "mcp__fake__echo", `{"text":"x"}`))
		first.Usage = agent.Usage{PromptTokens: 100, CompletionTokens: 5, CachedTokens: 64}
		last := agenttest.Text("done")
		last.Usage = agent.Usage{PromptTokens: 130, CompletionTokens: 7, TotalTokens: 137, CachedTokens: 96}
		res, _ := w.must("hi", first, last)
		want := agent.Usage{PromptTokens: 230, CompletionTokens: 12, TotalTokens: 242, CachedTokens: 160}
		var told []agent.Usage
		for _, e := range w.host.Events() {
			if e.Kind == agent.EventUsage {
				told = append(told, *e.Usage)
			}
		}
		if res.Usage != want || len(told) != 2 || told[1] != want || told[0].CachedTokens != 64 {
			t.Errorf("%+v, told %+v", res.Usage, told)
		}
	})
}

func TestToolCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		res, llm := w.must("use it", agenttest.Step{Text: []string{"I look."}, Calls: []agent.ToolCall{call("c1", "mcp__fake__echo", `{"text": "pong"}`), call("c2", "mcp__fake__progress", "")}}, agenttest.Text("It says pong."))
		equal(t, "results", results(llm.Last()), []string{"echo: pong", "progressed"})
		equal(t, "statuses", statuses(res), []agent.Outcome{"completed", "completed"})
		equal(t, "untracked", res.Untracked, []string{"echo", "progress"})
		var states []string
		for _, e := range w.host.Events() {
			if c := e.ToolCall; c != nil && c.ID == "c2" {
				states = append(states, strings.TrimSpace(string(c.State)+" "+c.Message))
			}
		}
		equal(t, "states", states, []string{"pending", "running", "running 1/2 half", "completed"})
		for _, l := range w.lines() {
			if l.Outcome != agent.Completed || l.DecidedBy != "user" || l.Server != "fake" || l.RunID != "r1" || l.Session != "s" {
				t.Errorf("audit %+v", l)
			}
		}
	})
}

func TestCallsRunBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var calls []agent.ToolCall
		for i := range 9 {
			calls = append(calls, call(fmt.Sprint("c", i), "mcp__fake__sleep", "{}"))
		}
		began := time.Now()
		_, llm := w.must("go", agenttest.Call(calls...))
		if took := time.Since(began); took != 15*time.Second || w.servers.most != 4 {
			t.Errorf("9 calls of 5 s, 4 beside each other: took %v with %d", took, w.servers.most)
		}
		if got := results(llm.Last()); len(got) != 9 {
			t.Errorf("%d results", len(got))
		}
	})
}

// github/copilot-cli#3125
func TestToolAddedInARunIsOfferedInTheSameRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.servers.call["fake/add"] = func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
			w.servers.mu.Lock()
			defer w.servers.mu.Unlock()
			w.servers.tools = append(w.servers.tools, mcp.Tool{Server: "fake", Name: "late_tool"})
			return mcp.ToolResult{}, nil
		}
		w.servers.tools = append(w.servers.tools, mcp.Tool{Server: "fake", Name: "add"})
		_, llm := w.must("go", agenttest.Call(call("c", "mcp__fake__add", "{}")))
		offered := func(n int) bool {
			for _, tool := range llm.Requests()[n].Tools {
				if tool.Name == "mcp__fake__late_tool" {
					return true
				}
			}
			return false
		}
		if offered(0) || !offered(1) {
			t.Errorf("late tool offered: at first %v, then %v", offered(0), offered(1))
		}
		equal(t, "results", results(llm.Last()), []string{"(no output)"})
		if w.servers.settled != 2 {
			t.Errorf("settled %d times before 2 model calls", w.servers.settled)
		}
	})
}

// charmbracelet/crush#660, charmbracelet/crush#3521: a slow server delays the
// first prompt 2 s at most; the person and the model are told of it.
func TestHungServersDelayAShortWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.servers.hang = map[string]bool{"WaitStarted": true, "Settle": true}
		w.servers.missing = []string{"slow"}
		w.servers.infos = append(w.servers.infos, mcp.ServerInfo{Name: "slow", Status: mcp.StatusStarting}, mcp.ServerInfo{Name: "bad", Status: mcp.StatusFailed})
		began := time.Now()
		_, llm := w.must("hi")
		if took := time.Since(began); took != 2500*time.Millisecond {
			t.Errorf("took %v", took)
		}
		contains(t, llm.Last().Messages[0].Text, "slow (still starting), bad (failed)")
		var told []string
		for _, e := range w.host.Events() {
			if e.Kind == agent.EventAway {
				told = append(told, e.Delta)
			}
		}
		equal(t, "told", told, []string{"This prompt begins without MCP servers that are still starting: slow"})
	})
}

func TestLimits(t *testing.T) {
	again := func(n int, _ agent.Request) agenttest.Step {
		s := agenttest.Call(call("c", "mcp__fake__echo", fmt.Sprintf(`{"text":"%d"}`, n)))
		s.Usage = agent.Usage{TotalTokens: 100}
		return s
	}
	silent := func(n int, req agent.Request) agenttest.Step {
		s := again(n, req)
		s.Usage = agent.Usage{}
		return s
	}
	for _, c := range []struct {
		name   string
		script agenttest.Script
		limits agent.Limits
		want   string
		steps  int
	}{
		{"steps", again, agent.Limits{Steps: 3}, "max_steps", 3},
		{"default steps", again, agent.Limits{}, "max_steps", 50},
		{"tokens", again, agent.Limits{Tokens: 250}, "max_tokens", 3},
		{"tokens of a provider that does not count", silent, agent.Limits{Tokens: 1}, "max_tokens", 1},
		{"length", func(int, agent.Request) agenttest.Step {
			return agenttest.Step{Text: []string{"half an ans"}, Finish: "length", Calls: []agent.ToolCall{call("c", "mcp__fake__echo", `{"te`)}}
		}, agent.Limits{}, "length", 1},
		{"filter", func(int, agent.Request) agenttest.Step {
			return agenttest.Step{Text: []string{"half"}, Finish: "content_filter"}
		}, agent.Limits{}, "content_filter", 1},
		// charmbracelet/crush#2130, olimorris/codecompanion.nvim#2223
		{"loop", func(int, agent.Request) agenttest.Step {
			return agenttest.Call(call("c", "mcp__fake__echo", `{"text":"same"}`))
		}, agent.Limits{}, "loop", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.task.Limits = c.limits
				task := w.task
				llm := agenttest.NewScript(t, c.script)
				task.Prompt, task.LLM = "go", llm
				res, err := w.work(t.Context(), task)
				if err != nil || res.Status != "stopped" || res.StopReason != c.want || res.Steps != c.steps {
					t.Fatalf("%+v, %v", res, err)
				}
				if c.want != "content_filter" && c.want != "length" {
					contains(t, res.Note, "send “go on” to continue")
				}
				told := 0
				for _, m := range llm.Last().Messages {
					if strings.Contains(m.Text, "the same calls gave the same results") {
						told++
					}
				}
				if want := map[bool]int{true: 1}[c.want == "loop"]; told != want {
					t.Errorf("told of the loop %d times, want %d", told, want)
				}
				_, next := w.must("and now?")
				if m := next.Last().Messages; !strings.Contains(m[len(m)-2].Text, "[stopped by agentls") {
					t.Errorf("no note before the next prompt: %q", m[len(m)-2].Text)
				}
				if strings.HasPrefix(res.Text, "half") {
					contains(t, next.Last().Messages[2].Text, res.Text)
				}
			})
		})
	}
}

func TestProviderWithoutImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.servers.call["fake/shot"] = func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
			return mcp.ToolResult{Content: []mcp.Content{{Type: "image", MIMEType: "image/png", Blob: "iVBORw0KGgo="}}}, nil
		}
		w.servers.tools = append(w.servers.tools, mcp.Tool{Server: "fake", Name: "shot"})
		_, llm := w.must("look", agenttest.Call(call("c", "mcp__fake__shot", "{}")))
		if last := lastUser(llm.Last()); len(last.Images) != 1 || last.Images[0].Data != "iVBORw0KGgo=" {
			t.Errorf("the image did not arrive: %+v", last)
		}
		contains(t, results(llm.Last())[0], "image/png, 8 bytes")
		refuse := agenttest.Step{Err: &agent.ProviderError{Kind: agent.KindProvider, Message: "no images, please"}}
		_, llm = w.must("and?", refuse)
		if n := len(llm.Requests()); n != 2 {
			t.Fatalf("%d requests", n)
		}
		for _, m := range llm.Last().Messages {
			if len(m.Images) > 0 {
				t.Error("images were sent again")
			}
		}
		told := slices.ContainsFunc(w.host.Events(), func(e agent.Event) bool {
			return e.Kind == agent.EventNotice && strings.Contains(e.Delta, "asked again without them")
		})
		if !told {
			t.Error("nobody was told")
		}
	})
}
