package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/agent/config"
	"agentls/lsp/lsptest"
)

// wares are what fake providers offer, by base URL: models, or why not.
type wares map[string]any

func (w wares) models(_ context.Context, p config.Provider) ([]string, error) {
	switch offer := w[p.BaseURL].(type) {
	case []string:
		return offer, nil
	case error:
		return nil, offer
	}
	return nil, &agent.ProviderError{Kind: agent.KindNetwork, Retryable: true, Message: "cannot reach " + p.BaseURL + ": check that it runs"}
}

const ollama = "http://127.0.0.1:11434/v1"

// newcomer is somebody who has configured nothing. The answer of a provider
// says which model gave it.
type newcomer struct {
	*world
	env map[string]string
}

func newNewcomer(t *testing.T, u setup, offers wares, env map[string]string) newcomer {
	t.Helper()
	u.unset = true
	before := u.before
	u.before = func(s *Server) {
		s.o.Local = []config.KnownProvider{{Name: "ollama", Title: "Ollama", BaseURL: ollama}, {Name: "lmstudio", Title: "LM Studio", BaseURL: "http://127.0.0.1:1234/v1"}}
		s.o.Models = offers.models
		s.o.Config.Getenv = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		s.o.NewLLM = func(p config.Provider) (agent.LLM, error) {
			if p.Err != "" {
				return nil, errors.New(p.Err)
			}
			return agenttest.NewLLM(t, agenttest.Text(fmt.Sprintf("%s %s %s", p.Name, p.Model, p.APIKey))), nil
		}
		if before != nil {
			before(s)
		}
	}
	return newcomer{newWorld(t, u), env}
}

func (n newcomer) file() string { return n.server.o.Config.File() }

// answered checks who answers a prompt.
func (n newcomer) answered(want string) {
	n.t.Helper()
	if r := result[agent.Result](n.t, n.ask("hello", obj{"detached": false})); r.Text != want {
		n.t.Errorf("%q answered, want %q", r.Text, want)
	}
}

// told waits for a popup that holds the words.
func (n newcomer) told(words string) (text string) {
	n.t.Helper()
	n.Await("message with "+words, func() bool {
		for _, m := range n.messages("window/showMessage") {
			if strings.Contains(m, words) {
				text = m
				return true
			}
		}
		return false
	})
	return text
}

// question is a window/showMessageRequest as a person sees it.
type shownQuestion struct {
	Message string
	Actions []struct{ Title string }
}

func (q shownQuestion) titles() (list []string) {
	for _, a := range q.Actions {
		list = append(list, a.Title)
	}
	return list
}

// questions gives those that were shown by now.
func (n newcomer) questions() (list []shownQuestion) {
	for _, r := range n.Requests("window/showMessageRequest") {
		list = append(list, decodeAs[shownQuestion](n.t, r.Params))
	}
	return list
}

// From nothing to an answer, in popups alone.
func TestFromNothingToAnAnswer(t *testing.T) {
	chosen := []string{"Ollama (2 models)", "llama3.2:latest"}
	n := newNewcomer(t, setup{answers: map[string]lsptest.Answer{
		"window/showMessageRequest": actions(func(n int, _ string) string { return chosen[n-1] }),
	}}, wares{ollama: []string{"qwen3:8b", "llama3.2:latest"}, "https://api.mistral.ai/v1": []string{"mistral-large"}}, map[string]string{"MISTRAL_API_KEY": "sk-mistral-secret"})
	first := n.told("no model is set up")
	for _, want := range []string{"Set up a model…", ".agentls.md", "agentls.setup", "agentls doctor"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first message %q does not name %s", first, want)
		}
	}
	n.answered("offline  ")

	found := commandAs[foundResult](n.world, "agentls.setup", nil)
	var got []string
	for _, f := range found.Found {
		got = append(got, fmt.Sprint(f.Provider, f.Title, f.BaseURL, f.Models, f.KeyVariable, f.InForce, f.Error))
	}
	want := []string{"mistralMistralhttps://api.mistral.ai/v1[mistral-large]MISTRAL_API_KEYfalse", "ollamaOllama" + ollama + "[qwen3:8b llama3.2:latest]false"}
	if !slices.Equal(got, want) || found.Config != n.file() {
		t.Errorf("found %q in %s", got, found.Config)
	}
	n.told("llama3.2:latest of ollama is set up, in " + n.file() + "; it answers from now on")
	asked := n.questions()
	if len(asked) != 2 || !slices.Equal(asked[0].titles(), []string{"Not now", "Mistral (1 model)", "Ollama (2 models)"}) || !slices.Equal(asked[1].titles(), []string{"Not now", "qwen3:8b", "llama3.2:latest"}) {
		t.Fatalf("asked %+v", asked)
	}
	if !strings.Contains(asked[1].Message, ollama) || !strings.Contains(asked[1].Message, n.file()) {
		t.Errorf("asked %q", asked[1].Message)
	}
	n.answered("ollama llama3.2:latest ")
	text, err := os.ReadFile(n.file())
	if err != nil || strings.Contains(string(text), "secret") || strings.Contains(string(text), "apiKey") {
		t.Errorf("%v\n%s", err, text)
	}
	// The next start says nothing, and has the model.
	again := newNewcomer(t, setup{dir: filepath.Dir(n.root)}, wares{}, nil)
	again.answered("ollama llama3.2:latest ")
	if told := again.messages("window/showMessage"); len(told) > 0 {
		t.Errorf("told %q", told)
	}
}

// Without popups: Helix 25.01 answers -32601, others nothing at all. A code
// action does it.
func TestFromNothingToAnAnswerByCodeAction(t *testing.T) {
	for name, answer := range map[string]lsptest.Answer{
		"method not found": func(json.RawMessage) (any, error) {
			return nil, &lsptest.Error{Code: -32601, Message: "method not found"}
		},
		"silence": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent },
		"null":    func(json.RawMessage) (any, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNewcomer(t, setup{init: lsptest.Init{Client: "helix"}, answers: map[string]lsptest.Answer{"window/showMessageRequest": answer}},
				wares{ollama: []string{"qwen3:8b", "llama3.2:latest"}}, nil)
			n.told(":lsp-workspace-command agentls.setup")
			buffer := lsptest.FileURI(filepath.Join(n.root, "ask.agentls.md"))
			n.Open(buffer, "markdown", "")
			if got := n.setUps(buffer); !slices.Equal(titlesOf(got), []string{setUpTitle}) {
				t.Fatalf("actions %q", titlesOf(got))
			}
			n.run(n.setUps(buffer)[0])
			n.AwaitRequest("window/showMessageRequest", 1)
			if name == "method not found" {
				if text := n.told("could not show this question"); !strings.Contains(text, "“Use qwen3:8b of Ollama”") || !strings.Contains(text, `{"provider":"ollama","model":"qwen3:8b"}`) {
					t.Errorf("told %q", text)
				}
			}
			got := n.setUps(buffer)
			if want := []string{"Use qwen3:8b of Ollama", "Use llama3.2:latest of Ollama", setUpTitle}; !slices.Equal(titlesOf(got), want) {
				t.Fatalf("actions %q, want %q", titlesOf(got), want)
			}
			n.run(got[1])
			n.answered("ollama llama3.2:latest ")
			if got := n.setUps(buffer); len(got) > 0 {
				t.Errorf("still offered: %q", titlesOf(got))
			}
			if open := commandAs[[]approvalInfo](n.world, "agentls.approvals", nil); len(open) > 0 {
				t.Errorf("still open: %+v", open)
			}
			n.Open("file:///other.go", "go", "package x")
			if got := n.setUps("file:///other.go"); len(got) > 0 {
				t.Errorf("offered in another document: %q", titlesOf(got))
			}
		})
	}
}

// setUps are the code actions of a document that set a model up.
func (n newcomer) setUps(uri string) (list []codeAction) {
	n.t.Helper()
	raw := n.Call("textDocument/codeAction", obj{
		"textDocument": obj{"uri": uri}, "range": lsptest.Range{}, "context": obj{"diagnostics": []any{}},
	})
	for _, a := range decodeAs[[]codeAction](n.t, raw) {
		if a.Command.Command == "agentls.setup" {
			list = append(list, a)
		}
	}
	return list
}

func (n newcomer) run(a codeAction) {
	n.t.Helper()
	n.Call("workspace/executeCommand", obj{"command": a.Command.Command, "arguments": a.Command.Arguments})
}

func titlesOf(actions []codeAction) (list []string) {
	for _, a := range actions {
		list = append(list, a.Title)
	}
	return list
}

// Where nothing is found the person is told what to do, and gets a file to
// fill in; one that is there is kept.
func TestNothingIsFound(t *testing.T) {
	n := newNewcomer(t, setup{}, wares{}, nil)
	if r := commandAs[foundResult](n.world, "agentls.setup", nil); r.Found == nil || len(r.Found) > 0 {
		t.Errorf("%+v", r)
	}
	text := n.told("no model was found")
	for _, want := range []string{"OPENAI_API_KEY", "Ollama", "run agentls.setup again", "fill in " + n.file()} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	if shown := string(n.AwaitRequest("window/showDocument", 1).Params); !strings.Contains(shown, lsptest.FileURI(n.file())) {
		t.Errorf("shown %s", shown)
	}
	before, err := os.ReadFile(n.file())
	if err != nil || !strings.Contains(string(before), "// \"providers\"") {
		t.Errorf("%v\n%s", err, before)
	}
	mine := n.userFile("config.json", "{ /* mine */ }")
	result[foundResult](t, n.StartCommand("agentls.setup", nil, nil))
	n.told("write a provider into")
	if text, err := os.ReadFile(mine); err != nil || string(text) != "{ /* mine */ }" {
		t.Errorf("%v\n%s", err, text)
	}
	if left := n.questions(); len(left) > 0 {
		t.Errorf("asked %+v", left)
	}
}

// What was found but cannot be used says why.
func TestFoundWithoutModels(t *testing.T) {
	n := newNewcomer(t, setup{}, wares{
		ollama: []string{}, "https://api.openai.com/v1": &agent.ProviderError{Kind: agent.KindAuth, Message: "api.openai.com refuses the key: check the provider's apiKey"},
	}, map[string]string{"GROQ_API_KEY": "sk-groq-secret", "OPENAI_API_KEY": "sk-open-secret"})
	r := commandAs[foundResult](n.world, "agentls.setup", nil)
	if len(r.Found) != 3 || !strings.Contains(r.Found[0].Error, "refuses the key") || !r.Found[0].InForce || r.Found[1].Error == "" || len(r.Found[2].Models) > 0 {
		t.Errorf("%+v", r)
	}
	text := n.told("no model was found that could answer")
	for _, want := range []string{"OpenAI: api.openai.com refuses the key", "Groq: cannot reach", "ollama pull"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}

// Two editors that start at once tell once, and a later one nothing; a client
// that asks by itself is told what it can do.
func TestFirstRunIsToldOncePerMachine(t *testing.T) {
	dir := t.TempDir()
	var worlds [2]*world
	for i := range worlds {
		worlds[i] = newWorld(t, setup{dir: dir, unset: true, llm: agenttest.NewLLM(t), init: lsptest.Init{Features: []string{"approvals"}}})
	}
	poll(t, "first run", func() bool { _, err := os.Stat(filepath.Join(dir, "state", "firstrun.json")); return err == nil })
	count := func() (n int) {
		for _, w := range worlds {
			for _, m := range w.messages("window/showMessage") {
				if strings.Contains(m, "no model is set up yet") && strings.Contains(m, w.server.o.Config.File()) {
					n++
				}
			}
		}
		return n
	}
	poll(t, "message", func() bool { return count() > 0 })
	for _, w := range worlds {
		w.Shutdown()
	}
	if n := count(); n != 1 {
		t.Errorf("told %d times", n)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "state", "firstrun.json")); err != nil || string(text) != "{\"version\": 1}\n" {
		t.Errorf("%v %q", err, text)
	}
}

// What a person reads fits the editor; where there is one line for it, it fits
// on that.
func TestFirstRunInEachEditor(t *testing.T) {
	for client, want := range map[string]string{
		"-": "code action “Set up a model…” in a *.agentls.md file, or run the command agentls.setup", "Visual Studio Code": "or run the command agentls.setup",
		"Neovim": "code action “Set up a model…” in a *.agentls.md file; `agentls doctor`", "Eglot": "*.agentls.md file; `agentls doctor`", "Zed": "*.agentls.md file; `agentls doctor`",
		"helix": "Run :lsp-workspace-command agentls.setup; `agentls doctor`",
	} {
		n := newNewcomer(t, setup{init: lsptest.Init{Client: client}}, wares{}, nil)
		if text := n.told("no model is set up yet"); !strings.Contains(text, want) || utf8.RuneCountInString(text) > 180 {
			t.Errorf("%s: %q, want %q", client, text, want)
		}
	}
	n := newNewcomer(t, setup{init: lsptest.Init{Client: "Neovim", Features: []string{"approvals"}}}, wares{}, nil)
	n.told("Run :Agentls setup;")
}

// Where nothing can be noted a popup would come at each start: the log has it.
func TestFirstRunThatCannotBeNoted(t *testing.T) {
	n := newNewcomer(t, setup{files: map[string]string{"../state/x": ""}, before: func(s *Server) { s.o.StateDir = filepath.Join(s.o.StateDir, "x") }}, wares{}, nil)
	n.Await("line in the log", func() bool {
		return slices.ContainsFunc(n.messages("window/logMessage"), func(m string) bool { return strings.Contains(m, "no model is set up yet") })
	})
	if told := n.messages("window/showMessage"); len(told) > 0 {
		t.Errorf("told %q", told)
	}
}

// Nobody is told who chose: the stand-in itself, a provider in the settings
// that the client is asked for, or no popups.
func TestFirstRunOfSomebodyWhoChose(t *testing.T) {
	for name, settings := range map[string]obj{
		"offline": {"provider": "offline"}, "no popups": {"notifications": "off"},
		"a provider": {"providers": obj{"p": obj{"baseURL": ollama, "model": "m"}}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{})
			w := newWorld(t, setup{unset: true, llm: agenttest.NewLLM(t), answers: map[string]lsptest.Answer{
				"workspace/configuration": func(json.RawMessage) (any, error) {
					<-asked // the message must not come before the answer
					return []any{settings}, nil
				},
			}})
			w.AwaitRequest("workspace/configuration", 1)
			close(asked)
			<-w.server.settings.known
			w.Shutdown()
			if told := w.messages("window/showMessage"); len(told) > 0 {
				t.Errorf("told %q", told)
			}
			if _, err := os.Stat(filepath.Join(w.state, "firstrun.json")); err == nil {
				t.Error("the first run is over, and nobody was told")
			}
		})
	}
}
