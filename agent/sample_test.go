package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/agent/offline"
	"agentls/mcp"
)

// sampled is what the server "fake" wants to ask the model.
func sampled(t testing.TB, params string) mcp.SampleRequest {
	t.Helper()
	r, err := mcp.ParseSample(json.RawMessage(params))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const plainSample = `{"messages": [{"role": "user", "content": {"type": "text", "text": "Name a colour."}}], "maxTokens": 100}`

// sample asks in the name of the run r1 and its session, where s is not "".
func (w *world) sample(ctx context.Context, llm agent.LLM, params, session string) (mcp.SampleResult, error) {
	run := ""
	if session != "" {
		run = w.task.RunID
	}
	if run != "" {
		w.told.SomeRuns = true
	}
	return w.agent.Sample(ctx, agent.SampleTask{
		Server: "fake", RunID: run, Session: session, Request: sampled(w.t, params), LLM: llm, Limits: w.task.Limits, Ask: w.host.Ask,
	})
}

// samples are the lines of the audit about it.
func (w *world) samples() []agent.AuditEntry {
	w.t.Helper()
	lines, err := w.audit.Read(agent.AuditFilter{Limit: 1000, Tool: agent.SampleTool})
	if err != nil {
		w.t.Fatal(err)
	}
	return lines
}

// MCP client/sampling: what the server gives reaches the model, and nothing
// else does.
func TestSampleAsksAPersonThenTheModel(t *testing.T) {
	w := newWorld(t)
	llm := agenttest.NewLLM(t, agenttest.Step{Text: []string{"Bl", "ue"}, Usage: agent.Usage{PromptTokens: 9, CompletionTokens: 2}})
	llm.Of.Name = "m1"
	got, err := w.sample(t.Context(), llm, `{"systemPrompt": "Be brief.", "messages": [
		{"role": "user", "content": {"type": "text", "text": "Look: @fake:file://doc.md"}},
		{"role": "user", "content": [{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}, {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="}]},
		{"role": "assistant", "content": {"type": "text", "text": "Yes?"}},
		{"role": "user", "content": {"type": "text", "text": "Its colour."}}
	], "maxTokens": 50, "temperature": 0, "stopSequences": ["\n", ""], "modelPreferences": {"hints": [{"name": "claude"}]}, "includeContext": "allServers"}`, "")
	if err != nil || got != (mcp.SampleResult{Text: "Blue", Model: "m1", StopReason: "endTurn"}) {
		t.Fatalf("%+v %v", got, err)
	}
	req := llm.Last()
	if req.MaxTokens != 50 || req.Temperature == nil || *req.Temperature != 0 || fmt.Sprintf("%q", req.Stop) != `["\n"]` || len(req.Tools) != 0 {
		t.Errorf("%+v", req)
	}
	want := []string{
		"user: Look: @fake:file://doc.md\n\n[audio: audio/wav, 4 bytes, not shown] +1", "assistant: Yes?", "user: Its colour.",
	}
	if got := history(req); strings.Join(got, "|") != strings.Join(want, "|") || req.Messages[0].Text != "Be brief." {
		t.Errorf("%q", got)
	}
	q := w.host.Questions()
	if len(q) != 1 || q[0].Kind != "sample" || q[0].Server != "fake" || q[0].Tool != "sampling/createMessage" || q[0].Covers != "" ||
		q[0].Sample.Model != "m1" || q[0].Sample.Request.Hints[0] != "claude" || !strings.Contains(string(q[0].Arguments), "Its colour.") {
		t.Errorf("%+v", q)
	}
	// No session has heard of it.
	if h := w.agent.History(w.dir, "s"); len(h) != 0 {
		t.Errorf("%+v", h)
	}
	lines := w.samples()
	if len(lines) != 1 || lines[0].Server != "fake" || lines[0].Outcome != agent.Completed || lines[0].DecidedBy != "user" || !strings.Contains(string(lines[0].Arguments), "Its colour") {
		t.Errorf("%+v", lines)
	}
}

// preparing is a model whose window is known once it is loaded.
type preparing struct {
	*agenttest.LLM
	window int
}

func (p *preparing) Prepare(_ context.Context, on func(agent.Delta)) {
	p.Of.ContextWindow = p.window
	on(agent.Delta{Notice: "its window is small"})
}

// A provider that drops the front of what is too long must not answer half a
// request (ollama/ollama#8531, #3839).
func TestSampleThatDoesNotFit(t *testing.T) {
	w := newWorld(t)
	llm := &preparing{agenttest.NewLLM(t, agenttest.Text("Blue")), 300}
	long := strings.Replace(plainSample, "Name", strings.Repeat("word ", 400)+"Name", 1)
	if _, err := w.sample(t.Context(), llm, long, ""); err == nil || !strings.Contains(err.Error(), "takes 300 in one: ask with less") {
		t.Errorf("%v", err)
	}
	if n := len(llm.Requests()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
	if got, err := w.sample(t.Context(), llm, plainSample, ""); err != nil || got.Text != "Blue" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestSampleThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answer agent.Answer
		err    error
		by     string
		reason string
	}{
		"a person":              {answer: agent.Answer{Decision: agent.DecisionDeny, Reason: "not now"}, by: "user", reason: "not now"},
		"nobody to ask":         {answer: agent.Answer{Decision: agent.DecisionDeny, By: "policy", Reason: "there is no terminal"}, by: "policy", reason: "there is no terminal"},
		"no word":               {answer: agent.Answer{}, by: "user", reason: "denied"},
		"a front end in ruins":  {err: errors.New("lost"), by: "policy", reason: "could not be put: lost"},
		"arguments of nonsense": {answer: agent.Answer{Decision: agent.DecisionOnce, Arguments: json.RawMessage(`{"messages": []}`)}, by: "policy", reason: "edited arguments cannot be used: maxTokens"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) { return c.answer, c.err }
			llm := agenttest.NewLLM(t)
			if _, err := w.sample(t.Context(), llm, plainSample, "s"); !errors.Is(err, agent.ErrSampleRejected) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%v", err)
			}
			if n := len(llm.Requests()); n > 0 {
				t.Errorf("the model was asked %d times", n)
			}
			if l := w.samples(); len(l) != 1 || l[0].Outcome != agent.Rejected || l[0].DecidedBy != c.by || !strings.Contains(l[0].Reason, c.reason) {
				t.Errorf("%+v", l)
			}
		})
	}
}

func TestSampleMayBeEditedAndItsAnswerReviewed(t *testing.T) {
	w := newWorld(t)
	edited := json.RawMessage(strings.Replace(plainSample, "colour", "number", 1))
	said := ""
	w.host.Answer = func(_ context.Context, q agent.Question) (agent.Answer, error) {
		if q.Sample.Answer == nil {
			return agent.Answer{Decision: agent.DecisionOnce, Arguments: edited, Content: json.RawMessage(`{"review": true}`)}, nil
		}
		said = *q.Sample.Answer
		return agent.Answer{Decision: agent.DecisionOnce, Arguments: json.RawMessage(`{"text": "Eight"}`)}, nil
	}
	llm := agenttest.NewLLM(t, agenttest.Text("Seven"), agenttest.Text("Nine"), agenttest.Text("Ten"))
	if got, err := w.sample(t.Context(), llm, plainSample, ""); err != nil || got.Text != "Eight" || said != "Seven" {
		t.Errorf("%+v %v, the person saw %q", got, err, said)
	}
	if m := llm.Last().Messages; m[0].Text != "Name a number." {
		t.Errorf("%+v", m)
	}
	for answer, reason := range map[string]string{`{"decision": "deny", "reason": "too much"}`: "too much", `{"decision": "once", "arguments": {"words": 1}}`: "edited arguments"} {
		w.host.Answer = func(_ context.Context, q agent.Question) (agent.Answer, error) {
			if q.Sample.Answer == nil {
				return agent.Answer{Decision: agent.DecisionOnce, Content: json.RawMessage(`{"review": true}`)}, nil
			}
			var a agent.Answer
			return a, json.Unmarshal([]byte(answer), &a)
		}
		if _, err := w.sample(t.Context(), llm, plainSample, ""); !errors.Is(err, agent.ErrSampleRejected) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// A token budget for each server and session, told before it is given.
func TestSamplesOfASessionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.task.Limits.Tokens = 6000 // 1000 for a session, 6000 in an hour
		w.host.Answer = agenttest.Always(agent.DecisionSession)
		llm := agenttest.NewScript(t, func(int, agent.Request) agenttest.Step {
			return agenttest.Step{Text: []string{"x"}, Usage: agent.Usage{TotalTokens: 400}}
		})
		ask := func(session string) error {
			_, err := w.sample(context.Background(), llm, plainSample, session)
			return err
		}
		asked := func() int { return len(w.host.Questions()) }
		for i, want := range []int{1, 1, 2, 2} { // 1000 − 400 − 400 are less than 100 and the prompt need… and more
			if err := ask("s"); err != nil {
				t.Fatal(err)
			}
			if i < 2 && asked() != want {
				t.Errorf("request %d: asked %d times", i, asked())
			}
		}
		if q := w.host.Questions()[0]; q.Covers != "up to 1000 tokens for this server in this session, unasked" {
			t.Errorf("%q", q.Covers)
		}
		before := asked()
		if err := ask("other"); err != nil || asked() != before+1 {
			t.Errorf("%v: another session was not asked about", err)
		}
		w.servers.configure("f2")
		if err := ask("s"); err != nil || asked() != before+2 {
			t.Errorf("%v: another server of the name was not asked about", err)
		}
		if err := ask(""); err != nil || asked() != before+3 || w.host.Questions()[before+2].Covers != "" {
			t.Errorf("%v: without a session there is nothing to remember", err)
		}
		// What is larger than the budget is never covered.
		if _, err := w.sample(context.Background(), llm, strings.Replace(plainSample, "100", "5000", 1), "s"); err != nil || w.host.Questions()[asked()-1].Covers != "" {
			t.Errorf("%v %+v", err, w.host.Questions()[asked()-1])
		}
		var err error
		for range 20 {
			if err = ask("s"); err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), "limits.tokens") {
			t.Errorf("no bound within an hour: %v", err)
		}
		time.Sleep(time.Hour)
		if err := ask("s"); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
}

func TestSampleKeepsToItsTokens(t *testing.T) {
	t.Run("the hour leaves less", func(t *testing.T) {
		w := newWorld(t)
		w.task.Limits.Tokens = 300
		llm := agenttest.NewLLM(t)
		if _, err := w.sample(t.Context(), llm, strings.Replace(plainSample, "100", "90000", 1), ""); err != nil {
			t.Fatal(err)
		}
		if n := llm.Last().MaxTokens; n >= 300 || n < 200 {
			t.Errorf("%d tokens for the answer", n)
		}
		long := fmt.Sprintf(`{"messages": [{"role": "user", "content": {"type": "text", "text": %q}}], "maxTokens": 10}`, strings.Repeat("many words ", 500))
		if _, err := w.sample(t.Context(), llm, long, ""); err == nil || !strings.Contains(err.Error(), "limits.tokens") {
			t.Errorf("%v", err)
		}
	})
	t.Run("a provider that heeds no limit", func(t *testing.T) {
		w := newWorld(t)
		llm := agenttest.NewLLM(t, agenttest.Step{Text: strings.SplitAfter(strings.Repeat("word ", 2000), " "), Block: true})
		got, err := w.sample(t.Context(), llm, plainSample, "")
		if err != nil || got.StopReason != "maxTokens" || !strings.HasPrefix(got.Text, "word ") {
			t.Errorf("%d bytes, %q, %v", len(got.Text), got.StopReason, err)
		}
	})
	for reason, want := range map[string]string{"length": "used up 100 tokens", "content_filter": "content filter", "stop": "empty answer"} {
		w := newWorld(t)
		if _, err := w.sample(t.Context(), agenttest.NewLLM(t, agenttest.Step{Finish: reason}), plainSample, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", reason, err)
		}
		if l := w.samples(); len(l) != 1 || l[0].Outcome != agent.Failed {
			t.Errorf("%+v", l)
		}
	}
}

func TestSampleFailsInWords(t *testing.T) {
	w := newWorld(t)
	if _, err := w.sample(t.Context(), offline.New(), plainSample, ""); err == nil || !strings.Contains(err.Error(), "no language model") {
		t.Errorf("%v", err)
	}
	if n := len(w.host.Questions()); n > 0 {
		t.Error("a person was asked about what cannot be")
	}
	_, err := w.sample(t.Context(), agenttest.NewLLM(t, agenttest.Step{Err: &agent.ProviderError{Kind: agent.KindAuth, Message: "the key is wrong"}}), plainSample, "")
	if pe := agent.AsProviderError(err); pe.Kind != agent.KindAuth {
		t.Errorf("%v", err)
	}
	if _, err = w.sample(t.Context(), agenttest.NewLLM(t, agenttest.Step{Panic: "a bug"}), plainSample, ""); err == nil || !strings.Contains(err.Error(), "internal error") {
		t.Errorf("%v", err)
	}
	// One that takes no images is asked without.
	llm := agenttest.NewScript(t, func(n int, req agent.Request) agenttest.Step {
		if len(req.Messages[0].Images) > 0 {
			return agenttest.Step{Err: &agent.ProviderError{Kind: agent.KindProvider, Message: "no images"}}
		}
		return agenttest.Text(req.Messages[0].Text)
	})
	got, err := w.sample(t.Context(), llm, `{"messages": [{"role": "user", "content": {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}}], "maxTokens": 9}`, "")
	if err != nil || got.Text != "[image image/png, 8 bytes, not shown]" {
		t.Errorf("%+v %v", got, err)
	}
}

// What it costs counts into the run whose call the server serves, and the end
// of that run ends it.
func TestSampleOfARun(t *testing.T) {
	t.Run("usage", func(t *testing.T) {
		w := newWorld(t)
		w.task.Limits.Tokens = 1000
		own := agenttest.NewScript(t, func(int, agent.Request) agenttest.Step {
			return agenttest.Step{Text: []string{"Blue"}, Usage: agent.Usage{PromptTokens: 30, CompletionTokens: 10}}
		})
		w.servers.call["fake/echo"] = func(ctx context.Context, _ json.RawMessage, _ func(mcp.Progress)) (mcp.ToolResult, error) {
			got, err := w.sample(ctx, &preparing{own, 100_000}, plainSample, "s")
			return mcp.ToolResult{Content: []mcp.Content{words(got.Text)}}, err
		}
		res, llm := w.must("go", agenttest.Step{Calls: []agent.ToolCall{call("1", "mcp__fake__echo", `{}`)}, Usage: agent.Usage{PromptTokens: 100, CompletionTokens: 10}}, agenttest.Text("done"))
		if want := (agent.Usage{PromptTokens: 130, CompletionTokens: 20, TotalTokens: 150}); res.Usage != want {
			t.Errorf("%+v, want %+v", res.Usage, want)
		}
		if got := history(llm.Last()); !strings.Contains(got[len(got)-1], "Blue") || strings.Contains(strings.Join(got, ""), "Name a colour") {
			t.Errorf("%q", got)
		}
		var sums []int
		for _, e := range w.host.Events() {
			if e.Kind == agent.EventUsage {
				sums = append(sums, e.Usage.TotalTokens)
			}
		}
		if fmt.Sprint(sums) != "[110 150]" {
			t.Errorf("told %v", sums)
		}
		if got := notices(w.host); len(got) != 1 || got[0] != "its window is small" {
			t.Errorf("noticed %q", got)
		}
	})
	t.Run("limit", func(t *testing.T) {
		w := newWorld(t)
		w.task.Limits.Tokens = 200
		w.servers.call["fake/echo"] = func(ctx context.Context, _ json.RawMessage, _ func(mcp.Progress)) (mcp.ToolResult, error) {
			_, err := w.sample(ctx, agenttest.NewLLM(t), plainSample, "s")
			return mcp.ToolResult{}, err
		}
		res, _, err := w.run(t.Context(), "go", agenttest.Step{Calls: []agent.ToolCall{call("1", "mcp__fake__echo", `{}`)}, Usage: agent.Usage{TotalTokens: 200}})
		if err != nil || res.StopReason != "max_tokens" || res.ToolCalls[0].Status != agent.Failed {
			t.Errorf("%+v %v", res, err)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.close()
			ctx, cancel := context.WithCancelCause(context.Background())
			hangs := agenttest.NewLLM(t, agenttest.Step{Text: []string{"Bl"}, Block: true})
			time.AfterFunc(time.Minute, func() { cancel(agent.ErrCancelled) })
			_, err := w.sample(ctx, hangs, plainSample, "s")
			if !errors.Is(err, agent.ErrCancelled) {
				t.Errorf("%v", err)
			}
			if l := w.samples(); len(l) != 1 || l[0].Outcome != agent.Cancelled {
				t.Errorf("%+v", l)
			}
		})
	})
}
