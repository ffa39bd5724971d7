package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/openai/llamatest"
	"agentls/lsp/lspclient"
)

// plannedRun is what a run in a mode that plans answers.
type plannedRun struct {
	runResult
	Steps int
	Plan  []agent.PlanStep
	Usage agent.Usage
}

// calls are the tools that were called and how that ended, sorted.
func (r plannedRun) calls() string {
	var out []string
	for _, c := range r.ToolCalls {
		out = append(out, c.Tool+" "+c.Status)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// check holds a run against what the table does: a plan of one step, which
// calls the server's tool where the user wants a call, and an answer.
func (r plannedRun) check(t *testing.T, calls string) {
	t.Helper()
	if r.Status != "completed" || !strings.HasSuffix(r.Text, llamatest.Sentence) || !strings.Contains(r.Text, "- completed: 1. "+llamatest.Word) {
		t.Errorf("%s: %q", r.Status, r.Text)
	}
	if len(r.Plan) != 1 || r.Plan[0].Status != agent.StepCompleted || r.Plan[0].Title != llamatest.Word || r.Plan[0].Note != llamatest.Sentence {
		t.Errorf("the plan %+v", r.Plan)
	}
	if r.calls() != calls || r.Usage.TotalTokens < 1000 {
		t.Errorf("calls %s, usage %+v", r.calls(), r.Usage)
	}
}

func (w *llamaWorld) plan(mode, prompt string) (r plannedRun) {
	w.t.Helper()
	if err := w.client.Execute(w.context(), "agentls.ask", map[string]string{"prompt": prompt, "mode": mode, "session": mode}, &r); err != nil {
		w.t.Fatalf("%s %s: %v", mode, prompt, err)
	}
	return r
}

// TestLlamaPlanAndTeam: a real provider fills submit_plan by its grammar, a
// person accepts over LSP, the step calls a tool of an MCP server, in a team a
// reviewer approves, and an answer comes. A cancel in the step frees the slot,
// and the session goes on.
func TestLlamaPlanAndTeam(t *testing.T) {
	w := newLlamaWorld(t, llamatest.Table, map[string]bool{"runEvents": true, "approvals": true, "plans": true}, nil)
	w.plan("plan", "CALL it").check(t, "submit_plan completed, "+llamatest.Tool+" completed")
	w.plan("team", "CALL it").check(t, "submit_plan completed, submit_review completed, "+llamatest.Tool+" completed")
	for i, mode := range []string{"plan", "team"} {
		before := w.client.Mark()
		id, wait := w.client.Request("workspace/executeCommand", lspclient.Command("agentls.ask", map[string]string{"prompt": "ENDLESS", "mode": mode, "session": mode}))
		if err := w.client.Await(w.context(), before, "no step begins", func(m lspclient.Message) bool {
			var e struct {
				Kind string
				Plan agent.PlanState
			}
			return m.Method == "agentls/runEvent" && json.Unmarshal(m.Params, &e) == nil && e.Kind == "plan" && e.Plan.Steps[0].Status == agent.StepRunning
		}); err != nil {
			t.Fatal(err)
		}
		w.provider.AwaitBusy(t, 1)
		w.client.Notify("$/cancelRequest", map[string]json.RawMessage{"id": id})
		if e, ok := errors.AsType[*lspclient.Error](wait(w.context(), nil)); !ok || e.Code != -32800 {
			t.Errorf("the cancelled %s: %v", mode, e)
		}
		if took := w.provider.AwaitBusy(t, 0); took > 5*time.Second { // an endless answer fills the context in twice that
			t.Errorf("the slot was freed after %s", took)
		}
		if n := int(w.plans.Load()); n != 3+i {
			t.Errorf("%d plans were asked about", n)
		}
	}
	w.plan("plan", "hello").check(t, "submit_plan completed")
}

// TestLlamaPlanByAsk: the same without an editor, let through by a rule.
func TestLlamaPlanByAsk(t *testing.T) {
	provider := llamatest.Start(t, llamatest.Options{})
	binary, home := buildBinary(t), t.TempDir()
	t.Cleanup(func() { checkAudit(t, filepath.Join(home, "state", "agentls"), "", false) })
	dir := filepath.Join(home, "config", "agentls")
	data, err := json.Marshal(map[string]any{
		"providers": map[string]any{"llama": map[string]string{"baseURL": provider.BaseURL(), "model": llamatest.Alias}}, "provider": "llama",
		"approval": map[string]any{"allow": []string{"submit_plan"}},
	})
	if err := errors.Join(err, os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.json"), data, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"plan", "team"} {
		ctx, cancel := context.WithTimeout(t.Context(), llamatest.Deadline)
		cmd := exec.CommandContext(ctx, binary, "ask", "--mode", mode, "hello")
		cmd.Dir, cmd.Env = t.TempDir(), demoEnvironment(os.Environ(), home)
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil || !strings.Contains(string(out), "completed: 1. "+llamatest.Word) || !strings.Contains(string(out), llamatest.Sentence) {
			t.Errorf("%s: %v\n%s", mode, err, out)
		}
	}
}
