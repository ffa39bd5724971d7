package config

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
)

// endpoints answers for providers, by base URL; what is not in it refuses.
type endpoints map[string]func(ctx context.Context, p Provider) ([]string, error)

func (e endpoints) models(ctx context.Context, p Provider) ([]string, error) {
	if answer := e[p.BaseURL]; answer != nil {
		return answer(ctx, p)
	}
	return nil, &agent.ProviderError{Kind: agent.KindNetwork, Message: "cannot reach it: check that it runs"}
}

func lists(models ...string) func(context.Context, Provider) ([]string, error) {
	return func(context.Context, Provider) ([]string, error) { return models, nil }
}

func silent(ctx context.Context, _ Provider) ([]string, error) {
	<-ctx.Done()
	return nil, &agent.ProviderError{Kind: agent.KindNetwork, Message: "no answer in time"}
}

func TestDiscover(t *testing.T) {
	local := []KnownProvider{
		{Name: "ollama", Title: "Ollama", BaseURL: "http://127.0.0.1:1/v1"},
		{Name: "vllm", Title: "vLLM", BaseURL: "http://127.0.0.1:2/v1"},
		{Name: "lmstudio", Title: "LM Studio", BaseURL: "http://127.0.0.1:3/v1"},
		{Name: "jan", Title: "Jan", BaseURL: "http://127.0.0.1:4/v1"},
	}
	w := newWorld(t)
	w.env["DEEPSEEK_API_KEY"], w.env["MISTRAL_API_KEY"], w.env["GROQ_API_KEY"] = "sk-deep-secret", "", "sk-groq-secret"
	w.user(`{"provider": "work", "providers": {
		"away": {"baseURL": "http://127.0.0.1:5/v1", "model": "a"},
		"work": {"baseURL": "http://LOCALHOST:3/v1/", "model": "m"}}}`)
	answers := endpoints{
		"http://LOCALHOST:3/v1/": lists("m", "n"),
		"http://127.0.0.1:1/v1":  lists("llama3.2:latest", "${cmd:touch PWNED}", "in\u202evisible", strings.Repeat("x", 300), ""),
		"http://127.0.0.1:2/v1": func(context.Context, Provider) ([]string, error) {
			return nil, &agent.ProviderError{Kind: agent.KindAuth, Message: "wants a key: set apiKey"}
		},
		"http://127.0.0.1:4/v1": func(context.Context, Provider) ([]string, error) { return nil, errors.New("a web server") },
		"https://api.deepseek.com/v1": func(_ context.Context, p Provider) ([]string, error) {
			return []string{"with " + p.APIKey}, nil
		},
	}
	d := Discovery{Source: w.source, Config: w.load(), Local: local, Models: answers.models}
	var got []string
	for _, f := range d.Discover(t.Context()) {
		got = append(got, fmt.Sprint(f.Name, " (", f.Title, ") ", f.Models, f.Problem, " ", f.KeyVariable, f.Configured, f.Here))
	}
	want := []string{
		"work (LM Studio) [m n] true true",
		"away (away) []cannot reach it: check that it runs true true",
		"deepseek (DeepSeek) [with sk-deep-secret] DEEPSEEK_API_KEYfalse false",
		"groq (Groq) []cannot reach it: check that it runs GROQ_API_KEYfalse false",
		"ollama (Ollama) [llama3.2:latest] false true",
		"vllm (vLLM) []wants a key: set apiKey false true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if said := w.source.Secrets.Redact("sk-deep-secret sk-groq-secret"); strings.Contains(said, "secret") {
		t.Errorf("the keys are no secrets: %s", said)
	}
}

// One that hangs keeps no other waiting, and none longer than its time.
func TestDiscoveryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := map[string]string{"XAI_API_KEY": "sk-xai-secret"}
		var mu sync.Mutex
		asked := map[string]time.Duration{}
		start := time.Now()
		d := Discovery{
			Source: Source{Getenv: func(k string) (string, bool) { v, ok := env[k]; return v, ok }}, Config: Default(), Local: LocalProviders(),
			Models: func(ctx context.Context, p Provider) ([]string, error) {
				names, err := silent(ctx, p)
				mu.Lock()
				defer mu.Unlock()
				asked[p.Name] = time.Since(start)
				return names, err
			},
		}
		found := d.Discover(t.Context())
		if len(found) != 1 || found[0].Name != "xai" || found[0].Problem != "no answer in time" {
			t.Errorf("%+v", found)
		}
		if took := time.Since(start); took != remoteTime || asked["ollama"] != localTime || asked["vllm"] != localTime || len(asked) != 1+len(LocalProviders()) {
			t.Errorf("%v, %v", took, asked)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if start = time.Now(); len(d.Discover(ctx)) != 1 || time.Since(start) != 0 {
			t.Errorf("a cancelled one took %v", time.Since(start))
		}
	})
}

// The table holds what can be written, looked up and reached.
func TestKnownProviders(t *testing.T) {
	seen := map[string]bool{}
	d := Discovery{Local: LocalProviders()}
	for _, k := range slices.Concat(KnownProviders(), LocalProviders()) {
		if seen[k.Name] || seen[address(k.BaseURL)] || k.Name == Offline || !Plain(k.Name) {
			t.Errorf("%+v", k)
		}
		seen[k.Name], seen[address(k.BaseURL)] = true, true
		if here := IsLoopback(k.BaseURL); here != (len(k.KeyVariables) == 0) || !here && k.BaseURL != "" && !strings.HasPrefix(k.BaseURL, "https://") {
			t.Errorf("%+v: a key goes over https alone, and only what runs here is probed", k)
		}
		if k.BaseURL == "" && (k.BaseVariable == "" || len(k.Hosts) == 0) {
			t.Errorf("%+v: nothing says where it is", k)
		}
		for _, other := range k.Aliases {
			if by, ok := d.Named(other); !ok || by.Name != k.Name || seen[other] {
				t.Errorf("%s is %q", other, by.Name)
			}
			seen[other] = true
		}
		if k.BaseURL == "" {
			continue
		}
		if by, ok := d.Named(strings.ToUpper(k.Title)); !ok || by.Name != k.Name {
			t.Errorf("%s is not found by its title", k.Title)
		}
		if by, ok := d.Known(k.BaseURL + "/"); !ok || by.Name != k.Name {
			t.Errorf("%s is not found by its address", k.Name)
		}
	}
}

// Ollama is found where its own variable puts it, on this machine alone.
func TestOllamaElsewhereOnThisMachine(t *testing.T) {
	for host, want := range map[string]string{
		"": "http://127.0.0.1:11434/v1", "0.0.0.0": "http://127.0.0.1:11434/v1", "127.0.0.1:8123": "http://127.0.0.1:8123/v1", ":8123": "http://127.0.0.1:8123/v1",
		"http://localhost:8123/": "http://127.0.0.1:8123/v1", "[::]:8123": "http://127.0.0.1:8123/v1", "gpu.example.org:8123": "http://127.0.0.1:11434/v1",
	} {
		w := newWorld(t)
		w.env[ollamaHost] = host
		d := Discovery{Source: w.source, Config: w.load(), Local: LocalProviders(), Models: endpoints{want: lists("m")}.models}
		if found := d.Discover(t.Context()); len(found) != 1 || found[0].Name != Ollama || found[0].BaseURL != want {
			t.Errorf("%q: %+v, want %s", host, found, want)
		}
		if k, ok := d.Known(want); !ok || k.Name != Ollama {
			t.Errorf("%q: %s is %q", host, want, k.Name)
		}
	}
}
