package lsp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
)

func TestDetached(t *testing.T) {
	for _, c := range []struct {
		name   string
		init   lsptest.Init
		option string // configuration
		token  any
		wish   any
		want   bool
	}{
		{name: "a client that waits", init: lsptest.Init{Client: "Visual Studio Code"}},
		{name: "Helix", init: lsptest.Init{Client: "helix"}, want: true},
		{name: "Eglot", init: lsptest.Init{Client: "Eglot"}, want: true},
		{name: "no name", init: lsptest.Init{Client: "-"}, want: true},
		{name: "a token of its own", init: lsptest.Init{Client: "Zed"}, token: "t"},
		{name: "a plugin", init: lsptest.Init{Client: "Emacs", Features: []string{"runEvents"}}},
		{name: "never", init: lsptest.Init{Client: "helix"}, option: "never"},
		{name: "always", option: "always", want: true},
		{name: "wish against the rule", init: lsptest.Init{Client: "helix"}, wish: false},
		{name: "wish", token: "t", wish: true, want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := setup{llm: agenttest.NewLLM(t, agenttest.Text("the answer")), init: c.init}
			if c.option != "" {
				u.options = obj{"detached": c.option}
			}
			w := newWorld(t, u)
			arg := obj{"prompt": "hi", "runId": "r", "session": "s"}
			if c.wish != nil {
				arg["detached"] = c.wish
			}
			r := result[map[string]any](t, w.StartCommand("agentls.ask", arg, c.token))
			if _, whole := r["text"]; whole == c.want || r["runId"] != "r" || r["session"] != "s" {
				t.Errorf("answered %v", r)
			}
			if !c.want {
				return
			}
			// The end is told under a token that the server made.
			token := decodeAs[struct{ Token string }](t, w.AwaitRequest("window/workDoneProgress/create", 1).Params).Token
			w.Await("end of the progress", func() bool {
				list := w.progress(token)
				return len(list) > 1 && list[len(list)-1].Kind == "end" && list[len(list)-1].Message == "the answer"
			})
		})
	}
}

// Neovim's buf_request_sync cancels when it has waited long enough: a detached
// run goes on.
func TestCancelOfADetachedRequestComesTooLate(t *testing.T) {
	gate := make(chan struct{})
	llm := agenttest.NewLLM(t, agenttest.Step{Wait: gate, Text: []string{"late"}})
	w := newWorld(t, setup{llm: llm})
	p := w.ask("hi", obj{"detached": true})
	result[startedInfo](t, p)
	p.Cancel()
	close(gate)
	w.awaitRuns("end of the run", func(list []runInfo) bool { return list[0].Status == runCompleted })
}

func TestDetachedFailurePopsUp(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Step{Err: &agent.ProviderError{Kind: agent.KindAuth, Message: "The key is wrong."}})
	w := newWorld(t, setup{llm: llm})
	result[startedInfo](t, w.ask("hi", obj{"detached": true}))
	w.AwaitNotification("window/showMessage", 1)
	if got := w.messages("window/showMessage"); len(got) != 1 || !strings.Contains(got[0], "The key is wrong.") {
		t.Errorf("messages %q", got)
	}
}

// A client that never answers create gets no progress and its answer in time.
func TestProgressThatTheClientDoesNotTake(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Text("x"))})
	w.On("window/workDoneProgress/create", func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
	result[agent.Result](t, w.ask("hi", nil))
	if n := len(w.Notifications("$/progress")); n > 0 {
		t.Errorf("%d progress notifications under a token that nobody took", n)
	}
}

// A token that the client took while the run ended is begun and ended: clients
// keep one until its end.
func TestProgressThatTheClientTookAtTheEnd(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	made := make(chan bool, 1)
	made <- true
	p := progress{s: w.server, token: protocol.String("late"), made: made}
	p.settleToken(false)
	p.end("completed")
	w.Await("begin and end", func() bool {
		list := w.progress("late")
		return len(list) == 2 && list[0].Kind == "begin" && list[1].Kind == "end"
	})
}

func TestProgressIsFewReportsAndHoldsNoSecret(t *testing.T) {
	const secret = "sk-abcdefgh12345678"
	var text []string
	for range 400 {
		text = append(text, "word ")
	}
	for _, r := range secret {
		text = append(text, string(r))
	}
	gate := make(chan struct{})
	llm := agenttest.NewScript(t, func(n int, _ agent.Request) agenttest.Step {
		if n == 1 {
			return agenttest.Step{Text: text, Calls: []agent.ToolCall{{ID: "1", Name: "list_dir", Arguments: `{"path":"."}`}}}
		}
		return agenttest.Step{Wait: gate, Text: []string{"done"}}
	})
	w := newWorld(t, setup{llm: llm})
	start := time.Now()
	p := w.StartCommand("agentls.ask", obj{"prompt": "hi " + secret}, "tok")
	w.Await("second step", func() bool {
		list := w.progress("tok")
		return len(list) > 0 && strings.Contains(list[len(list)-1].Message, "step 2")
	})
	close(gate)
	result[agent.Result](t, p)
	list := w.progress("tok")
	if most := 3 + int(time.Since(start)/reportEvery); len(list) > most {
		t.Errorf("%d notifications in %v", len(list), time.Since(start))
	}
	for _, v := range list {
		if strings.Contains(v.Message+v.Title, "sk-ab") || v.Percentage != nil {
			t.Errorf("progress %+v", v)
		}
	}
	if !list[0].Cancellable {
		t.Errorf("begin %+v", list[0])
	}
}

// A word that is still being written may be the beginning of a secret.
func TestLastWordsHoldNoPieceOfASecret(t *testing.T) {
	secrets := mcp.NewSecrets()
	secrets.Add("correct-horse-battery")
	for _, c := range []struct{ name, text, want string }{
		{"whole words", "one two ", "one two"},
		{"a word that grows", "one correct-hor", "one"},
		{"a secret", "one correct-horse-battery two ", "one [redacted] two"},
		{"no spaces", "你好世界", "你好世界"},
		{"no spaces before a secret", "你好correct-hor", "你好"},
		{"long", strings.Repeat("word ", 100), "…" + strings.Repeat("word ", 100)[499-lastWordsMax:499]},
		{"a tail that was cut", strings.Repeat("x", 3*tailBytes) + " end ", "end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := progress{s: &Server{o: Options{Secrets: secrets}}}
			for i := range len(c.text) {
				p.say([]byte(c.text[i : i+1]))
				if len(c.text) > 200 {
					continue
				}
				if words := p.words(); strings.Contains(words, "corr") {
					t.Fatalf("after %d bytes the words are %q", i+1, words)
				}
			}
			if got := p.words(); got != c.want {
				t.Errorf("the words are %q, want %q", got, c.want)
			}
		})
	}
}

// A provider that is asked again after a while is no mute wait
// (avante-corp/avante.nvim#2761), nor an event that clients do not know.
func TestWaitForTheProviderIsShown(t *testing.T) {
	waits := make(chan struct{})
	w := newWorld(t, setup{llm: llmFunc(func(ctx context.Context, _ agent.Request, on func(agent.Delta)) (agent.Response, error) {
		on(agent.Delta{Waits: "host limits the rate of requests, asked again in 7s"})
		<-waits
		on(agent.Delta{Text: "hello "})
		return agent.Response{Text: "hello ", FinishReason: "stop"}, ctx.Err()
	}), init: lsptest.Init{Features: []string{"runEvents"}}})
	p := w.StartCommand("agentls.ask", obj{"prompt": "hi", "runId": "r"}, "tok")
	w.Await("a report of the wait", func() bool {
		list := w.progress("tok")
		return len(list) > 0 && list[len(list)-1].Message == "step 1 · host limits the rate of requests, asked again in 7s"
	})
	close(waits)
	result[agent.Result](t, p)
	if kinds := kindsOf(w.events("r")); !slices.Equal(kinds, []string{"queued", "started", "text", "finished"}) {
		t.Errorf("events %v", kinds)
	}
}

// llmFunc is a model made of its Complete.
type llmFunc func(ctx context.Context, req agent.Request, on func(agent.Delta)) (agent.Response, error)

func (f llmFunc) Complete(ctx context.Context, req agent.Request, on func(agent.Delta)) (agent.Response, error) {
	return f(ctx, req, on)
}

func TestAWaitIsShownUntilTheAnswerBegins(t *testing.T) {
	for kind, want := range map[agent.EventKind]string{agent.EventText: "step 1 · one", agent.EventReasoning: "step 1", agent.EventStep: "step 2", agent.EventUsage: "step 1 · busy"} {
		p := progress{s: &Server{o: Options{Secrets: mcp.NewSecrets()}}}
		p.note(pending{Event: agent.Event{Kind: agent.EventStep, Step: 1}})
		p.note(pending{Event: agent.Event{Kind: agent.EventWaits}, delta: []byte("busy")})
		p.note(pending{Event: agent.Event{Kind: kind, Step: 2}, delta: []byte("one ")})
		if got := p.message(); got != want {
			t.Errorf("after %s: %q, want %q", kind, got, want)
		}
	}
}

// While a plan runs the progress says how far it is, and which steps run.
func TestProgressOfAPlanAndItsParts(t *testing.T) {
	p := &progress{s: New(testOptions(t)), step: 1, tail: []byte("some words of the plan ")}
	step := func(title string, s agent.StepStatus) agent.PlanStep { return agent.PlanStep{Title: title, Status: s} }
	call := func(part string, s agent.ToolCallState) pending {
		return pending{Event: agent.Event{Kind: agent.EventToolCall, ToolCall: &agent.ToolCallEvent{Tool: "edit_file", Part: part, State: s}}}
	}
	for _, c := range []struct {
		e    pending
		want string
	}{
		{call("", agent.ToolRunning), "step 1 · edit_file · some words of the plan"},
		{pending{Event: agent.Event{Kind: agent.EventPlan, Plan: &agent.PlanState{Steps: []agent.PlanStep{step("A", "running"), step("[b](x)\n", "running"), step("C", "pending")}}}}, "plan 0/3: A · [b] (x)"},
		{pending{Event: agent.Event{Kind: agent.EventStep, Step: 7, Part: "step 2"}}, "plan 0/3: A · [b] (x)"},
		{call("reviewer 2", agent.ToolRunning), "plan 0/3: A · [b] (x) · reviewer 2: edit_file"},
		{call("reviewer 2", agent.ToolCallState(agent.Completed)), "plan 0/3: A · [b] (x)"},
		{pending{Event: agent.Event{Kind: agent.EventPlan, Plan: &agent.PlanState{Steps: []agent.PlanStep{step("A", "failed"), step("B", "completed"), step("C", "skipped")}}}}, "step 1 · some words of the plan"},
		{pending{Event: agent.Event{Kind: agent.EventStep, Step: 2}}, "step 2 · some words of the plan"},
	} {
		p.note(c.e)
		if got := p.message(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e.Event, got, c.want)
		}
	}
}
