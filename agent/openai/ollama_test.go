package openai

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// fakeOllama answers as Ollama does, with one model.
type fakeOllama struct {
	recorder
	window       int // that it loads the model with
	loaded       bool
	old          bool // a version that tells no window
	parameters   string
	capabilities []string
	asked        []string // paths
	chats        []sent
}

func (f *fakeOllama) serve(t *testing.T, change ...func(*Options)) *LLM {
	t.Helper()
	f.answers = func(r *http.Request) (int, string) {
		f.asked = append(f.asked, r.URL.Path)
		switch r.Method + " " + r.URL.Path {
		case "GET /api/ps":
			if !f.loaded {
				return 200, `{"models":[]}`
			}
			window := fmt.Sprintf(`,"context_length":%d`, f.window)
			if f.old {
				window = ""
			}
			return 200, `{"models":[{"name":"other:1b","model":"other:1b","context_length":99},{"name":"qwen3:latest","model":"qwen3:latest","size":1` + window + `}]}`
		case "POST /api/show":
			return 200, fmt.Sprintf(`{"parameters":%q,"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960,"qwen3.block_count":36},"capabilities":[%s]}`,
				f.parameters, strings.Join(f.capabilities, ","))
		case "POST /api/generate":
			f.loaded = true
			return 200, `{"model":"qwen3","response":"","done":true,"done_reason":"load"}`
		case "POST /v1/chat/completions":
			f.loaded = true
			f.chats = append(f.chats, readSent(t, r))
			return 200, wholeAnswer
		}
		t.Errorf("asked for %s %s", r.Method, r.URL.Path)
		return 404, `404 page not found`
	}
	o := Options{BaseURL: "http://127.0.0.1:11434/v1", Model: "qwen3"}
	for _, c := range change {
		c(&o)
	}
	return f.llm(t, o)
}

func long(bytes int) agent.Request {
	return agent.Request{Messages: []agent.Message{{Role: agent.User, Text: strings.Repeat("abc ", bytes/4)}}}
}

// notices gathers what a person is told.
func notices(to *[]string) func(agent.Delta) {
	return func(d agent.Delta) {
		if d.Notice != "" {
			*to = append(*to, d.Notice)
		}
	}
}

// Ollama loads models with a small window and drops the front of what is longer:
// the window is known before a request is made, and a person is told once.
func TestOllamaWindow(t *testing.T) {
	for name, c := range map[string]struct {
		fake   fakeOllama
		change func(*Options)
		window int // that is known then; 0: nothing is
		told   string
		asked  string
	}{
		"small":                {fake: fakeOllama{window: 4096}, window: 4096, told: "4096 tokens, of the 40960 that it could take: set OLLAMA_CONTEXT_LENGTH=32768", asked: "show ps generate ps"},
		"loaded":               {fake: fakeOllama{window: 4096, loaded: true}, window: 4096, told: "`PARAMETER num_ctx 32768`", asked: "show ps"},
		"large":                {fake: fakeOllama{window: 32768, loaded: true}, window: 32768, asked: "show ps"},
		"all of it":            {fake: fakeOllama{window: 40960}, window: 40960, asked: "show ps generate ps"},
		"a Modelfile":          {fake: fakeOllama{old: true, loaded: true, parameters: "num_ctx                        8192\nstop                           \"<|im_end|>\""}, window: 8192, told: "8192", asked: "show ps"},
		"an old one":           {fake: fakeOllama{old: true}, asked: "show ps generate ps"},
		"in a cloud":           {fake: fakeOllama{}, change: func(o *Options) { o.Model = "gpt-oss:120b-cloud" }, asked: "show ps"},
		"elsewhere":            {fake: fakeOllama{window: 4096, loaded: true}, change: func(o *Options) { o.BaseURL, o.Ollama = "https://gpu.example/v1", true }, window: 4096, told: "gpu.example", asked: "show ps"},
		"configured":           {fake: fakeOllama{window: 32768, loaded: true}, change: func(o *Options) { o.ContextWindow = 20000 }, window: 20000, asked: "show ps"},
		"configured too large": {fake: fakeOllama{window: 4096, loaded: true}, change: func(o *Options) { o.ContextWindow = 20000 }, window: 4096, told: "4096", asked: "show ps"},
		"another":              {fake: fakeOllama{}, change: func(o *Options) { o.BaseURL = "http://127.0.0.1:8080/v1" }},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.fake
			var change []func(*Options)
			if c.change != nil {
				change = append(change, c.change)
			}
			l := f.serve(t, change...)
			var told []string
			l.Prepare(t.Context(), notices(&told))
			if asked := strings.ReplaceAll(strings.Join(f.asked, " "), "/api/", ""); asked != c.asked {
				t.Errorf("asked %s, want %s", asked, c.asked)
			}
			l.Prepare(t.Context(), notices(&told))
			if m := l.Model(); m.ContextWindow != c.window || (m.Advice == "") != (c.told == "") {
				t.Errorf("known is %+v, want %d", m, c.window)
			}
			if len(told) != min(1, len(c.told)) || c.told != "" && !strings.Contains(told[0], c.told) {
				t.Errorf("told %q", told)
			}
		})
	}
}

// A cancel ends the loading of a model.
func TestCancelEndsTheLoading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := &recorder{answers: func(r *http.Request) (int, string) {
		if r.URL.Path == "/api/generate" {
			cancel()
			<-r.Context().Done()
			return 500, ""
		}
		return 200, `{"models":[]}`
	}}
	l := n.llm(t, Options{BaseURL: "http://127.0.0.1:11434/v1", Model: "m"})
	l.Prepare(ctx, func(agent.Delta) {})
	if ctx.Err() == nil || l.Model().ContextWindow != 0 {
		t.Errorf("%v, %+v", ctx.Err(), l.Model())
	}
	if _, err := l.Complete(ctx, prompt, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What listens at the port is no Ollama: it is asked as ever.
func TestOllamaThatIsNone(t *testing.T) {
	n := &recorder{answers: func(r *http.Request) (int, string) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			return 404, `<html>no</html>`
		}
		return 200, wholeAnswer
	}}
	l := n.llm(t, Options{BaseURL: "http://127.0.0.1:11434/v1", Model: "m"})
	for range 2 {
		l.Prepare(t.Context(), func(d agent.Delta) { t.Errorf("told %+v", d) })
		if r, err := l.Complete(t.Context(), long(40000), nil); err != nil || r.Text != "Hello there" {
			t.Errorf("%q, %v", r.Text, err)
		}
	}
	if m := l.Model(); m.ContextWindow != 0 {
		t.Errorf("%+v", m)
	}
}

// The window is that of now: Ollama may be started anew with another.
func TestOllamaWindowChanges(t *testing.T) {
	f := fakeOllama{window: 4096, loaded: true}
	l := f.serve(t)
	for _, window := range []int{4096, 32768, 8192} {
		f.window = window
		if l.Prepare(t.Context(), func(agent.Delta) {}); l.Model().ContextWindow != window {
			t.Errorf("%+v, want %d", l.Model(), window)
		}
	}
}

// doctor looks without loading the model.
func TestLookLoadsNothing(t *testing.T) {
	f := fakeOllama{window: 4096}
	if m := f.serve(t).Look(t.Context()); m.ContextWindow != 0 || f.loaded {
		t.Errorf("%+v, loaded %v", m, f.loaded)
	}
	f.loaded = true
	if m := f.serve(t).Look(t.Context()); m.ContextWindow != 4096 || !strings.Contains(m.Advice, "OLLAMA_CONTEXT_LENGTH") {
		t.Errorf("%+v", m)
	}
}

// A conversation that grows stays within the window that was found, with the
// last prompt whole.
func TestRunsFitTheWindowOfOllama(t *testing.T) {
	f := fakeOllama{window: 16384}
	run := runs(t, f.serve(t))
	for i := range 12 {
		last := fmt.Sprintf("Prompt %d. ", i) + strings.Repeat("some words of it ", 500)
		if _, err := run(last); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
		chat := f.chats[len(f.chats)-1]
		if n := len(asJSON(t, chat.Messages)) + len(asJSON(t, chat.Tools)); n/4 > f.window { // at least four bytes a token here
			t.Errorf("run %d: a request of %d bytes for %d tokens", i, n, f.window)
		}
		if !slices.ContainsFunc(chat.Messages, func(m map[string]any) bool {
			return strings.Contains(fmt.Sprint(m["content"]), strings.TrimSpace(last))
		}) {
			t.Errorf("run %d: the prompt is not whole", i)
		}
	}
}

// runs gives what runs prompts of one session, one after the other.
func runs(t *testing.T, l *LLM) func(prompt string) (agent.Result, error) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	manager := mcp.NewManager(mcp.Options{Name: "agentls", Version: "test", Log: log})
	t.Cleanup(manager.Close)
	a := agent.New(agent.Options{Manager: manager, Log: log})
	t.Cleanup(a.Close)
	dir, n := t.TempDir(), 0
	return func(prompt string) (agent.Result, error) {
		n++
		return a.Run(t.Context(), agent.Task{
			RunID: fmt.Sprint(n), Session: "s", Folder: dir, Folders: agenttest.Folders(dir), LLM: l, Prompt: prompt,
			Host: &agenttest.Host{Answer: agenttest.Always(agent.DecisionOnce)},
		})
	}
}

// What does not fit at all is said with what to set, and nothing is sent.
func TestPromptTooLongForOllama(t *testing.T) {
	f := fakeOllama{window: 4096}
	res, err := runs(t, f.serve(t))(strings.Repeat("some words of it ", 2000))
	if pe := providerError(t, err); pe.Kind != agent.KindContext || !strings.Contains(pe.Message, "set OLLAMA_CONTEXT_LENGTH=32768") || len(f.chats) > 0 {
		t.Errorf("%s, %d requests: %s %v", pe.Kind, len(f.chats), pe.Message, res)
	}
}

// A model of which it is known that it takes no images is not tried with one,
// and a person is told once.
func TestImagesOfAModelThatTakesNone(t *testing.T) {
	request := agent.Request{Messages: []agent.Message{{Role: agent.User, Text: "look", Images: []agent.Image{{MIMEType: "image/png", Data: "AAAA"}}}}}
	for name, c := range map[string]struct {
		fake  *fakeOllama // nil: another provider
		model string
		sent  bool
	}{
		"known":              {nil, "deepseek-chat", false},
		"known, of a maker":  {nil, "openai/gpt-3.5-turbo-0125", false},
		"known, alone":       {nil, "gpt-4", false},
		"another":            {nil, "gpt-4o", true},
		"nothing known":      {nil, "deepseek-chatty", true},
		"Ollama, blind":      {&fakeOllama{window: 32768, capabilities: []string{`"completion"`, `"tools"`}}, "qwen3", false},
		"Ollama, seeing":     {&fakeOllama{window: 32768, capabilities: []string{`"completion"`, `"vision"`}}, "qwen3", true},
		"Ollama, an old one": {&fakeOllama{window: 32768}, "qwen3", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.fake
			var l *LLM
			if f != nil {
				l = f.serve(t)
			} else {
				f = &fakeOllama{}
				l = f.serve(t, func(o *Options) { o.BaseURL, o.Model = "http://provider.test/v1", c.model })
			}
			var told []string
			for range 2 {
				l.Prepare(t.Context(), func(agent.Delta) {})
				if _, err := l.Complete(t.Context(), request, notices(&told)); err != nil {
					t.Fatal(err)
				}
			}
			if got := hasImages(f.chats[0]); got != c.sent || len(f.chats) != 2 {
				t.Errorf("sent %v in %d requests", got, len(f.chats))
			}
			if (len(told) == 1) == c.sent || len(told) > 1 || len(told) == 1 && !strings.Contains(told[0], "takes no images") {
				t.Errorf("told %q", told)
			}
		})
	}
}

// One that refuses them is told of as well.
func TestRefusedImagesAreTold(t *testing.T) {
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if hasImages(readSent(t, r)) {
			http.Error(w, `{"error":{"message":"this model does not support image input"}}`, 400)
			return
		}
		answerHello(w)
	})
	var told []string
	for range 2 {
		if _, err := l.Complete(t.Context(), history, notices(&told)); err != nil {
			t.Fatal(err)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], `the model "m" at 127.0.0.1`) {
		t.Errorf("told %q", told)
	}
}

// A server that cuts requests shows it by its count alone.
func TestCutRequestsAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		counts []string // the usage of each answer
		told   int
	}{
		"cut":                   {[]string{`{"prompt_tokens":2000}`, `{"prompt_tokens":2000}`}, 1},
		"whole":                 {[]string{`{"prompt_tokens":10000}`}, 0},
		"untold":                {[]string{`{}`, `null`}, 0},
		"all but a few cached":  {[]string{`{"prompt_tokens":10000}`, `{"prompt_tokens":1000}`}, 0},
		"cached, as it is said": {[]string{`{"prompt_tokens":2000,"prompt_tokens_details":{"cached_tokens":1500}}`}, 0},
		"too few to tell it by": {[]string{`{"prompt_tokens":100}`}, 0},
	} {
		n := 0
		l := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			say(w, there, `{"choices":[],"usage":`+c.counts[n]+`}`, done)
			n++
		})
		var told []string
		for range c.counts {
			if _, err := l.Complete(t.Context(), long(40000), notices(&told)); err != nil {
				t.Fatal(err)
			}
		}
		if len(told) != c.told || c.told > 0 && !strings.Contains(told[0], "seems to have dropped the rest") {
			t.Errorf("%s: told %q", name, told)
		}
	}
}
