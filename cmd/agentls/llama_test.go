package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"agentls/agent/openai/llamatest"
	"agentls/lsp/lspclient"
	"agentls/mcp/mcptest"
)

// llamaWorld is the built binary with a real provider and a fake MCP server.
type llamaWorld struct {
	t        *testing.T
	provider *llamatest.Server
	client   *lspclient.Client
	plans    atomic.Int32 // that the client was asked about
}

func buildBinary(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "agentls")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", name, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// newLlamaWorld starts both. The client announces what experimental says.
func newLlamaWorld(t *testing.T, model llamatest.Model, experimental map[string]bool, extraBody map[string]any) *llamaWorld {
	w := &llamaWorld{t: t, provider: llamatest.Start(t, llamatest.Options{Model: model})}
	cmd := exec.Command(buildBinary(t))
	cmd.Dir = t.TempDir()
	home := t.TempDir()
	cmd.Env = demoEnvironment(os.Environ(), home)
	t.Cleanup(func() { checkAudit(t, filepath.Join(home, "state", "agentls"), "", false) })
	var err error
	if w.client, err = lspclient.Start(cmd, lspclient.Options{Show: w.frame, Answer: w.answer}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.client.Close(); err != nil {
			t.Errorf("the server's end: %v", err)
		}
	})
	err = w.client.Call(w.context(), "initialize", map[string]any{
		"processId": os.Getpid(), "clientInfo": map[string]string{"name": "a stock client"}, "rootUri": "file://" + filepath.ToSlash(cmd.Dir),
		"capabilities": map[string]any{"window": map[string]any{"workDoneProgress": true}, "experimental": map[string]any{"agentls": experimental}},
		"initializationOptions": map[string]any{
			"workspaceTrusted": true, "provider": "llama", "approval": map[string]string{"default": "allow"},
			"providers": map[string]any{"llama": map[string]any{"baseURL": w.provider.BaseURL(), "model": llamatest.Alias, "extraBody": extraBody}},
			"mcpServers": map[string]any{"fake": fakeServer(t, mcptest.Options{Tools: []mcptest.Tool{{
				Name: llamatest.Tool, Description: "Counts stripes", Answer: "seven stripes",
			}}})},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.client.Notify("initialized", struct{}{})
	return w
}

// frame looks at all that the server writes.
func (w *llamaWorld) frame(sent bool, frame []byte) {
	if !sent && !utf8.Valid(frame) {
		w.t.Errorf("a frame is no UTF-8: %q", frame)
	}
}

// answer lets every plan run.
func (w *llamaWorld) answer(_ context.Context, method string, _ json.RawMessage) any {
	if method != "agentls/plan" {
		return nil
	}
	w.plans.Add(1)
	return map[string]string{"decision": "run"}
}

func (w *llamaWorld) context() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), llamatest.Deadline)
	w.t.Cleanup(cancel)
	return ctx
}

func (w *llamaWorld) ask(prompt string) (r runResult) {
	w.t.Helper()
	if err := w.client.Execute(w.context(), "agentls.ask", map[string]string{"prompt": prompt, "session": "llama"}, &r); err != nil {
		w.t.Fatalf("%s: %v", prompt, err)
	}
	if r.Status != "completed" || r.Text != llamatest.Sentence {
		w.t.Errorf("%s: %+v", prompt, r)
	}
	return r
}

func textEvent(m lspclient.Message) bool {
	var e struct{ Kind string }
	return m.Method == "agentls/runEvent" && json.Unmarshal(m.Params, &e) == nil && e.Kind == "text"
}

// TestLlamaOverLSP drives the binary as an editor does: text in pieces, a tool
// of an MCP server, a cancel that the provider sees (P14), an overflow, and the
// session goes on after each.
func TestLlamaOverLSP(t *testing.T) {
	w := newLlamaWorld(t, llamatest.Table, map[string]bool{"runEvents": true}, nil)
	words := 0
	before := w.client.Mark()
	w.ask("hello")
	if err := w.client.Await(w.context(), before, "the words do not come in pieces", func(m lspclient.Message) bool {
		if textEvent(m) {
			words++
		}
		return words > 2
	}); err != nil {
		t.Error(err)
	}

	r := w.ask("CALL it")
	if len(r.ToolCalls) != 1 || r.ToolCalls[0].Tool != llamatest.Tool || r.ToolCalls[0].Status != "completed" {
		t.Errorf("calls %+v", r.ToolCalls)
	}

	before = w.client.Mark()
	id, wait := w.client.Request("workspace/executeCommand", lspclient.Command("agentls.ask", map[string]string{"prompt": "ENDLESS", "session": "llama"}))
	if err := w.client.Await(w.context(), before, "the run does not begin", textEvent); err != nil {
		t.Fatal(err)
	}
	w.provider.AwaitBusy(t, 1)
	w.client.Notify("$/cancelRequest", map[string]json.RawMessage{"id": id})
	if e, ok := errors.AsType[*lspclient.Error](wait(w.context(), nil)); !ok || e.Code != -32800 {
		t.Errorf("the cancelled run: %v", e)
	}
	if took := w.provider.AwaitBusy(t, 0); took > 2*time.Second {
		t.Errorf("the slot was freed after %s", took)
	}
	w.ask("hello")

	_, wait = w.client.Request("workspace/executeCommand", lspclient.Command("agentls.ask", map[string]string{"prompt": strings.Repeat("word ", 10000), "session": "llama"}))
	e, ok := errors.AsType[*lspclient.Error](wait(w.context(), nil))
	if !ok || !strings.Contains(string(e.Data), `"kind":"context"`) || !strings.Contains(e.Message, "32768") {
		t.Errorf("the overflow: %v", e)
	}
	w.ask("hello")
}

// TestLlamaSessionsBesideEachOther: two sessions take two slots, and a cancel
// of all frees both.
func TestLlamaSessionsBesideEachOther(t *testing.T) {
	w := newLlamaWorld(t, llamatest.Table, nil, nil)
	var waits []func(context.Context, any) error
	for _, session := range []string{"one", "two"} {
		_, wait := w.client.Request("workspace/executeCommand", lspclient.Command("agentls.ask", map[string]string{"prompt": "ENDLESS", "session": session}))
		waits = append(waits, wait)
	}
	w.provider.AwaitBusy(t, 2)
	if err := w.client.Execute(w.context(), "agentls.cancel", struct{}{}, nil); err != nil {
		t.Error(err)
	}
	for _, wait := range waits {
		if e, ok := errors.AsType[*lspclient.Error](wait(w.context(), nil)); !ok || e.Code != -32800 {
			t.Errorf("a cancelled run: %v", e)
		}
	}
	w.provider.AwaitBusy(t, 0)
}

// TestLlamaGibberishOverLSP: what a model without sense says reaches a stock
// client without control and invisible characters in its progress.
func TestLlamaGibberishOverLSP(t *testing.T) {
	w := newLlamaWorld(t, llamatest.Gibberish, nil, map[string]any{"max_tokens": 400, "seed": 7, "ignore_eos": true})
	var r struct{ Status, StopReason, Text string }
	params := lspclient.Command("agentls.ask", map[string]string{"prompt": "hello"})
	params["workDoneToken"] = "token"
	if err := w.client.Call(w.context(), "workspace/executeCommand", params, &r); err != nil {
		t.Fatal(err)
	}
	if r.Status != "stopped" || r.StopReason != "length" || !strings.ContainsFunc(r.Text, unicode.IsControl) {
		t.Errorf("%+v", r)
	}
	shown := 0
	err := w.client.Await(w.context(), 0, "the progress does not end", func(m lspclient.Message) bool {
		var p struct {
			Value struct{ Kind, Message, Title string }
		}
		if m.Method != "$/progress" {
			return false
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Error(err)
		}
		text := p.Value.Message + p.Value.Title
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Cf) }) {
			t.Errorf("this is shown: %q", text)
		}
		shown += len(text)
		return p.Value.Kind == "end"
	})
	if err != nil || shown < 100 {
		t.Errorf("%d bytes were shown, %v", shown, err)
	}
}

// TestLlamaDoctor: doctor asks the provider for its list of models.
func TestLlamaDoctor(t *testing.T) {
	provider := llamatest.Start(t, llamatest.Options{})
	binary := buildBinary(t)
	doctor := func(model string) (string, error) {
		home := t.TempDir()
		dir := filepath.Join(home, "config", "agentls")
		data, err := json.Marshal(map[string]any{"providers": map[string]any{"llama": map[string]string{"baseURL": provider.BaseURL(), "model": model}}})
		if err == nil {
			err = errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.json"), data, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), binary, "doctor")
		cmd.Dir, cmd.Env = t.TempDir(), demoEnvironment(os.Environ(), home)
		out, err := cmd.Output()
		return string(out), err
	}
	if out, err := doctor(llamatest.Alias); err != nil || !strings.Contains(out, "ok    provider llama: ") || !strings.Contains(out, "has the model "+llamatest.Alias) {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := doctor("gpt-5"); err == nil || !strings.Contains(out, `fix   provider llama: it does not list the model "gpt-5"; it offers `+llamatest.Alias) {
		t.Errorf("%v\n%s", err, out)
	}
	provider.Kill()
	if out, err := doctor(llamatest.Alias); err == nil || !strings.Contains(out, "fix   provider llama: cannot reach") {
		t.Errorf("%v\n%s", err, out)
	}
}
