package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// charmbracelet/crush#2130, olimorris/codecompanion.nvim#2223: a model that goes
// in circles is told so, then stopped; one that polls or works is not.
func TestCircles(t *testing.T) {
	echo := func(text string) agent.ToolCall {
		return call("c", "mcp__fake__echo", fmt.Sprintf(`{"text":%q}`, text))
	}
	fail := call("f", "mcp__fake__fail", `{"why":"same"}`)
	letter := func(n int, letters string) agent.ToolCall {
		return echo(letters[(n-1)%len(letters) : (n-1)%len(letters)+1])
	}
	for _, c := range []struct {
		name   string
		calls  func(n int) []agent.ToolCall
		told   []int // the requests that were told of it first
		stop   int   // model calls; 0: it runs to the limit of 40
		answer agent.Decision
	}{
		{name: "the same call", calls: func(int) []agent.ToolCall { return []agent.ToolCall{echo("x")} }, told: []int{4}, stop: 4},
		{name: "the same call, written in another way", told: []int{4}, stop: 4, calls: func(n int) []agent.ToolCall {
			return []agent.ToolCall{call("c", "mcp__fake__echo", []string{`{"text":"x","n":1}`, `{ "n": 1, "text":"x" }`}[n%2])}
		}},
		{name: "the same two calls", calls: func(int) []agent.ToolCall { return []agent.ToolCall{echo("x"), echo("y")} }, told: []int{4}, stop: 4},
		{name: "A B A B", calls: func(n int) []agent.ToolCall { return []agent.ToolCall{letter(n, "ab")} }, told: []int{7}, stop: 8},
		{name: "A B C D", calls: func(n int) []agent.ToolCall { return []agent.ToolCall{letter(n, "abcd")} }, told: []int{13}, stop: 16},
		{name: "a start before the circle", told: []int{9}, stop: 10, calls: func(n int) []agent.ToolCall {
			if n < 3 {
				return []agent.ToolCall{echo(fmt.Sprint("start", n))}
			}
			return []agent.ToolCall{letter(n, "ab")}
		}},
		{name: "one call beside others that change", told: []int{7}, stop: 9, calls: func(n int) []agent.ToolCall {
			return []agent.ToolCall{echo("x"), echo(fmt.Sprint(n))}
		}},
		{name: "one call in two of three rounds", told: []int{9}, stop: 13, calls: func(n int) []agent.ToolCall {
			if n%3 == 0 {
				return []agent.ToolCall{echo(fmt.Sprint(n))}
			}
			return []agent.ToolCall{echo("x")}
		}},
		{name: "the same failing call", calls: func(int) []agent.ToolCall { return []agent.ToolCall{fail} }, told: []int{4}, stop: 4},
		{name: "a failing call among others", told: []int{6}, stop: 11, calls: func(n int) []agent.ToolCall {
			if n%2 == 0 {
				return []agent.ToolCall{echo(fmt.Sprint(n))}
			}
			return []agent.ToolCall{fail}
		}},
		{name: "a call that a person refuses", answer: agent.DecisionDeny, told: []int{4}, stop: 6, calls: func(n int) []agent.ToolCall {
			return []agent.ToolCall{echo("x"), call("r", "read_file", fmt.Sprintf(`{"path":"%d"}`, n))}
		}},
		{name: "no such tool", calls: func(int) []agent.ToolCall { return []agent.ToolCall{call("c", "nosuch", "{}")} }, told: []int{4}, stop: 4},
		// No circles.
		{name: "other calls each time", calls: func(n int) []agent.ToolCall { return []agent.ToolCall{echo(fmt.Sprint(n))} }},
		{name: "a result that changes", calls: func(int) []agent.ToolCall { return []agent.ToolCall{call("c", "mcp__fake__status", "{}")} }},
		{name: "an image that changes", calls: func(int) []agent.ToolCall { return []agent.ToolCall{call("c", "mcp__fake__shot", "{}")} }},
		{name: "a long result that changes behind the cut", calls: func(int) []agent.ToolCall { return []agent.ToolCall{call("c", "mcp__fake__long", "{}")} }},
		{name: "a check every other round", calls: func(n int) []agent.ToolCall {
			if n%2 == 0 {
				return []agent.ToolCall{echo(fmt.Sprint(n))}
			}
			return []agent.ToolCall{echo("x")}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.changing()
				w.task.Limits = agent.Limits{Steps: 40, Tokens: 1e9}
				if c.answer != "" {
					w.host.Answer = agenttest.Always(c.answer)
				}
				llm := agenttest.NewScript(t, func(n int, _ agent.Request) agenttest.Step { return agenttest.Call(c.calls(n)...) })
				w.task.Prompt, w.task.LLM = "go", llm
				res, err := w.work(t.Context(), w.task)
				want, steps := "loop", c.stop
				if c.stop == 0 {
					want, steps = "max_steps", 40
				}
				if err != nil || res.StopReason != want || res.Steps != steps || res.Status != "stopped" {
					t.Errorf("%s after %d, want %s after %d (%v)", res.StopReason, res.Steps, want, steps, err)
				}
				var told []int
				for i, req := range llm.Requests() {
					if m := req.Messages[len(req.Messages)-1]; strings.Contains(m.Text, "Do something else, or answer with what is known.") {
						told = append(told, i+1)
					}
				}
				equal(t, "told in requests", told, c.told)
			})
		})
	}
}

// changing gives the fake server tools whose results differ each time.
func (w *world) changing() {
	n := 0
	tool := func(name string, result func(n int) mcp.Content) {
		w.servers.tools = append(w.servers.tools, mcp.Tool{Server: "fake", Name: name})
		w.servers.call["fake/"+name] = func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
			n++
			return mcp.ToolResult{Content: []mcp.Content{result(n)}}, nil
		}
	}
	tool("status", func(n int) mcp.Content { return mcp.Content{Type: "text", Text: fmt.Sprintf("%d of 100", n)} })
	tool("shot", func(n int) mcp.Content {
		return mcp.Content{Type: "image", MIMEType: "image/png", Blob: fmt.Sprintf("iVBORw0KGgoA%04d", n)}
	})
	tool("long", func(n int) mcp.Content {
		return mcp.Content{Type: "text", Text: strings.Repeat("x", 60_000) + fmt.Sprint(n) + strings.Repeat("x", 60_000)}
	})
}

// A check that stays the same after each edit is work, not a circle; after
// edits that change nothing it is one.
func TestChecksBetweenEditsAreNoCircle(t *testing.T) {
	check := call("c", "mcp__fake__fail", "{}")
	for _, c := range []struct {
		name  string
		write func(n int) string // the text that is written
		want  string
	}{
		{"edits", func(n int) string { return fmt.Sprintf("line %d\n", n) }, "max_steps"},
		{"the same text again", func(int) string { return "same\n" }, "loop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.task.Limits = agent.Limits{Steps: 30, Tokens: 1e9}
				w.task.Prompt = "go"
				w.task.LLM = agenttest.NewScript(t, func(n int, _ agent.Request) agenttest.Step {
					args, _ := json.Marshal(map[string]any{"path": "a.txt", "content": c.write(n), "n": n})
					return agenttest.Call(call("w", "write_file", string(args)), check)
				})
				w.task.Limits.ParallelTools = 1
				res, err := w.work(t.Context(), w.task)
				if err != nil || res.StopReason != c.want {
					t.Errorf("%s after %d, want %s (%v)", res.StopReason, res.Steps, c.want, err)
				}
				if len(res.Changed) != 1 || res.ToolCalls[0].Status != agent.Completed {
					t.Errorf("%+v", res)
				}
			})
		})
	}
}

// A person's word is something new: what was a circle may be right now.
func TestSteerEndsACircle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := steered(t)
		llm := agenttest.NewScript(t, func(n int, _ agent.Request) agenttest.Step {
			if n == 4 { // the round that would be the last
				add(t, s, "go on like that")
			}
			if n == 7 {
				return agenttest.Text("done")
			}
			return agenttest.Call(call("c", "mcp__fake__echo", "{}"))
		})
		w.task.Prompt, w.task.LLM = "go", llm
		res, err := w.work(t.Context(), w.task)
		if err != nil || res.StopReason != "end_turn" || res.Text != "done" {
			t.Errorf("%+v, %v", res, err)
		}
		equal(t, "results", results(llm.Last())[:1], []string{"echo: "})
		contains(t, users(llm.Requests()[4])[1], "go on like that")
	})
}
