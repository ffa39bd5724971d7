package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/agent/config"
	"agentls/lsp/lsptest"
)

var errWrongKey = &agent.ProviderError{Kind: agent.KindAuth, Message: "api.groq.com refuses the key (401: no sk-groq-secret): check the provider's apiKey"}

// somewhere offers much of what is set up in these tests.
func somewhere() wares {
	noAPI := &agent.ProviderError{Kind: agent.KindConfig, Message: "does not answer there (404): check the provider's baseURL"}
	return wares{
		ollama: []string{"qwen3:8b", "llama3.2:latest"}, "http://127.0.0.1:1234/v1": []string{"the-only-one"},
		"https://api.mistral.ai/v1": []string{"mistral-large", "mistral-small"}, "https://api.groq.com/openai/v1": errWrongKey,
		"http://127.0.0.1:9/v1": []string{"m", "n"}, "http://localhost:1234/v1/": []string{"the-only-one"}, "http://127.0.0.1:9": noAPI, "http://127.0.0.1:7/v2": noAPI, "http://127.0.0.1:6/v1": []string{},
		"http://127.0.0.1:5/v1":                                   []string{"[x](command:evil)"},
		"https://generativelanguage.googleapis.com/v1beta/openai": []string{"models/gemini-9"},
	}
}

func somebody() map[string]string {
	return map[string]string{"MISTRAL_API_KEY": "sk-mistral-secret", "GROQ_API_KEY": "sk-groq-secret", "MY_KEY": "sk-mine-secret", "GEMINI_API_KEY": "sk-gemini-secret"}
}

func TestSetupWritesAChoice(t *testing.T) {
	for _, c := range []struct {
		name    string
		arg     any
		answers string // who answers then
		file    string // stands in the file
		warning string
	}{
		{"a local one", obj{"provider": "ollama", "model": "qwen3:8b"}, "ollama qwen3:8b ", ollama, ""},
		{"by its title", obj{"provider": "LM Studio"}, "lmstudio the-only-one ", "the-only-one", ""},
		{"as a bare string", "lmstudio", "lmstudio the-only-one ", "the-only-one", ""},
		{"a default tag", obj{"provider": "ollama", "model": "llama3.2"}, "ollama llama3.2 ", `"llama3.2"`, ""},
		{"a folder in the list", obj{"provider": "gemini", "model": "gemini-9"}, "gemini gemini-9 sk-gemini-secret", "${GEMINI_API_KEY:-}", ""},
		{"one with a key", obj{"provider": "mistral", "model": "mistral-small"}, "mistral mistral-small sk-mistral-secret", "${MISTRAL_API_KEY:-}", ""},
		{"an address", obj{"baseURL": "http://127.0.0.1:9/v1", "model": "m"}, "local m ", "http://127.0.0.1:9/v1", ""},
		{"an address without its end", obj{"provider": "mine", "baseURL": "http://127.0.0.1:9", "model": "m", "keyVariable": "MY_KEY"}, "mine m sk-mine-secret", `"http://127.0.0.1:9/v1"`, ""},
		{"a known address", obj{"baseURL": "http://localhost:1234/v1/"}, "lmstudio the-only-one ", "http://localhost:1234/v1/", ""},
		{"not running", obj{"provider": "away", "baseURL": "http://127.0.0.1:3/v1", "model": "x"}, "away x ", "127.0.0.1:3", "It could not be asked whether it has this model: cannot reach http://127.0.0.1:3/v1: check that it runs"},
		{"two fields null", obj{"provider": "lmstudio", "model": nil, "baseURL": nil}, "lmstudio the-only-one ", "the-only-one", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNewcomer(t, setup{}, somewhere(), somebody())
			r := commandAs[setupResult](n.world, "agentls.setup", c.arg)
			if r.Warning != c.warning || r.Config != n.file() || r.InForce != (choiceInfo{Provider: r.Provider, Model: r.Model}) {
				t.Errorf("%+v", r)
			}
			n.answered(c.answers)
			text, err := os.ReadFile(n.file())
			if err != nil || !strings.Contains(string(text), c.file) || strings.Contains(string(text), "secret") {
				t.Errorf("%v\n%s", err, text)
			}
			if asked := n.questions(); len(asked) > 0 {
				t.Errorf("asked %+v", asked)
			}
		})
	}
}

// A deployment of Azure is taken though the list has the models' own names.
func TestSetupOfADeployment(t *testing.T) {
	const resource = "https://res.openai.azure.com"
	n := newNewcomer(t, setup{}, wares{resource: []string{"gpt-4o-2024-08-06"}}, map[string]string{"AZURE_OPENAI_API_KEY": "sk-azure-secret", "AZURE_OPENAI_ENDPOINT": resource})
	r := commandAs[setupResult](n.world, "agentls.setup", obj{"provider": "Azure OpenAI", "model": "my-gpt"})
	if r.InForce != (choiceInfo{Provider: "azure", Model: "my-gpt"}) {
		t.Errorf("%+v", r)
	}
	n.answered("azure my-gpt sk-azure-secret")
	if p := n.server.cfg.Load().Provider; p.KeyHeader != "api-key" || p.BaseURL != resource {
		t.Errorf("%+v", p)
	}
}

func TestSetupRefuses(t *testing.T) {
	const refused, bad = codeOfFailure, -32602
	for _, c := range []struct {
		arg  any
		code int
		want []string
	}{
		{obj{"provider": "ollama", "model": "qwen3"}, bad, []string{`Ollama does not list the model "qwen3"`, "did you mean qwen3:8b?"}},
		{obj{"provider": "ollama", "model": "gpt-7"}, bad, []string{`does not list the model "gpt-7"; it offers qwen3:8b, llama3.2:latest`}},
		{obj{"provider": "groq", "model": "m"}, refused, []string{"nothing was written", "refuses the key", "check the provider's apiKey"}},
		{obj{"provider": "openai"}, refused, []string{"OpenAI needs a key", "OPENAI_API_KEY is not set", "restart the editor", "${file:PATH}", "providers.openai of "}},
		{obj{"provider": "mine", "baseURL": "http://127.0.0.1:9/v1", "keyVariable": "NOT_SET", "model": "m"}, refused, []string{"NOT_SET is not set"}},
		{obj{"provider": "mine", "baseURL": "http://127.0.0.1:9/v1", "keyVariable": "sk-a-key-itself", "model": "m"}, bad, []string{"the name of an environment variable", "not the key itself"}},
		{obj{"provider": "olama"}, bad, []string{`no provider is called "olama"`, "did you mean ollama?", "baseURL"}},
		{obj{"provider": "p", "baseURL": "http://127.0.0.1:5/v1", "model": "m"}, bad, []string{"did you mean [x] (command:evil)?"}},
		{obj{"provider": "quite another"}, bad, []string{"there are openai, azure", `"baseURL"`}},
		{obj{"provider": "offline"}, bad, []string{`"provider": "offline"`}},
		{obj{"model": "m"}, bad, []string{"provider is missing", "ollama"}},
		{obj{"provider": "p", "baseURL": "http://127.0.0.1:3/v1"}, refused, []string{"nothing was written", "cannot reach"}},
		{obj{"provider": "p", "baseURL": "http://127.0.0.1:7/v2", "model": "m"}, refused, []string{"check the provider's baseURL"}},
		{obj{"provider": "p", "baseURL": "http://127.0.0.1:6/v1"}, refused, []string{"lists no model: load one in it"}},
		{obj{"provider": "p", "baseURL": "http://127.0.0.1:6/v1", "model": "m"}, refused, []string{"lists no model"}},
		{obj{"provider": "p", "baseURL": "http://me:password-1@127.0.0.1:3/v1", "model": "m"}, refused, []string{"put the password into a variable"}},
		{obj{"provider": "ollama", "model": "${cmd:touch PWNED}"}, bad, []string{"model must be", "by hand"}},
		{obj{"provider": strings.Repeat("x", 2000)}, bad, []string{"at most 1000"}},
		{obj{"provider": "a\u202eb"}, bad, []string{"printable"}},
		{obj{"provider": 5}, bad, []string{"provider must be a string"}},
		{obj{"models": "x"}, bad, []string{"did you mean model?"}},
	} {
		n := newNewcomer(t, setup{}, somewhere(), somebody())
		e := failure(t, n.StartCommand("agentls.setup", c.arg, nil), c.code)
		for _, want := range c.want {
			if !strings.Contains(e.Message, want) {
				t.Errorf("%v: %q does not say %q", c.arg, e.Message, want)
			}
		}
		if strings.Contains(e.Message, "secret") || strings.Contains(e.Message, "password-1") {
			t.Errorf("%v: %q", c.arg, e.Message)
		}
		if _, err := os.Stat(n.file()); err == nil {
			t.Errorf("%v: the file was written", c.arg)
		}
		n.answered("offline  ")
	}
}

const codeOfFailure = -32803

// A key is sent to the address that it is for, and a provider that cannot be
// used as it stands says so.
func TestSetupOfAConfiguredProvider(t *testing.T) {
	n := newNewcomer(t, setup{}, somewhere(), map[string]string{"MISTRAL_API_KEY": "sk-mistral-secret"})
	n.save(n.userFile("config.json", `{"provider": "work", "providers": {
	"work": {"baseURL": "https://api.mistral.ai/v1", "apiKey": "${MISTRAL_API_KEY}", "model": "mistral-large", "contextWindow": 9000}, // mine
	"broken": {"baseURL": "http://127.0.0.1:9/v1", "apiKey": "${NOT_SET}", "model": "m"}}}`))
	poll(t, "provider", func() bool { return n.server.cfg.Load().Provider.Name == "work" })
	e := failure(t, n.StartCommand("agentls.setup", obj{"provider": "work", "baseURL": "http://127.0.0.1:9/v1", "model": "m"}, nil), -32602)
	if !strings.Contains(e.Message, "has a key, which is not sent elsewhere; give another name") {
		t.Error(e)
	}
	e = failure(t, n.StartCommand("agentls.setup", obj{"provider": "broken"}, nil), codeOfFailure)
	if !strings.Contains(e.Message, "the variable NOT_SET is not set") {
		t.Error(e)
	}
	r := commandAs[setupResult](n.world, "agentls.setup", obj{"model": "mistral-small"}) // of the one in force
	if r.Provider != "work" || r.InForce.Model != "mistral-small" {
		t.Errorf("%+v", r)
	}
	n.answered("work mistral-small sk-mistral-secret")
	text, err := os.ReadFile(n.file())
	if err != nil || strings.Count(string(text), "mistral-small") != 1 || !strings.Contains(string(text), `"contextWindow": 9000}, // mine`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// An address without a name is that of the provider that is there, or of a new
// one: none is moved that was not named.
func TestSetupOfAnAddressMovesNoOther(t *testing.T) {
	n := newNewcomer(t, setup{}, somewhere(), nil)
	const file = `{"provider": "local", "providers": {
	"local": {"baseURL": "http://127.0.0.1:11434/v1", "model": "qwen3:8b"}, // mine
	"lmstudio": {"baseURL": "http://127.0.0.1:4/v1", "model": "x"}}}`
	n.save(n.userFile("config.json", file))
	poll(t, "provider", func() bool { return n.server.cfg.Load().Provider.Name == "local" })
	for _, c := range []struct{ base, model, name string }{
		{"http://127.0.0.1:9", "m", "local-2"},
		{"http://127.0.0.1:9", "n", "local-2"},
		{"http://127.0.0.1:1234/v1", "the-only-one", "lmstudio-2"},
		{"http://127.0.0.1:11434/v1", "llama3.2", "local"},
	} {
		r := commandAs[setupResult](n.world, "agentls.setup", obj{"baseURL": c.base, "model": c.model})
		if r.Provider != c.name || r.InForce != (choiceInfo{Provider: c.name, Model: c.model}) {
			t.Errorf("%s: %+v", c.base, r)
		}
	}
	providers := n.server.cfg.Load().Providers
	for name, want := range map[string]string{
		"local": "http://127.0.0.1:11434/v1 llama3.2", "lmstudio": "http://127.0.0.1:4/v1 x", "local-2": "http://127.0.0.1:9/v1 n", "lmstudio-2": "http://127.0.0.1:1234/v1 the-only-one",
	} {
		if p := providers[name]; p.BaseURL+" "+p.Model != want {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A cancelled look is answered as one, and asks nothing.
func TestSetupIsCancelled(t *testing.T) {
	asked := make(chan struct{}, 100)
	n := newNewcomer(t, setup{before: func(s *Server) {
		s.o.Models = func(ctx context.Context, _ config.Provider) ([]string, error) {
			asked <- struct{}{}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
	}}, wares{}, somebody())
	c := n.StartCommand("agentls.setup", nil, nil)
	<-asked
	c.Cancel()
	failure(t, c, -32800)
	if got := n.questions(); len(got) > 0 {
		t.Errorf("asked %+v", got)
	}
}

// A choice counts however long its endpoint was waited for.
func TestSetupOfAnEndpointThatHangs(t *testing.T) {
	var hangs atomic.Bool
	n := newNewcomer(t, setup{before: func(s *Server) {
		answers := s.o.Models
		s.o.Models = func(ctx context.Context, p config.Provider) ([]string, error) {
			if !hangs.Load() {
				return answers(ctx, p)
			}
			<-ctx.Done()
			return nil, &agent.ProviderError{Kind: agent.KindNetwork, Retryable: true, Message: "no answer in time"}
		}
	}}, somewhere(), nil)
	arg := obj{"provider": "lmstudio", "model": "the-only-one"}
	commandAs[setupResult](n.world, "agentls.setup", arg)
	commandAs[modelInfo](n.world, "agentls.model", obj{"provider": "offline"})
	hangs.Store(true)
	n.server.chooser.most = time.Millisecond
	if r := commandAs[setupResult](n.world, "agentls.setup", arg); !strings.Contains(r.Warning, "It could not be asked") {
		t.Errorf("%+v", r)
	}
	poll(t, "the choice in force", func() bool { return n.server.cfg.Load().Provider.Name == "lmstudio" })
}

// Of questions that come at once one alone stays.
func TestSetupsOfferedAtOnce(t *testing.T) {
	n := newNewcomer(t, setup{answers: map[string]lsptest.Answer{
		"window/showMessageRequest": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent },
	}}, wares{}, nil)
	c := n.server.chooser
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			c.offer([]config.Found{{Provider: config.Provider{Name: "p"}, Models: []string{"a", "b"}}})
		})
	}
	wg.Wait()
	poll(t, "one question", func() bool { return len(n.server.asks.waiting()) == 1 })
	c.retract()
	poll(t, "no question", func() bool { return len(n.server.asks.waiting()) == 0 })
}

// A file that is broken, that the editor has with other text, or that has no
// place to be: nothing is lost, and it is said what to do.
func TestSetupLeavesAFileThatItCannotWrite(t *testing.T) {
	arg := obj{"provider": "ollama", "model": "qwen3:8b"}
	t.Run("broken", func(t *testing.T) {
		n := newNewcomer(t, setup{}, somewhere(), nil)
		const broken = "{\n  \"limits\": {\"steps\": 5}\n  \"answers\": \"none\"\n}\n"
		file := n.userFile("config.json", broken)
		e := failure(t, n.StartCommand("agentls.setup", arg, nil), codeOfFailure)
		if !strings.Contains(e.Message, file+":3:3: is no JSON") || !strings.Contains(e.Message, "Mend the file, and run agentls.setup again") {
			t.Error(e)
		}
		shown := string(n.AwaitRequest("window/showDocument", 1).Params)
		if !strings.Contains(shown, lsptest.FileURI(file)) || !strings.Contains(shown, `"line":2,"character":2`) {
			t.Errorf("shown %s", shown)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != broken {
			t.Errorf("%v\n%s", err, text)
		}
	})
	t.Run("open with changes", func(t *testing.T) {
		n := newNewcomer(t, setup{}, somewhere(), nil)
		file := n.userFile("config.json", "{}\n")
		n.Open(lsptest.FileURI(file), "jsonc", "{}\n")
		n.Edit(lsptest.FileURI(file), lsptest.TextEdit{NewText: "// half a thought\n"})
		e := failure(t, n.StartCommand("agentls.setup", arg, nil), codeOfFailure)
		if !strings.Contains(e.Message, "save it, and run agentls.setup again") {
			t.Error(e)
		}
		n.write("../config/config.json", "// half a thought\n{}\n")
		n.save(file)
		if r := commandAs[setupResult](n.world, "agentls.setup", arg); r.InForce.Model != "qwen3:8b" {
			t.Errorf("%+v", r)
		}
		if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "// half a thought\n{") {
			t.Errorf("%v\n%s", err, text)
		}
	})
	t.Run("no place", func(t *testing.T) {
		n := newNewcomer(t, setup{before: func(s *Server) { s.o.Config.Dir = filepath.Join(s.o.Config.Home, "ws", "README.md", "agentls") }}, somewhere(), nil)
		e := failure(t, n.StartCommand("agentls.setup", arg, nil), codeOfFailure)
		if !strings.Contains(e.Message, "the configuration cannot be written") || !strings.Contains(e.Message, "let yourself write into") {
			t.Error(e)
		}
		commandAs[foundResult](n.world, "agentls.setup", nil)
		n.On("window/showMessageRequest", title("x"))
		n.answered("offline  ")
	})
}

// The editor's settings count more than the file, and that is said.
func TestSetupUnderTheEditorsSettings(t *testing.T) {
	n := newNewcomer(t, setup{options: obj{"provider": "theirs", "providers": obj{"theirs": obj{"baseURL": "http://127.0.0.1:9/v1", "model": "m"}}}}, somewhere(), nil)
	r := commandAs[setupResult](n.world, "agentls.setup", obj{"provider": "lmstudio"})
	if r.InForce != (choiceInfo{Provider: "theirs", Model: "m"}) || !strings.Contains(r.Warning, "theirs stays in force: the editor's own settings") {
		t.Errorf("%+v", r)
	}
	r = commandAs[setupResult](n.world, "agentls.setup", obj{"provider": "away", "baseURL": "http://127.0.0.1:3/v1", "model": "x"})
	if !strings.Contains(r.Warning, "It could not be asked") || !strings.Contains(r.Warning, ". theirs stays in force") {
		t.Errorf("%+v", r)
	}
	n.answered("theirs m ")
}

// A client that asks by itself gets the lists, what it can ask for a key of, and
// no question.
func TestSetupOfAClientWithApprovals(t *testing.T) {
	n := newNewcomer(t, setup{init: lsptest.Init{Features: []string{"approvals"}}}, somewhere(), somebody())
	all := commandAs[foundResult](n.world, "agentls.setup", nil)
	if len(all.Found) != 5 || len(all.Presets) != len(config.Presets()) {
		t.Errorf("%+v", all)
	}
	for name, want := range map[string]presetInfo{
		"openai": {"openai", "OpenAI", "https://api.openai.com/v1", []string{"OPENAI_API_KEY"}},
		"azure":  {"azure", "Azure OpenAI", "", []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"}},
		"ollama": {"ollama", "Ollama", ollama, nil},
	} {
		if i := slices.IndexFunc(all.Presets, func(p presetInfo) bool { return p.Provider == name }); i < 0 || !reflect.DeepEqual(all.Presets[i], want) {
			t.Errorf("%s: %+v", name, all.Presets)
		}
	}
	r := commandAs[foundResult](n.world, "agentls.setup", obj{"provider": "mine", "baseURL": "http://127.0.0.1:9", "keyVariable": "MY_KEY"})
	if len(r.Found) != 1 || r.Found[0].Provider != "mine" || r.Found[0].BaseURL != "http://127.0.0.1:9/v1" || r.Found[0].KeyVariable != "MY_KEY" || !slices.Equal(r.Found[0].Models, []string{"m", "n"}) {
		t.Errorf("one that is to be chosen from: %+v", r)
	}
	buffer := lsptest.FileURI(filepath.Join(n.root, "ask.agentls.md"))
	n.Open(buffer, "markdown", "")
	if got := n.setUps(buffer); len(got) > 0 {
		t.Errorf("offered %q", titlesOf(got))
	}
	if r := commandAs[setupResult](n.world, "agentls.setup", obj{"provider": "mistral", "model": "mistral-large"}); r.InForce.Provider != "mistral" {
		t.Errorf("%+v", r)
	}
	if asked := append(n.Requests("agentls/elicit"), n.Requests("window/showMessageRequest")...); len(asked) > 0 {
		t.Errorf("asked %s", asked[0].Params)
	}
}

// With a key and no model the list is offered to pick from, once, when the
// first prompt needs it (CONTRACT §2).
func TestKeyWithoutAModel(t *testing.T) {
	var models []string
	for i := range 20 {
		models = append(models, fmt.Sprintf("gpt-%d", 20-i))
	}
	var seen []string
	n := newNewcomer(t, setup{}, wares{"https://api.openai.com/v1": models}, map[string]string{"OPENAI_API_KEY": "sk-open-secret"})
	answers := []string{morePicks, morePicks, morePicks, "gpt-15"}
	n.On("window/showMessageRequest", actions(func(k int, message string) string { seen = append(seen, message); return answers[k-1] }))
	e := failure(t, n.ask("hello", nil), codeOfFailure)
	if !strings.Contains(e.Message, "no model is chosen; choose one with agentls.setup") {
		t.Error(e)
	}
	n.told("gpt-15 of openai is set up")
	asked := n.questions()
	if len(asked) != 4 || !strings.Contains(seen[0], "which model of openai (https://api.openai.com/v1)") {
		t.Fatalf("asked %+v", asked)
	}
	for i, want := range [][]string{models[:8], models[8:16], models[16:], models[:8]} {
		if got := asked[i].titles(); !slices.Equal(got, slices.Concat([]string{notNow}, want, []string{morePicks})) {
			t.Errorf("page %d: %q", i, got)
		}
	}
	n.answered("openai gpt-15 sk-open-secret")
	if text, err := os.ReadFile(n.file()); err != nil || !strings.Contains(string(text), `"${OPENAI_API_KEY:-}"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// The later of two questions counts, and a person who does not want to choose
// is left alone.
func TestSetupIsAskedAnew(t *testing.T) {
	n := newNewcomer(t, setup{answers: map[string]lsptest.Answer{
		"window/showMessageRequest": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent },
	}}, wares{ollama: []string{"a", "b"}}, nil)
	commandAs[foundResult](n.world, "agentls.setup", nil)
	first := n.AwaitRequest("window/showMessageRequest", 1)
	n.On("window/showMessageRequest", title(notNow))
	commandAs[foundResult](n.world, "agentls.setup", nil)
	n.AwaitRequest("window/showMessageRequest", 2)
	n.Await("withdrawal", func() bool {
		return slices.ContainsFunc(n.Notifications("$/cancelRequest"), func(p json.RawMessage) bool { return string(p) == `{"id":`+string(first.ID)+`}` })
	})
	poll(t, "no question", func() bool { return len(n.server.asks.waiting()) == 0 })
	n.answered("offline  ")
	if _, err := os.Stat(n.file()); err == nil {
		t.Error("something was written")
	}
	// By agentls.approve as well, with what is not on the page.
	n.On("window/showMessageRequest", func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
	commandAs[foundResult](n.world, "agentls.setup", nil)
	poll(t, "question", func() bool { return len(n.server.asks.waiting()) == 1 })
	w := n.server.asks.waiting()[0]
	if e := failure(t, n.StartCommand("agentls.approve", obj{"id": w.id, "decision": "once", "content": obj{"model": "c"}}, nil), -32602); !strings.Contains(e.Message, `one of "a", "b"`) {
		t.Error(e)
	}
	commandAs[map[string]bool](n.world, "agentls.approve", obj{"id": w.id, "decision": "once", "content": obj{"model": "b"}})
	n.told("b of ollama is set up")
	n.answered("ollama b ")
}

// Setting up while a run works is the person's own doing and applies at once;
// what the run wrote into the file before is not let in with it.
func TestSetupWhileARunChangesTheFile(t *testing.T) {
	release := make(chan struct{})
	slow := agenttest.NewLLM(t, agenttest.Step{Wait: release, Text: []string{"slow"}})
	n := newNewcomer(t, setup{before: func(s *Server) {
		fast := s.o.NewLLM
		s.o.NewLLM = func(p config.Provider) (agent.LLM, error) {
			if p.Name == config.Offline {
				return slow, nil
			}
			return fast(p)
		}
	}, answers: map[string]lsptest.Answer{
		"window/showMessageRequest": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent },
	}}, somewhere(), nil)
	run := n.ask("work", nil)
	slow.Await(1)
	if r := commandAs[setupResult](n.world, "agentls.setup", obj{"provider": "lmstudio"}); r.InForce.Provider != "lmstudio" || len(n.questions()) > 0 {
		t.Errorf("%+v, asked %+v", r, n.questions())
	}
	text, err := os.ReadFile(n.file())
	if err != nil {
		t.Fatal(err)
	}
	n.userFile("config.json", strings.Replace(string(text), "{", `{"approval": {"allow": ["run_command"]},`, 1)) // the run's
	r := commandAs[setupResult](n.world, "agentls.setup", obj{"provider": "ollama", "model": "qwen3:8b"})
	if r.InForce.Provider != "lmstudio" || !strings.Contains(r.Warning, "waits for your answer") {
		t.Errorf("%+v", r)
	}
	if allow := n.server.cfg.Load().Approval.Allow; len(allow) > 0 {
		t.Errorf("allowed %q", allow)
	}
	n.AwaitRequest("window/showMessageRequest", 1)
	if asked := n.questions(); !strings.Contains(asked[0].Message, "changed while a run was active") || !strings.Contains(asked[0].Message, "run_command") {
		t.Errorf("asked %+v", asked)
	}
	close(release)
	result[agent.Result](t, run)
}

// Two editors that set up at once lose nothing of each other, and both get it.
func TestTwoSetupsAtOnce(t *testing.T) {
	dir := t.TempDir()
	a := newNewcomer(t, setup{dir: dir}, somewhere(), somebody())
	b := newNewcomer(t, setup{dir: dir}, somewhere(), somebody())
	one := a.StartCommand("agentls.setup", obj{"provider": "lmstudio"}, nil)
	two := b.StartCommand("agentls.setup", obj{"provider": "mistral", "model": "mistral-small"}, nil)
	result[setupResult](t, one)
	result[setupResult](t, two)
	c := config.Load(context.Background(), a.server.o.Config, config.Request{})
	if len(c.Providers) != 2 || len(c.Problems) > 0 {
		t.Errorf("%+v, %v", c.Providers, c.Problems)
	}
	for _, n := range []newcomer{a, b} {
		poll(t, "the last choice", func() bool { return n.server.cfg.Load().Provider.Name == c.Provider.Name })
	}
}

// A choice for the connection (agentls.model) gives way to what is set up then.
func TestSetupAfterAModelWasChosen(t *testing.T) {
	n := newNewcomer(t, setup{}, somewhere(), somebody())
	commandAs[setupResult](n.world, "agentls.setup", obj{"provider": "mistral", "model": "mistral-small"})
	commandAs[modelInfo](n.world, "agentls.model", obj{"model": "mistral-large"})
	n.answered("mistral mistral-large sk-mistral-secret")
	r := commandAs[setupResult](n.world, "agentls.setup", obj{"provider": "mistral", "model": "mistral-small"}) // as the file has it
	if r.InForce.Model != "mistral-small" || r.Warning != "" {
		t.Errorf("%+v", r)
	}
	n.answered("mistral mistral-small sk-mistral-secret")
}

// A list of models is foreign: what cannot be shown whole, or would pass for
// another action, is not offered.
func TestForeignModelsInTheQuestion(t *testing.T) {
	models := []string{"good", notNow, morePicks, "[x](command:evil)", "two  spaces", "${cmd:touch PWNED}", "also-good"}
	n := newNewcomer(t, setup{}, wares{ollama: models, "http://127.0.0.1:1234/v1": []string{notNow}}, nil)
	commandAs[foundResult](n.world, "agentls.setup", nil)
	n.AwaitRequest("window/showMessageRequest", 1)
	if got := n.questions()[0].titles(); !slices.Equal(got, []string{notNow, "good", "also-good"}) {
		t.Errorf("offered %q", got)
	}
	buffer := lsptest.FileURI(filepath.Join(n.root, "ask.agentls.md"))
	n.Open(buffer, "markdown", "")
	if got := titlesOf(n.setUps(buffer)); !slices.Equal(got, []string{"Use good of Ollama", "Use also-good of Ollama", setUpTitle}) {
		t.Errorf("offered %q", got)
	}
}

// An editor that leaves a question about its settings without an answer keeps
// nobody waiting; what was written counts when it has answered.
func TestSetupWhileTheEditorIsSilent(t *testing.T) {
	answer := make(chan struct{})
	n := newNewcomer(t, setup{before: func(s *Server) { s.chooser.most = 100 * time.Millisecond }, answers: map[string]lsptest.Answer{
		"workspace/configuration": func(json.RawMessage) (any, error) { <-answer; return []any{nil}, nil },
	}}, somewhere(), nil)
	n.AwaitRequest("workspace/configuration", 1)
	r := commandAs[setupResult](n.world, "agentls.setup", obj{"provider": "lmstudio"})
	if r.InForce.Provider != config.Offline || !strings.Contains(r.Warning, "counts as soon as your editor has answered") {
		t.Errorf("%+v", r)
	}
	close(answer)
	poll(t, "the choice in force", func() bool { return n.server.cfg.Load().Provider.Name == "lmstudio" })
}
