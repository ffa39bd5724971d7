package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/agent/config"
	"agentls/agent/openai/llamatest"
	"agentls/lsp"
	"agentls/lsp/lsptest"
)

// newcomer is an editor of somebody who has configured nothing, and the whole
// server but for the process. base is where a program of the machine listens.
func newcomer(t *testing.T, base string) *lsptest.Editor {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	for _, name := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
		env["XDG_"+name+"_HOME"] = filepath.Join(home, strings.ToLower(name))
	}
	parts := newParts(program{
		stderr: t.Output(), environ: os.Environ(),
		getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}, true)
	t.Cleanup(func() {
		parts.close()
		checkAudit(t, filepath.Join(home, "state", "agentls"), "", false)
	})
	o := parts.serverOptions()
	o.Local = []config.KnownProvider{{Name: "llamacpp", Title: "llama.cpp", BaseURL: base}, {Name: "ollama", Title: "Ollama", BaseURL: "http://127.0.0.1:1/v1"}}
	e := lsptest.New(t, func(ctx context.Context, in io.Reader, out io.Writer) (int, error) {
		return lsp.New(o).Serve(ctx, in, out)
	})
	e.On("window/showMessageRequest", func(params json.RawMessage) (any, error) {
		var q struct{ Actions []struct{ Title string } }
		err := json.Unmarshal(params, &q)
		return q.Actions[len(q.Actions)-1], err
	})
	e.Initialize(lsptest.Init{Root: t.TempDir()})
	return e
}

// popup waits for a window/showMessage that holds the words.
func popup(e *lsptest.Editor, words string) {
	e.Await("a message with "+words, func() bool {
		for _, m := range e.Notifications("window/showMessage") {
			if strings.Contains(string(m), words) {
				return true
			}
		}
		return false
	})
}

func askText(t *testing.T, e *lsptest.Editor) string {
	t.Helper()
	raw, err := e.Command("agentls.ask", map[string]any{"prompt": "hello", "detached": false})
	if err != nil {
		t.Fatal(err)
	}
	var r runResult
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r.Text
}

// fromNothing is the story of somebody new: the first message, the stand-in's
// answer, the question, and an answer of the model.
func fromNothing(t *testing.T, e *lsptest.Editor, model, answer string) {
	t.Helper()
	popup(e, "no model is set up yet")
	if text := askText(t, e); !strings.Contains(text, "agentls.setup") {
		t.Errorf("the stand-in does not say what to do: %s", text)
	}
	raw, err := e.Command("agentls.setup", nil)
	var found struct{ Found []struct{ Provider string } }
	if err != nil || json.Unmarshal(raw, &found) != nil || !strings.Contains(string(raw), model) {
		t.Fatalf("%v %s", err, raw)
	}
	if slices.ContainsFunc(found.Found, func(f struct{ Provider string }) bool { return f.Provider == "ollama" }) {
		t.Fatalf("a provider that does not answer was found: %s", raw)
	}
	popup(e, model+" of llamacpp is set up")
	if text := askText(t, e); text != answer {
		t.Errorf("%q answered", text)
	}
}

func TestFromNothingToAnAnswer(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(provide))
	t.Cleanup(provider.Close)
	fromNothing(t, newcomer(t, provider.URL+"/v1"), "tiny", "Hello from the model.")
}

// TestLlamaIsFoundAndSetUp: what really listens on this machine is found, and
// the next prompt gets its answer.
func TestLlamaIsFoundAndSetUp(t *testing.T) {
	provider := llamatest.Start(t, llamatest.Options{Model: llamatest.Table})
	fromNothing(t, newcomer(t, provider.BaseURL()), llamatest.Alias, llamatest.Sentence)
}
