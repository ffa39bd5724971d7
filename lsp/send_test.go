package lsp

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// sendWorld is a world with one open prompt buffer.
func sendWorld(t testing.TB, u setup, text string) (w *world, uri string) {
	t.Helper()
	w = newWorld(t, u)
	uri = lsptest.FileURI(w.root + "/chat.agentls.md")
	w.Open(uri, "markdown", text)
	return w, uri
}

func (w *world) send(uri string, more obj) *lsptest.Pending {
	arg := obj{"uri": uri}
	maps.Copy(arg, more)
	return w.StartCommand("agentls.send", arg, nil)
}

func TestSendWritesTheAnswer(t *testing.T) {
	caps := lsptest.Capabilities()
	caps["workspace"].(map[string]any)["workspaceEdit"] = obj{}
	for _, c := range []struct {
		name, text, answer, want string
		at                       any
		init                     lsptest.Init
	}{
		{name: "without headings", text: "hi\n", answer: "Hello.", want: "hi\n\n## Agent\n\nHello.\n\n## You\n\n"},
		{name: "at the end", text: "## You\n\nhi", answer: "Hello.\n", want: "## You\n\nhi\n\n## Agent\n\nHello.\n\n## You\n"},
		{name: "the last block", text: "## You\n\none\n\n## Agent\n\n1\n\n## You\n\ntwo\n", answer: "2", want: "## You\n\none\n\n## Agent\n\n1\n\n## You\n\ntwo\n\n## Agent\n\n2\n\n## You\n\n"},
		{name: "a block in the middle", text: "## You\n\none\n\n## You\n\ntwo\n", at: lsptest.Position{Line: 2}, answer: "1", want: "## You\n\none\n\n## Agent\n\n1\n\n## You\n\ntwo\n"},
		{name: "the second of two alike", text: "## You\n\nx\n\n## Agent\n\n1\n\n## You\n\nx\n", answer: "2", want: "## You\n\nx\n\n## Agent\n\n1\n\n## You\n\nx\n\n## Agent\n\n2\n\n## You\n\n"},
		{name: "escaped", text: "hi", answer: "a\n## You\n![x](y)\n```\n## Agent", want: "hi\n\n## Agent\n\na\n\\## You\n!\\[x](y)\n```\n## Agent\n```\n\n## You\n"},
		{name: "an open fence", text: "## You\n\nlook:\n~~~~ go\nx := 1", answer: "a", want: "## You\n\nlook:\n~~~~ go\nx := 1\n~~~~\n\n## Agent\n\na\n\n## You\n"},
		{name: "CRLF", text: "## You\r\n\r\nhi\r\n", answer: "a\nb", want: "## You\r\n\r\nhi\r\n\r\n## Agent\r\n\r\na\r\nb\r\n\r\n## You\r\n\r\n"},
		{name: "CRLF in the answer", text: "## You\n\nhi\n", answer: "a\r\nb\rc", want: "## You\n\nhi\n\n## Agent\n\na\nb\nc\n\n## You\n\n"},
		{name: "CRLF in both", text: "## You\r\n\r\nhi\r\n", answer: "a\r\nb\rc", want: "## You\r\n\r\nhi\r\n\r\n## Agent\r\n\r\na\r\nb\r\nc\r\n\r\n## You\r\n\r\n"},
		{name: "astral", text: "## You\n\n𝄞 hi 𝄞", answer: "𝄞", want: "## You\n\n𝄞 hi 𝄞\n\n## Agent\n\n𝄞\n\n## You\n"},
		{name: "unversioned edits", text: "hi", answer: "a", want: "hi\n\n## Agent\n\na\n\n## You\n", init: lsptest.Init{Capabilities: caps}},
	} {
		t.Run(c.name, func(t *testing.T) {
			llm := agenttest.NewLLM(t, agenttest.Text(c.answer))
			w, uri := sendWorld(t, setup{llm: llm, init: c.init}, c.text)
			arg := obj{}
			if c.at != nil {
				arg["position"] = c.at
			}
			r := result[agent.Result](t, w.send(uri, arg))
			if r.Text != c.answer && r.Text != strings.TrimSpace(c.answer) {
				t.Errorf("result %+v", r)
			}
			if got := w.Text(uri); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if n := len(w.Requests("workspace/applyEdit")); n != 1 {
				t.Errorf("%d edits", n)
			}
			if told := w.messages("window/showMessage"); len(told) > 0 {
				t.Errorf("told %q", told)
			}
		})
	}
}

// Earlier blocks are never sent again: the session's history is the store.
func TestSendContinuesItsSession(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Text("one"), agenttest.Text("two"))
	w, uri := sendWorld(t, setup{llm: llm}, "## You\n\nfirst\n")
	a := result[agent.Result](t, w.send(uri, nil))
	w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: lsptest.End(w.Text(uri)), End: lsptest.End(w.Text(uri))}, NewText: "second\n"})
	b := result[agent.Result](t, w.send(uri, nil))
	if a.Session != b.Session {
		t.Errorf("sessions %q and %q", a.Session, b.Session)
	}
	req := llm.Last()
	if got := last(req); strings.TrimSpace(got) != "second" || len(req.Messages) != 4 {
		t.Errorf("the model got %q as the last of %d messages", got, len(req.Messages))
	}
}

func TestUntitledBufferIsNewPerOpen(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	const uri = "untitled:Untitled-1"
	var sessions []string
	for range 2 {
		w.Open(uri, "agentls", "hi")
		sessions = append(sessions, result[agent.Result](t, w.send(uri, nil)).Session)
		if got := w.Text(uri); got != "hi\n\n## Agent\n\ndone\n\n## You\n" {
			t.Errorf("the buffer is %q", got)
		}
		w.CloseDocument(uri)
	}
	if sessions[0] == sessions[1] {
		t.Error("an untitled buffer that was opened anew kept its session")
	}
}

// The answer goes where it belongs however the user types meanwhile, and
// nothing of the user's is overwritten.
func TestSendWhileTheUserTypes(t *testing.T) {
	at := func(line, character int) *lsptest.Range {
		p := lsptest.Position{Line: line, Character: character}
		return &lsptest.Range{Start: p, End: p}
	}
	const answer = "\n\n## Agent\n\nanswer\n\n## You\n"
	for _, c := range []struct {
		name  string
		edits []lsptest.TextEdit // each a didChange
		want  string             // "" for: not written
	}{
		{"below", []lsptest.TextEdit{{Range: at(3, 0), NewText: "next thought"}}, "## You\n\nhi" + answer + "\nnext thought"},
		{"right behind", []lsptest.TextEdit{{Range: at(2, 2), NewText: " and more"}}, "## You\n\nhi" + answer + " and more\n"},
		{"above", []lsptest.TextEdit{{Range: at(0, 0), NewText: "# Title\n\n"}}, "# Title\n\n## You\n\nhi" + answer + "\n"},
		{"above and below", []lsptest.TextEdit{{Range: at(0, 0), NewText: "intro\n"}, {Range: at(4, 0), NewText: "next"}}, "intro\n## You\n\nhi" + answer + "\nnext"},
		{"a typo in the prompt", []lsptest.TextEdit{{Range: at(2, 1), NewText: "e"}}, "## You\n\nhei" + answer + "\n"},
		{"the prompt is gone", []lsptest.TextEdit{{Range: &lsptest.Range{Start: lsptest.Position{Line: 0}, End: lsptest.Position{Line: 3}}}}, ""},
		{"its text is gone", []lsptest.TextEdit{{Range: &lsptest.Range{Start: lsptest.Position{Line: 2}, End: lsptest.Position{Line: 2, Character: 2}}}}, ""},
		{"everything is new", []lsptest.TextEdit{{NewText: "other text"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			gate := make(chan struct{})
			llm := agenttest.NewLLM(t, agenttest.Step{Wait: gate, Text: []string{"answer"}})
			w, uri := sendWorld(t, setup{llm: llm}, "## You\n\nhi\n")
			p := w.send(uri, nil)
			llm.Await(1)
			for _, e := range c.edits {
				w.Edit(uri, e)
				w.runs() // it has arrived
			}
			typed := w.Text(uri)
			close(gate)
			if r := result[agent.Result](t, p); r.Text != "answer" {
				t.Errorf("result %+v", r)
			}
			want := c.want
			if want == "" {
				want = typed
				told := w.messages("window/showMessage")
				if len(told) != 1 || !strings.Contains(told[0], "chat.agentls.md") {
					t.Fatalf("told %q", told)
				}
				_, file, _ := strings.Cut(told[0], "it is in ")
				if kept, err := os.ReadFile(file); err != nil || string(kept) != "## You\n\nhi\n\n## Agent\n\nanswer\n\n## You\n" {
					t.Errorf("the answer document is %q, %v", kept, err)
				}
			}
			if got := w.Text(uri); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// A client that types on while an edit is on its way refuses it by its version
// and is asked again.
func TestEditThatComesTooLateIsSentAgain(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Text("answer"))}, "## You\n\nhi\n")
	tries := 0
	w.On("workspace/applyEdit", func(params json.RawMessage) (any, error) {
		if tries++; tries <= 3 {
			w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: lsptest.End(w.Text(uri)), End: lsptest.End(w.Text(uri))}, NewText: fmt.Sprint(tries)})
		}
		return w.Stock("workspace/applyEdit")(params)
	})
	result[agent.Result](t, w.send(uri, nil))
	if got, want := w.Text(uri), "## You\n\nhi\n\n## Agent\n\nanswer\n\n## You\n\n123"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Neovim says that it applied an edit to an old version, and drops it.
func TestEditThatNeovimDropsIsSentAgain(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Text("answer")), init: lsptest.Init{Client: "Neovim"}}, "## You\n\nhi\n")
	tries := 0
	w.On("workspace/applyEdit", func(params json.RawMessage) (any, error) {
		if tries++; tries <= 2 {
			w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: lsptest.End(w.Text(uri)), End: lsptest.End(w.Text(uri))}, NewText: fmt.Sprint(tries)})
			return obj{"applied": true}, nil
		}
		return w.Stock("workspace/applyEdit")(params)
	})
	result[agent.Result](t, w.send(uri, nil))
	if got, want := w.Text(uri), "## You\n\nhi\n\n## Agent\n\nanswer\n\n## You\n\n12"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEditThatFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer lsptest.Answer
		says   string
	}{
		{"refused", func(json.RawMessage) (any, error) { return obj{"applied": false, "failureReason": "read-only"}, nil }, "read-only"},
		{"no such method", func(json.RawMessage) (any, error) { return nil, &lsptest.Error{Code: -32601, Message: "nope"} }, "nope"},
		{"said and not done", func(json.RawMessage) (any, error) { return obj{"applied": true}, nil }, "did not confirm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, uri := sendWorld(t, setup{llm: agenttest.NewLLM(t)}, "hi")
			w.On("workspace/applyEdit", c.answer)
			if r := result[agent.Result](t, w.send(uri, nil)); r.Text != "done" {
				t.Errorf("result %+v", r)
			}
			if told := w.messages("window/showMessage"); len(told) != 1 || !strings.Contains(told[0], c.says) {
				t.Errorf("told %q, want %q", told, c.says)
			}
		})
	}
}

func TestClosedBuffer(t *testing.T) {
	gate := make(chan struct{})
	llm := agenttest.NewLLM(t, agenttest.Step{Wait: gate, Text: []string{"answer"}})
	w, uri := sendWorld(t, setup{llm: llm}, "hi")
	p := w.send(uri, nil)
	llm.Await(1)
	w.CloseDocument(uri)
	w.runs()
	close(gate)
	if r := result[agent.Result](t, p); r.Text != "answer" || len(w.Requests("workspace/applyEdit")) > 0 {
		t.Errorf("result %+v", r)
	}
}

// How a run ended is written too.
func TestSendThatDoesNotComplete(t *testing.T) {
	t.Run("cancelled", func(t *testing.T) {
		llm := agenttest.NewLLM(t, agenttest.Step{Text: []string{"partial "}, Block: true})
		w, uri := sendWorld(t, setup{llm: llm}, "hi")
		p := w.send(uri, nil)
		w.awaitProgress("partial")
		p.Cancel()
		failure(t, p, -32800)
		if got := w.Text(uri); got != "hi\n\n## Agent\n\npartial\n\n*(cancelled)*\n\n## You\n" {
			t.Errorf("the buffer is %q", got)
		}
	})
	t.Run("cancelled while queued", func(t *testing.T) {
		llm := blockOn(t, "slow")
		w, uri := sendWorld(t, setup{llm: llm}, "## You\n\nslow\n\n## You\n\nnever\n")
		first := w.send(uri, obj{"position": obj{"line": 2, "character": 0}})
		llm.Await(1)
		second := w.send(uri, nil)
		w.awaitRuns("a queue", func(list []runInfo) bool { return len(list) == 2 && list[1].Status == runQueued })
		second.Cancel()
		failure(t, second, -32800)
		if got := w.Text(uri); got != "## You\n\nslow\n\n## You\n\nnever\n\n## Agent\n\n*(cancelled)*\n\n## You\n\n" {
			t.Errorf("the buffer is %q", got)
		}
		first.Cancel()
		failure(t, first, -32800)
	})
	t.Run("failed", func(t *testing.T) {
		llm := agenttest.NewLLM(t, agenttest.Step{Err: &agent.ProviderError{Kind: agent.KindNetwork, Message: "The provider\nis away."}})
		w, uri := sendWorld(t, setup{llm: llm}, "hi")
		failure(t, w.send(uri, nil), -32803)
		if got := w.Text(uri); got != "hi\n\n## Agent\n\n*(failed: The provider is away.)*\n\n## You\n" {
			t.Errorf("the buffer is %q", got)
		}
	})
	t.Run("cancelled and the client does not answer", func(t *testing.T) {
		llm := agenttest.NewLLM(t, agenttest.Step{Block: true})
		w, uri := sendWorld(t, setup{llm: llm}, "hi")
		w.On("workspace/applyEdit", func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
		p := w.send(uri, nil)
		llm.Await(1)
		start := time.Now()
		p.Cancel()
		failure(t, p, -32800)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the cancel took %v", took)
		}
	})
}

func TestSendStreams(t *testing.T) {
	gate := make(chan struct{})
	llm := agenttest.NewScript(t, func(n int, _ agent.Request) agenttest.Step {
		if n == 1 {
			return agenttest.Step{Text: []string{"I ", "look.", "\n## You\nno"}, Calls: []agent.ToolCall{{ID: "1", Name: "list_dir", Arguments: `{"path":"."}`}}}
		}
		return agenttest.Step{Text: []string{"Here", ": x\n", "end"}, Wait: gate}
	})
	w, uri := sendWorld(t, setup{llm: llm}, "## You\n\nhi\n")
	start := time.Now()
	p := w.send(uri, obj{"stream": true})
	w.Await("first lines in the buffer", func() bool {
		text := w.Text(uri)
		return strings.HasPrefix(text, "## You\n\nhi\n\n## Agent\n\nI look.\n\\## You\n") && strings.HasSuffix(text, "\n\n## You\n\n")
	})
	// The user writes the next prompt meanwhile, in a turn of its own.
	end := lsptest.End(w.Text(uri))
	w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: end, End: end}, NewText: "typed\n"})
	close(gate)
	result[agent.Result](t, p)
	want := "## You\n\nhi\n\n## Agent\n\nI look.\n\\## You\nno\n\nHere: x\nend\n\n## You\n\ntyped\n"
	if got := w.Text(uri); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if n, most := len(w.Requests("workspace/applyEdit")), 2+int(time.Since(start)/streamEvery); n > most {
		t.Errorf("%d edits in %v", n, time.Since(start))
	}
}

// Two prompts for one block would answer it twice.
func TestSendOfABlockThatIsBeingAnswered(t *testing.T) {
	gate := make(chan struct{})
	llm := agenttest.NewLLM(t, agenttest.Step{Text: []string{"one \n"}, Block: false, Wait: gate})
	w, uri := sendWorld(t, setup{llm: llm}, "## You\n\ngo on\n")
	first := w.send(uri, nil)
	llm.Await(1)
	for _, at := range []any{nil, lsptest.Position{Line: 2}} {
		arg := obj{}
		if at != nil {
			arg["position"] = at
		}
		if err := failure(t, w.send(uri, arg), -32602); !strings.Contains(err.Message, "is being answered already") {
			t.Error(err.Message)
		}
	}
	// Another block of the same words is another prompt.
	end := lsptest.End(w.Text(uri))
	w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: end, End: end}, NewText: "\n## You\n\ngo on\n"})
	second := w.send(uri, nil)
	close(gate)
	result[agent.Result](t, first)
	result[agent.Result](t, second)
	if got, want := w.Text(uri), "## You\n\ngo on\n\n## Agent\n\none\n\n## You\n\ngo on\n\n## Agent\n\ndone\n\n## You\n\n"; got != want {
		t.Errorf("the buffer is %q\nwant %q", got, want)
	}
}

// A buffer that was renamed meanwhile is the same buffer.
func TestSendOfARenamedBlockThatIsBeingAnswered(t *testing.T) {
	gate := make(chan struct{})
	llm := agenttest.NewLLM(t, agenttest.Step{Text: []string{"one"}, Wait: gate})
	w := newWorld(t, setup{llm: llm, init: renamesInit(), files: map[string]string{"a.agentls.md": "hi"}})
	w.Open(w.uri("a.agentls.md"), "markdown", "hi")
	first := w.send(w.uri("a.agentls.md"), nil)
	llm.Await(1)
	w.rename(renameOrders[0], "a.agentls.md", "b.agentls.md", "")
	if err := failure(t, w.send(w.uri("b.agentls.md"), nil), -32602); !strings.Contains(err.Message, "is being answered already") {
		t.Error(err.Message)
	}
	close(gate)
	result[agent.Result](t, first)
	if got := w.Text(w.uri("b.agentls.md")); got != "hi\n\n## Agent\n\none\n\n## You\n" {
		t.Errorf("the buffer is %q", got)
	}
}

// Editors trim lines, and the end of a file, when they save it by themselves.
func TestSendIntoABufferThatIsTrimmed(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Step{Text: []string{"one ", "two\n\n", "three ", "four"}, Block: true})
	w, uri := sendWorld(t, setup{llm: llm}, "## You\n\nhi\n")
	p := w.send(uri, obj{"stream": true})
	w.Await("the beginning in the buffer", func() bool { return strings.Contains(w.Text(uri), "three") })
	if got, want := w.Text(uri), "## You\n\nhi\n\n## Agent\n\none two\n\nthree\n\n## You\n\n"; got != want {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
	p.Cancel()
	failure(t, p, -32800)
	if got, want := w.Text(uri), "## You\n\nhi\n\n## Agent\n\none two\n\nthree four\n\n*(cancelled)*\n\n## You\n\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// An answer that is written whole before it ends needs no edit at its end.
func TestSendEndsWithoutAnEditOfNothing(t *testing.T) {
	gate := make(chan struct{})
	llm := agenttest.NewLLM(t, agenttest.Step{Text: []string{"All of it.\n"}, Then: func() {
		select {
		case <-gate:
		case <-t.Context().Done():
		}
	}})
	w, uri := sendWorld(t, setup{llm: llm}, "## You\n\nhi\n")
	p := w.send(uri, obj{"stream": true})
	w.Await("the answer in the buffer", func() bool { return strings.Contains(w.Text(uri), "All of it.") })
	close(gate)
	result[agent.Result](t, p)
	if got, want := w.Text(uri), "## You\n\nhi\n\n## Agent\n\nAll of it.\n\n## You\n\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if n := len(w.Requests("workspace/applyEdit")); n != 1 {
		t.Errorf("%d edits, want 1", n)
	}
}
