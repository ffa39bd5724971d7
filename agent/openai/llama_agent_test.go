package openai

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/agent/openai/llamatest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// llamaAgent is the whole agent with a real provider and an MCP server that is
// a process.
type llamaAgent struct {
	t     *testing.T
	agent *agent.Agent
	host  *agenttest.Host
	llm   *LLM
	task  agent.Task
	asked atomic.Int64 // requests of the model
}

// Complete implements [agent.LLM]: it checks what is sent, whatever the
// provider would take.
func (w *llamaAgent) Complete(ctx context.Context, req agent.Request, on func(agent.Delta)) (agent.Response, error) {
	w.asked.Add(1)
	if err := agenttest.Check(req); err != nil {
		w.t.Errorf("a request that other providers refuse: %v", err)
	}
	return w.llm.Complete(ctx, req, on)
}

func newLlamaAgent(t *testing.T, s *llamatest.Server, change ...func(*Options)) *llamaAgent {
	dir := t.TempDir()
	command, args, env := mcptest.Command(t, mcptest.Options{BadItems: true, Tools: []mcptest.Tool{{
		Name: llamatest.Tool, Description: "Counts stripes", Answer: "seven stripes",
		Schema: json.RawMessage(`{"type":"object","properties":{"side":{"enum":["left","right"]},"stripes":{"type":"integer"}},"required":["side","stripes"]}`),
	}}})
	log := slog.New(slog.DiscardHandler)
	manager := mcp.NewManager(mcp.Options{Name: "agentls", Version: "test", TrustFile: filepath.Join(dir, "trust.json"), Environ: os.Environ(), Log: log})
	t.Cleanup(manager.Close)
	manager.Configure([]mcp.ServerConfig{{
		Name: "fake", Source: "user", Type: "stdio", Command: command, Args: args, Env: env, Cwd: dir,
		// Not all: the model reads each of them.
		EnabledTools: []string{llamatest.Tool, "noschema", "nullschema", "oddhints", "nullable"},
	}})
	w := &llamaAgent{t: t, llm: llama(t, s, change...), host: &agenttest.Host{Answer: agenttest.Always(agent.DecisionOnce)}}
	w.agent = agent.New(agent.Options{Manager: manager, Log: log})
	t.Cleanup(w.agent.Close)
	w.task = agent.Task{RunID: "r", Session: "s", Folder: dir, Folders: agenttest.Folders(dir), LLM: w, Host: w.host}
	return w
}

func (w *llamaAgent) run(ctx context.Context, prompt string) (agent.Result, error) {
	t := w.task
	t.Prompt = prompt
	return w.agent.Run(ctx, t)
}

// says runs a prompt that is answered with the sentence.
func (w *llamaAgent) says(prompt string) agent.Result {
	w.t.Helper()
	r, err := w.run(w.t.Context(), prompt)
	if err != nil || r.Text != llamatest.Sentence || r.Status != agent.StatusCompleted {
		w.t.Errorf("%.40q: %+v, %v", prompt, r, err)
	}
	return r
}

// TestLlamaAgentUsesAToolOfAServer: the tools go through the server's grammar,
// the badly described ones among them (editor-code-assistant/eca#340), and the
// result goes back.
func TestLlamaAgentUsesAToolOfAServer(t *testing.T) {
	w := newLlamaAgent(t, llamatest.Start(t, llamatest.Options{}))
	r := w.says("CALL it")
	if len(r.ToolCalls) != 1 || r.ToolCalls[0].Tool != llamatest.Tool || r.ToolCalls[0].Server != "fake" || r.ToolCalls[0].Status != agent.Completed {
		t.Fatalf("calls %+v", r.ToolCalls)
	}
	if r.Steps != 2 || r.StopReason != "end_turn" || r.Usage.TotalTokens < 1000 {
		t.Errorf("result %+v", r)
	}
	if n := len(w.host.Questions()); n != 1 {
		t.Errorf("%d questions", n)
	}
	w.says("and now without")
}

// TestLlamaAgentOverflow: a conversation that does not fit ends at once, and
// the next prompt works (editor-code-assistant/eca#391).
func TestLlamaAgentOverflow(t *testing.T) {
	w := newLlamaAgent(t, llamatest.Start(t, llamatest.Options{}))
	w.says("hello")
	before := w.asked.Load()
	_, err := w.run(t.Context(), strings.Repeat("word ", 10000))
	pe, ok := errors.AsType[*agent.ProviderError](err)
	if !ok || pe.Kind != agent.KindContext || !overflowWords.MatchString(pe.Message) {
		t.Fatalf("error %v", err)
	}
	if n := w.asked.Load() - before; n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	w.says("hello")
}

// TestLlamaAgentCancel: the slot is freed and the session goes on (P14).
func TestLlamaAgentCancel(t *testing.T) {
	s := llamatest.Start(t, llamatest.Options{Slots: 1})
	w := newLlamaAgent(t, s)
	ctx, cancel := context.WithCancelCause(t.Context())
	w.host.On = func(e agent.Event) {
		if e.Kind == agent.EventText {
			cancel(agent.ErrCancelled)
		}
	}
	if r, err := w.run(ctx, "ENDLESS"); !errors.Is(err, agent.ErrCancelled) || r.Text == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if took := s.AwaitBusy(t, 0); took > freed {
		t.Errorf("the slot was freed after %s", took)
	}
	w.says("hello")
}

// TestLlamaAgentGibberish: an answer that a limit ends is a stopped run, and
// its history is taken back by the provider.
func TestLlamaAgentGibberish(t *testing.T) {
	w := newLlamaAgent(t, llamatest.Start(t, llamatest.Options{Model: llamatest.Gibberish}), func(o *Options) {
		o.ExtraBody = map[string]json.RawMessage{"max_tokens": json.RawMessage("300"), "seed": json.RawMessage("7"), "ignore_eos": json.RawMessage("true")}
	})
	for _, prompt := range []string{"hello", "go on"} {
		r, err := w.run(t.Context(), prompt)
		if err != nil || r.Status != agent.StatusStopped || r.StopReason != "length" || r.Text == "" {
			t.Fatalf("%s: %+v, %v", prompt, r, err)
		}
	}
}

// TestLlamaAgentKilled: a provider that dies in mid-stream fails the run, which
// keeps what was said, and the session is sound.
func TestLlamaAgentKilled(t *testing.T) {
	s := llamatest.Start(t, llamatest.Options{})
	w := newLlamaAgent(t, s)
	w.host.On = func(e agent.Event) {
		if e.Kind == agent.EventText {
			s.Kill()
		}
	}
	r, err := w.run(t.Context(), "ENDLESS")
	pe, ok := errors.AsType[*agent.ProviderError](err)
	if !ok || pe.Kind != agent.KindNetwork || r.Text == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	w.host.On = nil
	w.llm = llama(t, llamatest.Start(t, llamatest.Options{}))
	w.says("hello")
}
