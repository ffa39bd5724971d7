package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

func TestAnswersSetting(t *testing.T) {
	for _, c := range []struct {
		name     string
		answers  string
		features []string
		ask      obj
		document bool
		message  bool
	}{
		{"document", "document", nil, nil, true, false},
		{"message", "message", nil, nil, false, true},
		{"message, detached", "message", nil, obj{"detached": true}, false, true},
		{"none", "none", nil, nil, false, false},
		{"none, detached", "none", nil, obj{"detached": true}, false, false},
		{"a client with run events", "document", []string{"runEvents"}, nil, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := "the first lines\nof an answer " + strings.Repeat("x", 400) + " END"
			w := newWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Text(answer)), options: obj{"answers": c.answers}, init: lsptest.Init{Features: c.features}})
			result[struct{}](t, w.ask("hi", c.ask))
			w.awaitRuns("end", func(list []runInfo) bool { return list[0].Status == runCompleted })
			w.awaitKept()
			files, _ := filepath.Glob(w.answerFile("*"))
			told := w.messages("window/showMessage")
			if (len(files) == 1) != c.document || (len(w.shown()) == 1) != c.document || (len(told) == 1) != c.message {
				t.Errorf("files %q, shown %+v, told %q", files, w.shown(), told)
			}
			if c.message && (!strings.HasPrefix(told[0], "agentls: the first lines of an answer xxx") || strings.Contains(told[0], "END")) {
				t.Errorf("told %q", told)
			}
		})
	}
}

// awaitKept waits until no run has anything to keep, and all that was told
// meanwhile has come.
func (w *world) awaitKept() {
	w.t.Helper()
	poll(w.t, "rest", func() bool {
		w.server.runs.mu.Lock()
		defer w.server.runs.mu.Unlock()
		return len(w.server.runs.keeps) == 0
	})
	w.runs()
}

// The client has its answer however long it takes to show the document, or
// never does; the next answers do not wait for it either.
func TestSlowToShow(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), answers: map[string]lsptest.Answer{
		"window/showDocument": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent },
	}})
	start := time.Now()
	for i := range 3 {
		result[agent.Result](t, w.ask("hi", obj{"session": fmt.Sprint("s", i)}))
		w.AwaitRequest("window/showDocument", i+1)
	}
	if took := time.Since(start); took > showTime {
		t.Errorf("three answers took %v", took)
	}
	// The end does not wait for it.
	start = time.Now()
	w.Shutdown()
	if took := time.Since(start); took > showTime {
		t.Errorf("the end took %v", took)
	}
}

func TestAnswerDocumentIsNotShown(t *testing.T) {
	for name, answer := range map[string]lsptest.Answer{
		"refused": func(json.RawMessage) (any, error) { return obj{"success": false}, nil },
		"unknown": func(json.RawMessage) (any, error) { return nil, &lsptest.Error{Code: -32601, Message: "nope"} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Text("the answer"))})
			w.On("window/showDocument", answer)
			result[agent.Result](t, w.ask("hi", obj{"session": "s"}))
			w.AwaitNotification("window/showMessage", 1)
			if told := w.messages("window/showMessage"); told[0] != "agentls: the answer (The whole is in "+w.answerFile("s")+")" {
				t.Errorf("told %q", told)
			}
		})
	}
}

func TestAnswerThatCannotBeKept(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Text("the answer"))})
	if err := os.MkdirAll(w.state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(w.answerFile("s")), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := result[agent.Result](t, w.ask("hi", obj{"session": "s"})); r.Text != "the answer" {
		t.Errorf("%+v", r)
	}
	w.AwaitNotification("window/showMessage", 1)
	if told := w.messages("window/showMessage"); !strings.HasPrefix(told[0], "agentls: the answer (This answer cannot be kept: ") {
		t.Errorf("told %q", told)
	}
}

// A cancel is answered in time though the document is open in an editor that
// does not answer, and the next prompt of the session works.
func TestCancelDoesNotWaitForTheDocument(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Text("one"), agenttest.Step{Text: []string{"partial "}, Block: true})
	w := newWorld(t, setup{llm: llm})
	result[agent.Result](t, w.ask("first", obj{"session": "s"}))
	file := w.answerFile("s")
	const first = "## You\n\nfirst\n\n## Agent\n\none\n\n## You\n"
	w.awaitFile(file, first)
	w.Open(lsptest.FileURI(file), "markdown", first)
	w.On("workspace/applyEdit", func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
	p := w.ask("second", obj{"session": "s"})
	w.awaitProgress("partial")
	start := time.Now()
	p.Cancel()
	failure(t, p, -32800)
	r := result[agent.Result](t, w.ask("third", obj{"session": "s"}))
	if took := time.Since(start); took > confirmWithin || r.Text != "done" {
		t.Errorf("%+v after %v", r, took)
	}
	w.awaitKept() // in their order, beside what takes no edit
	raw, err := os.ReadFile(w.answerFile("s+2"))
	if err != nil || !strings.HasSuffix(string(raw), "## You\n\nsecond\n\n## Agent\n\npartial\n\n*(cancelled)*\n\n## You\n\nthird\n\n## Agent\n\ndone\n\n## You\n") {
		t.Errorf("%q %v", raw, err)
	}
}

// What was said until the connection ended is kept before the process goes.
func TestEndOfConnectionKeepsWhatWasSaid(t *testing.T) {
	llm := agenttest.NewScript(t, func(_ int, req agent.Request) agenttest.Step {
		if last(req) == "hi" {
			return agenttest.Step{Text: []string{"partial "}, Block: true}
		}
		return agenttest.Step{Block: true}
	})
	w := newWorld(t, setup{llm: llm})
	p := w.ask("hi", obj{"session": "s"})
	silent := w.ask("never said", obj{"session": "t"})
	llm.Await(2)
	w.awaitProgress("partial")
	w.Close()
	failure(t, p, -32800)
	failure(t, silent, -32800)
	if code, err := w.Wait(); code != 0 || err != nil {
		t.Errorf("Serve: %d %v", code, err)
	}
	if raw, err := os.ReadFile(w.answerFile("s")); err != nil || string(raw) != "## You\n\nhi\n\n## Agent\n\npartial\n\n*(cancelled)*\n\n## You\n" {
		t.Errorf("%q %v", raw, err)
	}
	if _, err := os.Stat(w.answerFile("t")); err == nil {
		t.Error("a document of nothing")
	}
}
