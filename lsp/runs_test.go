package lsp

import (
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

// The four ways to cancel (CONTRACT §5). ndjson of a run that was cancelled:
// -32800 with its ids, the next prompt works.
func TestCancel(t *testing.T) {
	for _, c := range []struct {
		name   string
		token  any
		cancel func(w *world, p *lsptest.Pending)
	}{
		{"request", "tok", func(_ *world, p *lsptest.Pending) { p.Cancel() }},
		{"progress", "tok", func(w *world, _ *lsptest.Pending) { w.Notify("window/workDoneProgress/cancel", obj{"token": "tok"}) }},
		{"progress by a number", 7.0, func(w *world, _ *lsptest.Pending) { w.Notify("window/workDoneProgress/cancel", obj{"token": 7}) }},
		{"command", "tok", func(w *world, _ *lsptest.Pending) {
			if got := commandAs[map[string][]string](w, "agentls.cancel", obj{"runId": "r1"}); !slices.Equal(got["cancelled"], []string{"r1"}) {
				w.t.Errorf("cancelled %v", got)
			}
		}},
		{"command for all", "tok", func(w *world, _ *lsptest.Pending) {
			if got := commandAs[map[string][]string](w, "agentls.cancel", nil); !slices.Equal(got["cancelled"], []string{"r1"}) {
				w.t.Errorf("cancelled %v", got)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			llm := blockOn(t, "slow")
			w := newWorld(t, setup{llm: llm})
			p := w.StartCommand("agentls.ask", obj{"prompt": "slow", "session": "s", "runId": "r1"}, c.token)
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
			if list := w.progress(c.token); list[0].Kind != "begin" || list[len(list)-1].Kind != "end" || list[len(list)-1].Message != "cancelled" {
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

func TestPanicOverARunsEventsEndsThatRunAlone(t *testing.T) {
	llm := blockOn(t, "slow")
	w := newWorld(t, setup{llm: llm})
	p := w.StartCommand("agentls.ask", obj{"prompt": "slow", "session": "s", "runId": "r1"}, nil)
	llm.Await(1)
	w.server.runs.mu.Lock()
	x := w.server.runs.list[0]
	w.server.runs.mu.Unlock()
	x.box.put(pending{Event: agent.Event{Kind: agent.EventToolCall}}) // of no call
	if d := decodeAs[runData](t, failure(t, p, -32803).Data); d.RunID != "r1" {
		t.Errorf("data %+v", d)
	}
	if r := result[agent.Result](t, w.ask("next", obj{"session": "s"})); r.Text != "fine" {
		t.Errorf("the next run: %+v", r)
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
