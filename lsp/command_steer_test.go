package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// heldLLM answers its first request when release is closed, with first.
func heldLLM(t testing.TB, first agenttest.Step) (llm *agenttest.LLM, release func()) {
	hold := make(chan struct{})
	first.Wait = hold
	return agenttest.NewLLM(t, first), sync.OnceFunc(func() { close(hold) })
}

// steer adds a text to a run.
func (w *world) steer(runID, text string) steerInfo {
	w.t.Helper()
	return commandAs[steerInfo](w, "agentls.steer", obj{"runId": runID, "text": text})
}

// taken steers, and fails where that is not taken.
func (w *world) taken(runID, text string) {
	w.t.Helper()
	if info := w.steer(runID, text); !info.Accepted || info.Reason != "" {
		w.t.Errorf("%q is not taken: %+v", text, info)
	}
}

// refused steers, and fails where that is taken or another reason is given.
func (w *world) refused(runID, text, reason string) {
	w.t.Helper()
	if info := w.steer(runID, text); info.Accepted || !strings.Contains(info.Reason, reason) {
		w.t.Errorf("%q: %+v, want the reason %q", text, info, reason)
	}
}

// What is added to a run that waits stands below its prompt.
func TestSteerWhileQueued(t *testing.T) {
	llm := blockOn(t, "slow")
	// To a stock client answers are told, some time after they were given.
	w := newWorld(t, setup{llm: llm, files: map[string]string{"b.txt": "beta\n"}, init: lsptest.Init{Features: []string{"runEvents"}}})
	first := w.ask("slow", obj{"session": "s", "runId": "r1"})
	llm.Await(1)
	second := w.ask("do a", obj{"session": "s", "runId": "r2"})
	action := w.ask("", obj{"session": "s", "runId": "r3", "action": "explain", "document": obj{"uri": lsptest.FileURI(w.root + "/b.txt")}})
	w.taken("r2", "and b")
	w.taken("r2", "see @workspace:file://b.txt")
	w.taken("r3", "in one word")
	if list := w.runs(); list[1].Status != runQueued || list[1].Prompt != "do a and b see @workspace:file://b.txt" || !strings.HasSuffix(list[2].Prompt, "in one word") {
		t.Errorf("runs %+v", list)
	}
	w.refused("r2", strings.Repeat("é", promptMax-10), "more than 1000000 characters")
	first.Cancel()
	failure(t, first, -32800)
	r := result[agent.Result](t, second)
	if len(r.Mentions) != 1 || r.Mentions[0].Status != "expanded" {
		t.Errorf("mentions %+v", r.Mentions)
	}
	result[agent.Result](t, action)
	asked := llm.Requests()
	if got := last(asked[1]); !strings.HasPrefix(got, "do a\n\nand b\n\nsee @workspace:file://b.txt\n\n<resource ") {
		t.Errorf("the prompt is %q", got)
	}
	if got := last(asked[2]); !strings.Contains(got, "The user adds:\n\nin one word\n") {
		t.Errorf("the prompt is %q", got)
	}
	w.refused("r1", "late", "the run has ended (cancelled)")
	w.refused("r2", "late", "the run has ended (completed)")
	w.refused("nosuch", "late", "no run has this id")
	if told := w.messages("window/showMessage"); len(told) > 0 {
		t.Errorf("told %q", told)
	}
}

// What is added to a run at work comes at its next turn, its mentions read and
// told of.
func TestSteerARun(t *testing.T) {
	llm, release := heldLLM(t, agenttest.Text("one"))
	defer release()
	w := newWorld(t, setup{llm: llm, init: lsptest.Init{Features: []string{"runEvents"}}})
	p := w.ask("go", obj{"session": "s", "runId": "r"})
	llm.Await(1)
	w.taken("r", "and read @workspace:file://README.md")
	if list := w.runs(); list[0].Prompt != "go" {
		t.Errorf("runs %+v", list)
	}
	release()
	r := result[agent.Result](t, p)
	if r.Status != "completed" || r.Text != "one\n\ndone" || r.Steps != 2 || len(r.Mentions) != 1 {
		t.Errorf("result %+v", r)
	}
	if got := last(llm.Last()); !strings.HasPrefix(got, "and read @workspace:file://README.md\n\n<resource ") || !strings.Contains(got, "# Hello") {
		t.Errorf("the model got %q", got)
	}
	kinds := strings.Join(kindsOf(w.events("r")), " ")
	if !strings.HasSuffix(kinds, "text mention text finished") {
		t.Errorf("events %s", kinds)
	}
	lines := commandAs[[]agent.AuditEntry](w, "agentls.audit", nil)
	if len(lines) != 1 || lines[0].DecidedBy != "mention" || lines[0].RunID != "r" {
		t.Errorf("audit %+v", lines)
	}
}

func TestSteerWhileAPersonIsAsked(t *testing.T) {
	llm := callsTool(t)
	w := newWorld(t, setup{llm: llm, options: asking(600), init: lsptest.Init{Features: []string{"approvals"}}})
	answer := make(chan struct{})
	w.On("agentls/approve", func(json.RawMessage) (any, error) { <-answer; return obj{"decision": "once"}, nil })
	p := w.ask("go", obj{"runId": "r"})
	w.awaitRuns("question", func(list []runInfo) bool { return list[0].Status == runWaiting })
	w.taken("r", "briefly")
	close(answer)
	result[agent.Result](t, p)
	if got := last(llm.Requests()[1]); got != "briefly" {
		t.Errorf("the model got %q", got)
	}
}

// A prompt buffer and an answer document have both answers, and what was added.
func TestSteeredAnswers(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint("buffer, stream ", stream), func(t *testing.T) {
			llm, release := heldLLM(t, agenttest.Text("one"))
			defer release()
			w, uri := sendWorld(t, setup{llm: llm}, "## You\n\ngo\n")
			p := w.send(uri, obj{"stream": stream})
			llm.Await(1)
			w.taken(w.runs()[0].RunID, "and on")
			release()
			result[agent.Result](t, p)
			if got, want := w.Text(uri), "## You\n\ngo\n\n## Agent\n\none\n\ndone\n\n## You\n\n"; got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
	t.Run("document", func(t *testing.T) {
		llm, release := heldLLM(t, agenttest.Text("one"))
		defer release()
		w := newWorld(t, setup{llm: llm})
		p := w.ask("go", obj{"session": "s1", "runId": "r"})
		llm.Await(1)
		w.taken("r", "and on")
		release()
		result[agent.Result](t, p)
		w.awaitFile(w.answerFile("s1"), "## You\n\ngo\n\nand on\n\n## Agent\n\none\n\ndone\n\n## You\n")
	})
}

// What came too late for the model is told, and not lost: the session has it.
func TestSteerThatIsNotRead(t *testing.T) {
	busy := &agent.ProviderError{Kind: agent.KindRateLimit, Message: "busy"}
	for _, c := range []struct {
		name   string
		step   agenttest.Step
		limits obj
		end    func(w *world, p *lsptest.Pending, release func())
	}{
		{"at a limit", agenttest.Text("one"), obj{"steps": 1}, func(w *world, p *lsptest.Pending, release func()) {
			release()
			result[agent.Result](w.t, p)
		}},
		{"in a failure", agenttest.Step{Err: busy}, nil, func(w *world, p *lsptest.Pending, release func()) {
			release()
			failure(w.t, p, -32803)
		}},
		{"in a cancel", agenttest.Text("one"), nil, func(w *world, p *lsptest.Pending, _ func()) {
			p.Cancel()
			failure(w.t, p, -32800)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			llm, release := heldLLM(t, c.step)
			defer release()
			w := newWorld(t, setup{llm: llm, options: obj{"limits": c.limits}, init: lsptest.Init{Features: []string{"runEvents"}}})
			p := w.ask("go", obj{"session": "s", "runId": "r"})
			llm.Await(1)
			w.taken("r", "one more thing\nwith sk-secret-123456789")
			c.end(w, p, release)
			want := "agentls: the run of “go” ended before the model read “one more thing with [redacted]”; send it again"
			w.AwaitNotification("window/showMessage", 1)
			if told := w.messages("window/showMessage"); len(told) != 1 || told[0] != want {
				t.Errorf("told %q", told)
			}
			result[agent.Result](t, w.ask("go on", obj{"session": "s"}))
			var texts []string
			for _, m := range llm.Last().Messages {
				texts = append(texts, m.Text)
			}
			if all := strings.Join(texts, "\n"); !strings.Contains(all, "one more thing\n") {
				t.Errorf("the model sees\n%s", all)
			}
			w.refused("r", "late", "the run has ended")
		})
	}
}

func TestSteerOfACancelledRun(t *testing.T) {
	llm := &deafLLM{release: make(chan struct{})}
	w := newWorld(t, setup{llm: llm, before: func(s *Server) { s.runs.grace = lsptest.Deadline }})
	t.Cleanup(func() { close(llm.release) }) // before the world's own
	w.ask("hi", obj{"runId": "r"})
	poll(t, "call of the model", func() bool { llm.mu.Lock(); defer llm.mu.Unlock(); return llm.asked > 0 })
	commandAs[any](w, "agentls.cancel", nil)
	w.refused("r", "more", "is being cancelled")
}

// Steers from everywhere while runs end: each is read by the model of its run,
// told as unread, or was refused; none twice.
func TestSteerRacesWithTheEnd(t *testing.T) {
	llm := agenttest.NewScript(t, func(n int, _ agent.Request) agenttest.Step {
		if n%3 > 0 {
			return agenttest.Call(agent.ToolCall{ID: fmt.Sprint("c", n), Name: "list_dir", Arguments: fmt.Sprintf(`{"path":".","n":%d}`, n)})
		}
		return agenttest.Text("done")
	})
	w := newWorld(t, setup{llm: llm, options: obj{"limits": obj{"steps": 6}}})
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := map[string]bool{}
	for i := range 4 {
		id := fmt.Sprint("r", i)
		p := w.ask(fmt.Sprintf("<%s>", id), obj{"session": fmt.Sprint("s", i%2), "runId": id})
		wg.Go(func() { // ends when the run does, which the limit ends
			for k := 0; ; k++ {
				text := fmt.Sprintf("<%s %d>", id, k)
				if !w.steer(id, text).Accepted {
					return
				}
				mu.Lock()
				taken[text] = true
				mu.Unlock()
			}
		})
		wg.Go(func() { result[agent.Result](t, p) })
	}
	wg.Wait()
	for i := range 2 {
		result[agent.Result](t, w.ask("last", obj{"session": fmt.Sprint("s", i)}))
		var all strings.Builder
		for _, m := range llm.Last().Messages {
			if m.Role == agent.User {
				all.WriteString(m.Text)
			}
		}
		for text := range taken {
			mine := strings.HasPrefix(text, fmt.Sprintf("<r%d ", i)) || strings.HasPrefix(text, fmt.Sprintf("<r%d ", i+2))
			if n := strings.Count(all.String(), text); mine && n != 1 || !mine && n != 0 {
				t.Errorf("%s stands %d times in session %d", text, n, i)
			}
		}
	}
}
