package lsp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// last gives the text of a request's last message.
func last(req agent.Request) string { return req.Messages[len(req.Messages)-1].Text }

// blockOn is a model that hangs on prompts that hold the word, and answers the
// others with "fine".
func blockOn(t testing.TB, word string) *agenttest.LLM {
	return agenttest.NewScript(t, func(_ int, req agent.Request) agenttest.Step {
		if strings.Contains(last(req), word) {
			return agenttest.Step{Text: []string{"partial "}, Block: true}
		}
		return agenttest.Text("fine")
	})
}

func TestAskAnswers(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Step{Text: []string{"Hello ", "there."}})})
	r := result[agent.Result](t, w.ask("hi", obj{"session": "s", "runId": "r"}))
	if r.Status != "completed" || r.Text != "Hello there." || r.RunID != "r" || r.Session != "s" || r.StopReason != "end_turn" {
		t.Errorf("result %+v", r)
	}
	r = result[agent.Result](t, w.StartCommand("agentls.ask", "a bare string", nil))
	if r.Text != "done" || len(r.RunID) != 32 || len(r.Session) != 32 {
		t.Errorf("result %+v", r)
	}
}

// The four ways to cancel (CONTRACT §5). ndjson of a run that was cancelled:
// -32800 with its ids, the next prompt works.
func TestCancel(t *testing.T) {
	for _, c := range []struct {
		name   string
		cancel func(w *world, p *lsptest.Pending)
	}{
		{"request", func(_ *world, p *lsptest.Pending) { p.Cancel() }},
		{"progress", func(w *world, _ *lsptest.Pending) { w.Notify("window/workDoneProgress/cancel", obj{"token": "tok"}) }},
		{"command", func(w *world, _ *lsptest.Pending) {
			if got := commandAs[map[string][]string](w, "agentls.cancel", obj{"runId": "r1"}); !slices.Equal(got["cancelled"], []string{"r1"}) {
				w.t.Errorf("cancelled %v", got)
			}
		}},
		{"command for all", func(w *world, _ *lsptest.Pending) {
			if got := commandAs[map[string][]string](w, "agentls.cancel", nil); !slices.Equal(got["cancelled"], []string{"r1"}) {
				w.t.Errorf("cancelled %v", got)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			llm := blockOn(t, "slow")
			w := newWorld(t, setup{llm: llm})
			p := w.StartCommand("agentls.ask", obj{"prompt": "slow", "session": "s", "runId": "r1"}, "tok")
			llm.Await(1)
			start := time.Now()
			c.cancel(w, p)
			err := failure(t, p, -32800)
			if d := decodeAs[runData](t, err.Data); d.RunID != "r1" || d.Session != "s" {
				t.Errorf("data %s", err.Data)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("the cancel took %v", took)
			}
			if list := w.progress("tok"); list[0].Kind != "begin" || list[len(list)-1].Kind != "end" || list[len(list)-1].Message != "cancelled" {
				t.Errorf("progress %+v", list)
			}
			if r := result[agent.Result](t, w.ask("next", obj{"session": "s"})); r.Text != "fine" {
				t.Errorf("after the cancel: %+v", r)
			}
			if got := commandAs[map[string][]string](w, "agentls.cancel", nil); got["cancelled"] == nil || len(got["cancelled"]) > 0 {
				t.Errorf("a cancel when nothing runs: %v", got)
			}
		})
	}
}

// The fourth way: the end of the connection. The client gets its answer.
func TestEndOfConnectionCancels(t *testing.T) {
	llm := blockOn(t, "slow")
	w := newWorld(t, setup{llm: llm})
	p := w.ask("slow", nil)
	detached := result[startedInfo](t, w.ask("slow", obj{"detached": true, "runId": "d"}))
	llm.Await(2)
	w.Close()
	failure(t, p, -32800)
	if code, err := w.Wait(); code != 0 || err != nil {
		t.Errorf("Serve: %d %v", code, err)
	}
	if list := w.server.runs.infos(); len(list) != 2 || list[0].Status != runCancelled || list[1].RunID != detached.RunID || list[1].Status != runCancelled {
		t.Errorf("runs %+v", list)
	}
}

// A cancel hits its own run alone, and one that waits never runs.
func TestCancelWhileQueued(t *testing.T) {
	llm := blockOn(t, "slow")
	w := newWorld(t, setup{llm: llm, init: lsptest.Init{Features: []string{"runEvents"}}})
	first := w.ask("slow", obj{"session": "s", "runId": "r1"})
	second := w.ask("never", obj{"session": "s", "runId": "r2"})
	third := w.ask("next", obj{"session": "s", "runId": "r3"})
	beside := w.ask("beside", obj{"session": "t", "runId": "r4"})
	if r := result[agent.Result](t, beside); r.Text != "fine" {
		t.Errorf("another session waited: %+v", r)
	}
	llm.Await(2)
	w.awaitRuns("a queue", func(list []runInfo) bool {
		return len(list) == 4 && list[0].Status == runRunning && list[1].Status == runQueued && list[2].Status == runQueued
	})
	second.Cancel()
	failure(t, second, -32800)
	if kinds := kindsOf(w.events("r2")); !slices.Equal(kinds, []string{"queued", "finished"}) {
		t.Errorf("a run cancelled while queued has the events %v", kinds)
	}
	select {
	case <-first.Done():
		t.Error("the cancel of a queued run ended the one before it")
	default:
	}
	first.Cancel()
	failure(t, first, -32800)
	if r := result[agent.Result](t, third); r.Text != "fine" {
		t.Errorf("the run behind them: %+v", r)
	}
	for _, req := range llm.Requests() {
		if strings.Contains(last(req), "never") {
			t.Error("a run cancelled while queued was run")
		}
	}
}

func kindsOf(list []event) (kinds []string) {
	for _, e := range list {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestQueueKeepsTheOrderOfTheRequests(t *testing.T) {
	const n = 20
	llm := agenttest.NewScript(t, func(_ int, req agent.Request) agenttest.Step { return agenttest.Text("to " + last(req)) })
	w := newWorld(t, setup{llm: llm})
	var want []string
	var asked []*lsptest.Pending
	for i := range n {
		prompt := "prompt " + string(rune('a'+i))
		want = append(want, prompt)
		asked = append(asked, w.ask(prompt, obj{"session": "s"}))
	}
	for _, p := range asked {
		result[agent.Result](t, p)
	}
	var got []string
	for _, req := range llm.Requests() {
		got = append(got, last(req))
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %q", got)
	}
	if list := w.runs(); len(list) != n || list[0].Status != runCompleted || list[0].Prompt != want[0] {
		t.Errorf("runs %+v", list)
	}
}

// CONTRACT §5: seq from 1 without gaps, `finished` last, then the progress'
// end, then the response.
func TestEventsAndTheirOrder(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Step{Text: []string{"a\x1b", "b ", "c"}, Reasoning: []string{"why"}, Usage: agent.Usage{TotalTokens: 3}})
	w := newWorld(t, setup{llm: llm, init: lsptest.Init{Features: []string{"runEvents"}}})
	p := w.StartCommand("agentls.ask", obj{"prompt": "hi", "runId": "r", "session": "s"}, 7)
	result[agent.Result](t, p)
	all := w.All() // everything is here, the response came behind it
	var text, order []string
	for _, n := range all {
		switch n.Method {
		case "agentls/runEvent":
			e := decodeAs[event](t, n.Params)
			order = append(order, e.Kind)
			if e.RunID != "r" || e.Session != "s" {
				t.Errorf("an event of %q in %q", e.RunID, e.Session)
			}
			if e.Kind == "text" {
				text = append(text, e.Delta)
			}
		case "$/progress":
			order = append(order, "progress")
		}
	}
	for i, e := range w.events("r") {
		if e.Seq != i+1 {
			t.Errorf("event %d has seq %d", i, e.Seq)
		}
	}
	if got := strings.Join(text, ""); got != "a\x1bb c" {
		t.Errorf("text %q, want the model's as it is", got)
	}
	n := len(order)
	if n < 6 || order[n-2] != "finished" || order[n-1] != "progress" || slices.Index(order, "queued") > slices.Index(order, "started") {
		t.Errorf("order %v", order)
	}
}

func TestStockClientGetsNoEvents(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	result[agent.Result](t, w.ask("hi", nil))
	if n := len(w.Notifications("agentls/runEvent")); n > 0 {
		t.Errorf("%d events to a client that announced none", n)
	}
}

// agentclientprotocol/claude-agent-acp#680
func TestRunThatDoesNotReactIsAnswered(t *testing.T) {
	llm := &deafLLM{release: make(chan struct{})}
	w := newWorld(t, setup{llm: llm})
	t.Cleanup(func() { close(llm.release) }) // before the world's own
	p := w.ask("hi", obj{"session": "s", "runId": "r"})
	poll(t, "call of the model", func() bool { llm.mu.Lock(); defer llm.mu.Unlock(); return llm.asked > 0 })
	start := time.Now()
	p.Cancel()
	failure(t, p, -32800)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("answered after %v", took)
	}
	if list := w.runs(); list[0].Status != runCancelled {
		t.Errorf("runs %+v", list)
	}
}

func TestFailedRun(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Step{Err: &agent.ProviderError{Kind: agent.KindRateLimit, Message: "The provider is busy (sk-secret-123456789).", Retryable: true}})
	w := newWorld(t, setup{llm: llm, init: lsptest.Init{Features: []string{"runEvents"}}})
	err := failure(t, w.ask("hi", obj{"runId": "r", "session": "s"}), -32803)
	if d := decodeAs[runData](t, err.Data); d != (runData{"r", "s", agent.KindRateLimit, true}) {
		t.Errorf("data %s", err.Data)
	}
	if err.Message != "The provider is busy ([redacted])." {
		t.Errorf("message %q", err.Message)
	}
	list := w.events("r")
	if e := list[len(list)-1]; e.Status != "failed" || e.Error == nil || e.Error.Kind != agent.KindRateLimit || e.Error.Message != err.Message {
		t.Errorf("finished %+v", e)
	}
}

func TestProviderThatCannotBeUsed(t *testing.T) {
	w := newWorld(t, setup{refuse: &agent.ProviderError{Kind: agent.KindConfig, Message: "no model"}})
	err := failure(t, w.ask("hi", nil), -32803)
	if d := decodeAs[runData](t, err.Data); d.Kind != agent.KindConfig || !strings.Contains(err.Message, "no model") {
		t.Errorf("%v", err)
	}
}

func TestPanicEndsItsRunOnly(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Step{Panic: "boom"})
	w := newWorld(t, setup{llm: llm})
	err := failure(t, w.ask("hi", obj{"session": "s"}), -32803)
	if d := decodeAs[runData](t, err.Data); d.Kind != agent.KindInternal {
		t.Errorf("%v", err)
	}
	if r := result[agent.Result](t, w.ask("next", obj{"session": "s"})); r.Text != "done" {
		t.Errorf("after the panic: %+v", r)
	}
}

// eca#554: the run ends before its first token.
func TestCancelBeforeTheFirstToken(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Step{Block: true})
	w := newWorld(t, setup{llm: llm})
	p := w.ask("hi", nil)
	llm.Await(1)
	p.Cancel()
	failure(t, p, -32800)
}

func TestFinishedRunsAreForgotten(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewScript(t, func(int, agent.Request) agenttest.Step { return agenttest.Text("x") })})
	for range keepFinished + 5 {
		result[agent.Result](t, w.ask("hi", nil))
	}
	if n := len(w.runs()); n != keepFinished {
		t.Errorf("%d runs are listed, want %d", n, keepFinished)
	}
}

func TestRunIDInUse(t *testing.T) {
	llm := blockOn(t, "slow")
	w := newWorld(t, setup{llm: llm})
	first := w.ask("slow", obj{"runId": "r"})
	if err := failure(t, w.ask("other", obj{"runId": "r"}), -32602); !strings.Contains(err.Message, "in use") {
		t.Errorf("%v", err)
	}
	first.Cancel()
	failure(t, first, -32800)
}

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

// What a client that does not read has not taken is merged, and all of it is
// there when it reads again.
func TestDeltasMergeWhileTheClientIsBehind(t *testing.T) {
	const n = 20000
	deltas := make([]string, n)
	for i := range deltas {
		deltas[i] = "0123456789"
	}
	llm := agenttest.NewLLM(t, agenttest.Step{Text: deltas})
	w := newWorld(t, setup{llm: llm, init: lsptest.Init{Features: []string{"runEvents"}}})
	w.reading.Lock()
	p := w.ask("hi", obj{"runId": "r"})
	poll(t, "end of the run", func() bool {
		list := w.server.runs.infos()
		return len(list) == 1 && list[0].Status == runCompleted
	})
	w.reading.Unlock()
	result[agent.Result](t, p)
	var text strings.Builder
	list := w.events("r")
	for i, e := range list {
		if e.Seq != i+1 {
			t.Fatalf("event %d has seq %d", i, e.Seq)
		}
		text.WriteString(e.Delta)
	}
	if text.Len() != 10*n {
		t.Errorf("%d characters came, want %d", text.Len(), 10*n)
	}
	if len(list) > n/4 {
		t.Errorf("%d events for %d deltas that nobody read", len(list), n)
	}
}
