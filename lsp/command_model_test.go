package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/agent/config"
)

// What was answered is what is in force, and for how long.
func TestModelChoice(t *testing.T) {
	provider := func(model string) obj { return obj{"baseURL": "http://127.0.0.1:1/v1", "model": model} }
	llm := agenttest.NewLLM(t)
	var used []config.Provider
	w, uri := sendWorld(t, setup{
		options: map[string]any{"provider": "a", "providers": obj{"a": provider("a1"), "b": provider("b1"), "none": obj{"baseURL": "http://127.0.0.1:1/v1"}}},
		before: func(s *Server) {
			s.o.NewLLM = func(p config.Provider) (agent.LLM, error) { used = append(used, p); return llm, nil }
			s.o.Models = func(_ context.Context, p config.Provider) ([]string, error) {
				if p.Name == "none" {
					return nil, errors.New("it lists nothing")
				}
				return []string{p.Name + "1", p.Name + "2"}, nil
			}
		},
	}, "## You\n\n/model b b2\n")
	choices := []modelChoice{{"a", []string{"a1", "a2"}, ""}, {"b", []string{"b1", "b2"}, ""}, {"none", nil, ""}, {"offline", nil, ""}}
	failed := commandAs[modelInfo](w, "agentls.model", nil).Choices[2]
	if want := "it lists nothing"; !strings.Contains(failed.Error, want) {
		t.Errorf("why none lists none: %+v", failed)
	}
	check := func(arg any, provider, model string) {
		t.Helper()
		got := commandAs[modelInfo](w, "agentls.model", arg)
		if got.Provider != provider || got.Model != model || !slices.EqualFunc(got.Choices, choices, func(a, b modelChoice) bool { return a.Provider == b.Provider && slices.Equal(a.Models, b.Models) }) {
			t.Errorf("%v: %+v", arg, got)
		}
	}
	check(nil, "a", "a1")
	check(obj{"provider": "b"}, "b", "b1")
	check(obj{"model": "b2"}, "b", "b2")
	check(obj{"provider": "none", "model": "x"}, "none", "x")
	check(obj{"provider": "offline"}, "offline", "")
	for arg, says := range map[string]string{
		`{"provider":"c"}`: `no provider is named "c"; did you mean a or b?`, `{"provider":"none"}`: `the provider "none" has no model`,
		`{"provider":"offline","model":"x"}`: "the provider offline has no models", `{"modle":"x"}`: `did you mean model?`,
	} {
		if err := failure(t, w.StartCommand("agentls.model", json.RawMessage(arg), nil), -32602); !strings.Contains(err.Message, says) {
			t.Errorf("%s: %s", arg, err.Message)
		}
	}
	check(nil, "offline", "")
	if got := commandAs[modelInfo](w, "agentls.model", obj{"choices": false}); got.Provider != "offline" || got.Choices != nil {
		t.Errorf("the choice alone: %+v", got)
	}
	if r := result[agent.Result](t, w.send(uri, nil)); !strings.HasPrefix(r.Text, "The model is `b2` of `b`.") {
		t.Errorf("answered %q", r.Text)
	}
	result[agent.Result](t, w.ask("hi", nil))
	if p := used[len(used)-1]; p.Name != "b" || p.Model != "b2" {
		t.Errorf("the run was on %s %s", p.Name, p.Model)
	}
	for _, c := range [][2]string{
		{"/model b1", "The model is `b1` of `b`."}, // it is listed
		{"/model a a9", "The model is `a9` of `a`.\n\nThe provider does not list it; did you mean a1 or a2."},
	} {
		if r := result[agent.Result](t, w.ask(c[0], nil)); !strings.HasPrefix(r.Text, c[1]) {
			t.Errorf("%s: %q", c[0], r.Text)
		}
	}
	if r := result[agent.Result](t, w.ask("/model", nil)); !strings.Contains(r.Text, "- `b` — `b1`, `b2`\n- `none`\n- `offline`") {
		t.Errorf("%q", r.Text)
	}
	// A change of the configuration counts more than what was chosen before it.
	w.Notify("workspace/didChangeConfiguration", obj{"settings": obj{"agentls": obj{"provider": "b"}}})
	w.Await("the configuration", func() bool { return commandAs[modelInfo](w, "agentls.model", nil).Provider == "b" })
	// And what was chosen does not come back with it.
	w.Notify("workspace/didChangeConfiguration", obj{"settings": obj{"agentls": obj{"provider": "a"}}})
	w.Await("the configuration of before", func() bool { return commandAs[modelInfo](w, "agentls.model", nil).Provider == "a" })
	if m := commandAs[modelInfo](w, "agentls.model", nil); m.Model != "a1" {
		t.Errorf("%+v", m)
	}
}

// The run in flight keeps the model that it began with, to its last step; the
// next one of the same session goes on with the new one, on the same history.
func TestModelChoiceDuringARun(t *testing.T) {
	gate := make(chan struct{})
	models := map[string]*agenttest.LLM{
		"a": agenttest.NewLLM(t, agenttest.Step{Wait: gate, Calls: []agent.ToolCall{{ID: "c1", Name: "list_dir", Arguments: `{"path":"."}`}}}, agenttest.Text("of a")),
		"b": agenttest.NewLLM(t, agenttest.Text("of b")),
	}
	w := newWorld(t, setup{
		options: map[string]any{"provider": "a", "providers": obj{"a": obj{"baseURL": "http://127.0.0.1:1/v1", "model": "m"}, "b": obj{"baseURL": "http://127.0.0.1:1/v1", "model": "m"}}},
		before: func(s *Server) {
			s.o.NewLLM = func(p config.Provider) (agent.LLM, error) { return models[p.Name], nil }
			s.o.Models = func(context.Context, config.Provider) ([]string, error) { return nil, nil }
		},
	})
	running := w.ask("first", obj{"session": "s"})
	models["a"].Await(1)
	if m := commandAs[modelInfo](w, "agentls.model", obj{"provider": "b"}); m.Provider != "b" {
		t.Errorf("%+v", m)
	}
	close(gate)
	if r := result[agent.Result](t, running); r.Text != "of a" || len(models["a"].Requests()) != 2 || len(models["b"].Requests()) != 0 {
		t.Errorf("%q, %d and %d requests", r.Text, len(models["a"].Requests()), len(models["b"].Requests()))
	}
	if r := result[agent.Result](t, w.ask("second", obj{"session": "s"})); r.Text != "of b" {
		t.Errorf("%q", r.Text)
	}
	var roles []agent.Role
	for _, m := range models["b"].Requests()[0].Messages {
		roles = append(roles, m.Role)
	}
	if want := []agent.Role{agent.System, agent.User, agent.Assistant, agent.ToolRole, agent.Assistant, agent.User}; !slices.Equal(roles, want) {
		t.Errorf("the new one sees %v, want %v", roles, want)
	}
}

// A preset whose key is in the environment can be chosen without being
// configured, also by a name that it goes by.
func TestModelOfAPreset(t *testing.T) {
	n := newNewcomer(t, setup{}, wares{"https://api.moonshot.ai/v1": []string{"kimi-k2"}, ollama: []string{"qwen3:8b"}}, map[string]string{"MOONSHOT_API_KEY": "sk-kimi-secret"})
	m := commandAs[modelInfo](n.world, "agentls.model", nil)
	if len(m.Choices) != 2 || m.Choices[0].Provider != "kimi" || !slices.Equal(m.Choices[0].Models, []string{"kimi-k2"}) {
		t.Errorf("%+v", m)
	}
	for _, c := range []struct{ provider, model, answers string }{
		{"moonshot", "kimi-k2", "kimi kimi-k2 sk-kimi-secret"}, {"ollama", "qwen3:8b", "ollama qwen3:8b "}, {"offline", "", "offline  "},
	} {
		commandAs[modelInfo](n.world, "agentls.model", obj{"provider": c.provider, "model": c.model})
		n.answered(c.answers)
	}
	err := failure(t, n.StartCommand("agentls.model", obj{"provider": "deepseek", "model": "deepseek-chat"}, nil), -32602)
	if !strings.Contains(err.Message, "set DEEPSEEK_API_KEY where agentls starts") {
		t.Error(err)
	}
}

// A provider that did not answer is asked again soon: a program that serves
// models is started because none was listed.
func TestModelsOfAProviderThatStartsLate(t *testing.T) {
	var runs atomic.Bool
	w, _ := sendWorld(t, setup{
		options: map[string]any{"provider": "a", "providers": obj{"a": obj{"baseURL": "http://127.0.0.1:1/v1", "model": "a1"}}},
		before: func(s *Server) {
			s.models.retry = 0
			s.o.Models = func(context.Context, config.Provider) ([]string, error) {
				if !runs.Load() {
					return nil, errors.New("nothing listens there")
				}
				return []string{"a1"}, nil
			}
		},
	}, "")
	for _, want := range [][]string{nil, {"a1"}} {
		if got := commandAs[modelInfo](w, "agentls.model", nil).Choices[0].Models; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		runs.Store(true)
	}
}

// What a person sets up counts more than what was chosen before, also where the
// file says it already.
func TestSetupEndsAChoiceOfAModel(t *testing.T) {
	n := newNewcomer(t, setup{}, somewhere(), somebody())
	for range 2 {
		if r := commandAs[setupResult](n.world, "agentls.setup", "lmstudio"); r.InForce.Provider != "lmstudio" {
			t.Errorf("%+v", r)
		}
		if m := commandAs[modelInfo](n.world, "agentls.model", obj{"provider": "offline"}); m.Provider != "offline" {
			t.Errorf("%+v", m)
		}
	}
}
