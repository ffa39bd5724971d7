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
