package lsp

import (
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

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

// An answer that broke off is asked for again: what streamed of it is marked,
// and what is kept as the answer is the whole one alone.
func TestAnswerThatBreaksOffIsMarked(t *testing.T) {
	steps := func() *agenttest.LLM {
		lost := &agent.ProviderError{Kind: agent.KindNetwork, Message: "connection lost", Began: true, Retryable: true}
		return agenttest.NewLLM(t, agenttest.Step{Text: []string{"It sa"}, Err: lost}, agenttest.Text("It says so."))
	}
	const marked = "It sa\n\n*(the answer broke off and is asked for again)*"
	for stream, want := range map[bool]string{true: marked + "\n\nIt says so.", false: "It says so."} {
		w, uri := sendWorld(t, setup{llm: steps()}, "hi\n")
		if r := result[agent.Result](t, w.send(uri, obj{"stream": stream})); r.Text != "It says so." || r.Steps != 2 {
			t.Errorf("result %+v", r)
		}
		if got := w.Text(uri); got != "hi\n\n## Agent\n\n"+want+"\n\n## You\n\n" {
			t.Errorf("stream %v: %q", stream, got)
		}
	}
	w := newWorld(t, setup{llm: steps(), init: lsptest.Init{Features: []string{"runEvents"}}})
	result[agent.Result](t, w.ask("hi", obj{"runId": "r"}))
	told := ""
	for _, e := range w.events("r") {
		if e.Kind == "text" {
			told += e.Delta
		}
	}
	if told != marked+"It says so." {
		t.Errorf("told %q", told)
	}
	w = newWorld(t, setup{llm: steps()})
	result[agent.Result](t, w.ask("hi", obj{"session": "s1"}))
	w.awaitFile(w.answerFile("s1"), "## You\n\nhi\n\n## Agent\n\nIt says so.\n\n## You\n")
}
