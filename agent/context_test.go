package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// narrow is a provider with a window: what is longer it refuses, and it counts
// in its own way.
type narrow struct {
	*agenttest.LLM

	window   int
	tokens   func(bytes int) int
	silent   bool // it tells no usage
	refusals int
	inARow   int
	most     int
	tells    bool // its window, with a refusal
	told     bool // what Of says of the window is true
	steps    int
}

func (p *narrow) Complete(ctx context.Context, req agent.Request, on func(agent.Delta)) (agent.Response, error) {
	n := p.tokens(requestBytes(req))
	if n > p.window {
		if p.inARow++; p.inARow > p.most {
			p.most = p.inARow
		}
		p.refusals++
		pe := &agent.ProviderError{Kind: agent.KindContext, Message: fmt.Sprintf("%d tokens are too many", n)}
		if p.tells {
			pe.Window = p.window
		}
		return agent.Response{}, pe
	}
	p.inARow = 0
	resp, err := p.LLM.Complete(ctx, req, on)
	if !p.silent {
		resp.Usage = agent.Usage{PromptTokens: n, CompletionTokens: 10}
	}
	return resp, err
}

func requestBytes(req agent.Request) (n int) {
	for _, m := range req.Messages {
		n += len(m.Text) + 10
		for _, c := range m.ToolCalls {
			n += len(c.Arguments) + len(c.Name) + 10
		}
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}

// textOf is about n bytes that no other i has.
func textOf(i, n int) string {
	return strings.Repeat(fmt.Sprintf("row %d of the table, with some words\n", i), n/38+1)
}

// charmbracelet/crush#3480, QwenLM/qwen-code#2439: a run of many long results
// goes on to its end, with a model whose window holds few of them. A provider
// that counts in another way refuses one request at most, and is understood
// from then on.
func TestLongRunStaysInTheWindow(t *testing.T) {
	for name, p := range map[string]*narrow{
		"known window":     {steps: 200, window: 60000, tokens: func(n int) int { return n / 4 }, told: true},
		"small window":     {steps: 30, window: 8192, tokens: func(n int) int { return n / 4 }, told: true},
		"other vocabulary": {steps: 30, window: 60000, tokens: func(n int) int { return n * 10 / 25 }, told: true},
		"unknown window":   {steps: 30, window: 32000, tokens: func(n int) int { return n / 4 }},
		"told window":      {steps: 30, window: 24000, tokens: func(n int) int { return n / 4 }, tells: true},
		"tells nothing":    {steps: 30, window: 32000, tokens: func(n int) int { return n / 3 }, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				n := 0
				w.servers.call["fake/echo"] = func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
					n++
					return mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: textOf(n, 50000)}}}, nil
				}
				step := 0
				p.LLM = agenttest.NewScript(t, func(_ int, req agent.Request) agenttest.Step {
					contains(t, lastUser(req).Text, "the task")
					if asksForSummary(req) {
						return agenttest.Text("Many rows of the table were read, and nothing is known that would end the task.")
					}
					step++
					n := step
					if n == p.steps {
						return agenttest.Text("done")
					}
					return agenttest.Call(call(fmt.Sprintf("c%d", n), "mcp__fake__echo", fmt.Sprintf(`{"n":%d}`, n)))
				})
				if p.told {
					p.Of.ContextWindow = p.window
				}
				task := w.task
				task.Prompt, task.LLM, task.Limits = "the task", p, agent.Limits{Steps: 1000, Tokens: 1 << 40}
				res, err := w.work(t.Context(), task)
				if err != nil || res.Status != "completed" || res.Text != "done" || len(res.ToolCalls) != p.steps-1 {
					t.Fatalf("%v: %s, %d calls, %d refusals", err, res.Status, len(res.ToolCalls), p.refusals)
				}
				if p.most > 1 || p.refusals > 3 || p.told && p.refusals > 1 || p.tells && p.refusals > 1 || name == "known window" && p.refusals > 0 {
					t.Errorf("%d refusals, %d in a row", p.refusals, p.most)
				}
				whole := 0
				for _, m := range w.agent.History(w.dir, "s") {
					whole += len(m.Text)
				}
				if whole < (p.steps-1)*8000 && name != "small window" {
					t.Errorf("the history has %d bytes", whole)
				}
			})
		})
	}
}

// editor-code-assistant/eca#491, eca#142: what did not fit is not sent for
// ever, be it a resource, a result, the arguments of a call or the prompt
// itself, and the history is not lost over it.
func TestContextOverflowDoesNotLockTheSession(t *testing.T) {
	long := strings.Repeat("long ", 8000)
	for name, c := range map[string]struct {
		prompt string
		call   agent.ToolCall
	}{
		"resource":  {"see @fake:file://big.md", call("c", "mcp__fake__echo", `{"text":"x"}`)},
		"result":    {"see it", call("c", "mcp__fake__echo", `{"text":"`+long[:1500]+`"}`)},
		"arguments": {"see it", call("c", "mcp__fake__echo", `{"text":"`+long+`"}`)},
		"prompt":    {"see it " + long, call("c", "mcp__fake__echo", `{"text":"x"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.servers.resources["fake"]["file://big.md"] = []mcp.Content{{Text: long}}
				w.servers.call["fake/echo"] = func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
					return mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: long}}}, nil
				}
				// It takes little, and nothing says how much.
				p := &narrow{window: 3500, tokens: func(n int) int { return n / 4 }, LLM: agenttest.NewScript(t, func(_ int, req agent.Request) agenttest.Step {
					if len(results(req)) == 0 && lastUser(req).Text != "again" {
						return agenttest.Call(c.call)
					}
					return agenttest.Text("done")
				})}
				task := w.task
				task.Prompt, task.LLM = c.prompt, p
				_, err := w.work(t.Context(), task)
				if pe, ok := errors.AsType[*agent.ProviderError](err); err != nil && (!ok || pe.Kind != agent.KindContext) {
					t.Fatal(err)
				}
				for range 3 { // it may have to find how much less is enough
					task.Prompt = "again"
					if _, err = w.work(t.Context(), task); err == nil {
						break
					}
				}
				if err != nil {
					t.Fatalf("the session is locked: %v", err)
				}
				contains(t, lastUser(p.Last()).Text, "again")
				contains(t, w.agent.History(w.dir, "s")[0].Text, c.prompt)
			})
		})
	}
}

// editor-code-assistant/eca#391: a provider that refuses whatever comes is
// asked twice, not for ever, and the session can be used afterwards.
func TestEndlessRefusalsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.must("before", agenttest.Call(call("a", "mcp__fake__echo", `{"text":"x"}`)))
		full := agenttest.Step{Err: &agent.ProviderError{Kind: agent.KindContext, Message: "too long"}}
		for range 20 {
			res, llm, err := w.run(t.Context(), "go", full, full, full, full)
			pe, ok := errors.AsType[*agent.ProviderError](err)
			if !ok || pe.Kind != agent.KindContext || pe.Message == "" || len(llm.Requests()) > 2 || res.Status != "failed" {
				t.Fatalf("%d requests, %v", len(llm.Requests()), err)
			}
		}
		res, llm := w.must("after")
		if res.Text != "done" || !strings.HasSuffix(lastUser(llm.Last()).Text, "after") {
			t.Errorf("%+v, %q", res, lastUser(llm.Last()))
		}
		if h := w.agent.History(w.dir, "s"); h[0].Text != "before" || len(h) != 4+2*20+2 {
			t.Errorf("the history has %d messages", len(h))
		}
	})
}

// A prompt that does not fit alone is told before the provider is asked, with
// what to do, and the next one works (editor-code-assistant/eca#357).
func TestPromptThatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.servers.resources["fake"]["file://big.md"] = []mcp.Content{{Text: textOf(1, 190000)}}
		llm := agenttest.NewLLM(t)
		llm.Of = agent.Model{Name: "tiny", ContextWindow: 16000}
		task := w.task
		task.Prompt, task.LLM = "see @fake:file://big.md", llm
		_, err := w.work(t.Context(), task)
		pe, ok := errors.AsType[*agent.ProviderError](err)
		if !ok || pe.Kind != agent.KindContext || len(llm.Requests()) > 0 {
			t.Fatalf("%d requests, %v", len(llm.Requests()), err)
		}
		contains(t, pe.Message, "The prompt with what it mentions has about 5", `the model "tiny" takes 12000`, "Mention less")
		task.Prompt = "again"
		if _, err := w.work(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		first := llm.Last().Messages[1].Text
		contains(t, first, "see @fake:file://big.md\n\n[agentls left out what was attached here", "read_result with id")
		if strings.Contains(first, "row 1 of") {
			t.Errorf("the attachment is there: %.300s", first)
		}
	})
}

// CASES #36: 50 MB of text from a server stay out of the request and are held
// once.
func TestHugeResultIsHeldOnce(t *testing.T) {
	w := newWorld(t)
	text := strings.Repeat("0123456789abcdef", 50<<16)
	w.servers.answers(text)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, llm := w.must("go", agenttest.Call(call("a", "mcp__fake__echo", "{}")))
	runtime.ReadMemStats(&after)
	got := results(llm.Last())[0]
	if len(got) > 51200 {
		t.Errorf("%d bytes of result", len(got))
	}
	contains(t, got, fmt.Sprintf("of %d bytes here, lines 1-1 of 1: read_result with id", len(text)))
	if used := after.TotalAlloc - before.TotalAlloc; used > 30<<20 {
		t.Errorf("%d bytes were allocated for a result of %d", used, len(text))
	}
}
