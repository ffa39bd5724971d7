package lsp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// lens is a code lens as a client sees it.
type lens struct {
	Range   lsptest.Range
	Command struct {
		Title, Command string
		Arguments      []json.RawMessage
	}
}

func (w *world) lenses(uri string) []lens {
	w.t.Helper()
	raw := w.Call("textDocument/codeLens", obj{"textDocument": obj{"uri": uri}})
	return decodeAs[[]lens](w.t, raw)
}

// seen writes lenses as `line title`.
func seen(list []lens) (out []string) {
	for _, l := range list {
		out = append(out, fmt.Sprint(l.Range.Start.Line, " ", l.Command.Title))
	}
	return out
}

// inModes adds to each *Send* of a text that is not answered those of the modes.
func inModes(want ...string) (all []string) {
	for _, l := range want {
		all = append(all, l)
		line, send := strings.CutSuffix(l, " Send")
		for _, m := range agent.Modes() {
			if send && m.Command != "" {
				all = append(all, line+" "+strings.ToUpper(m.Command[:1])+m.Command[1:])
			}
		}
	}
	return all
}

// awaitLenses waits until a buffer has these: what runs do is no message to a
// stock client.
func (w *world) awaitLenses(uri string, want ...string) (list []lens) {
	w.t.Helper()
	want = inModes(want...)
	for end := time.Now().Add(lsptest.Deadline); ; time.Sleep(5 * time.Millisecond) {
		if list = w.lenses(uri); slices.Equal(seen(list), want) {
			return list
		}
		if time.Now().After(end) {
			w.t.Fatalf("lenses %q, want %q, in %q", seen(list), want, w.Text(uri))
		}
	}
}

// lineOf is the nth line of a buffer that is so, from 1.
func (w *world) lineOf(uri, line string, n int) int {
	w.t.Helper()
	for i, l := range strings.Split(w.Text(uri), "\n") {
		if l == line {
			if n--; n == 0 {
				return i
			}
		}
	}
	w.t.Fatalf("no such %q in %q", line, w.Text(uri))
	return 0
}

// awaitFollowed waits until the answers on their way to a buffer know its text:
// a second change before that can hide from them where the first one was.
func (w *world) awaitFollowed(uri string) {
	w.t.Helper()
	poll(w.t, "writer that follows", func() bool {
		w.server.runs.mu.Lock()
		defer w.server.runs.mu.Unlock()
		return !slices.ContainsFunc(w.server.runs.list, func(x *run) bool {
			if !x.status.live() || x.buffer == nil {
				return false
			}
			x.buffer.mu.Lock()
			defer x.buffer.mu.Unlock()
			return x.buffer.seen.at.text != w.Text(uri)
		})
	})
}

// click does what an editor does with a lens.
func (w *world) click(list []lens, title string) *lsptest.Pending {
	w.t.Helper()
	i := slices.IndexFunc(list, func(l lens) bool { return strings.HasPrefix(l.Command.Title, title) })
	if i < 0 {
		w.t.Fatalf("no %q in %q", title, seen(list))
	}
	return w.Start("workspace/executeCommand", obj{"command": list[i].Command.Command, "arguments": list[i].Command.Arguments})
}

func TestLensesOfTurns(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	for _, c := range []struct {
		name, text string
		want       []string
		at         []any // the position that each sends
	}{
		{"nothing", "", nil, nil},
		{"blank", " \n\n", nil, nil},
		{"no headings", "hi\n", []string{"0 Send"}, []any{nil}},
		{"one prompt", "## You\n\nhi\n", []string{"0 Send"}, []any{nil}},
		{"an empty prompt", "## You\n\n", nil, nil},
		{"answered", "## You\n\none\n\n## Agent\n\n1\n\n## You\n\n", []string{"0 Send again"}, []any{0}},
		{"answered, nothing below", "## You\n\none\n\n## Agent\n\n1\n", []string{"0 Send again"}, []any{nil}},
		{"the next one is written", "## You\n\none\n\n## Agent\n\n1\n\n## You\n\ntwo", []string{"0 Send again", "8 Send"}, []any{0, nil}},
		{"old ones", "## You\na\n## Agent\n1\n## You\nb\n## Agent\n2\n## You\nc\n", []string{"4 Send again", "8 Send"}, []any{4, nil}},
		{"two that wait", "## You\na\n## You\nb\n", []string{"0 Send", "2 Send"}, []any{0, nil}},
		{"a heading in a fence", "## You\n```\n## You\n```\n", []string{"0 Send"}, []any{nil}},
		{"an answer alone", "## Agent\n1\n", nil, nil},
		{"CRLF", "before\r\n## You\r\n\r\na\r\n## You\r\nb", []string{"1 Send", "4 Send"}, []any{1, nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			uri := lsptest.FileURI(w.root + "/x.agentls.md")
			w.Open(uri, "markdown", c.text)
			defer w.CloseDocument(uri)
			list := w.lenses(uri)
			if !slices.Equal(seen(list), inModes(c.want...)) {
				t.Fatalf("got %q, want %q", seen(list), inModes(c.want...))
			}
			i := -1
			for _, l := range list {
				arg := decodeAs[struct {
					URI      string
					Position *lsptest.Position
					Mode     string
				}](t, l.Command.Arguments[0])
				if arg.Mode == "" {
					i++
				} else if !strings.EqualFold(arg.Mode, l.Command.Title) {
					t.Errorf("%q sends in the mode %s", l.Command.Title, arg.Mode)
				}
				var line any
				if arg.Position != nil {
					line = arg.Position.Line
				}
				if l.Command.Command != "agentls.send" || arg.URI != uri || line != c.at[i] || l.Range.Start.Line != l.Range.End.Line {
					t.Errorf("%q is %s %s at %v", l.Command.Title, l.Command.Command, l.Command.Arguments, l.Range)
				}
			}
		})
	}
	for text, want := range map[string][]string{ // what becomes of it, it says itself
		"/help": {"0 Send"}, "\n/plan it": {"0 Send"}, "/nope": {"0 Send"}, "/s:prompt x": inModes("0 Send"), "/usr/bin/x": inModes("0 Send"), "hi\n/plan": inModes("0 Send"),
	} {
		buffer := w.document("slash.agentls.md", "## You\n"+text+"\n")
		if got := seen(w.lenses(buffer)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		w.CloseDocument(buffer)
	}
	uri := w.document("x.go", "## You\n\nhi\n")
	for _, other := range []string{uri, "file:///never/opened.agentls.md"} {
		if raw := w.Call("textDocument/codeLens", obj{"textDocument": obj{"uri": other}}); string(raw) != "null" {
			t.Errorf("%s has %s", other, raw)
		}
	}
	failure(t, w.Start("textDocument/codeLens", obj{}), -32602)
	failure(t, w.Start("textDocument/codeLens", []any{}), -32602)
}

// A text of many prompts costs no more for each than one of few does: it is
// walked over once. The bound is a hundred times what that takes.
func TestLensesOfManyTurns(t *testing.T) {
	s := New(testOptions(t))
	const n = 40_000
	doc := document{uri: "file:///x.agentls.md", text: strings.Repeat("## You\nhi\n", n)}
	state := s.bufferState(s.promptModel(doc))
	start := time.Now()
	list := s.lenses(doc, state)
	if took := time.Since(start); len(list) != n*len(inModes("0 Send")) || took > 5*time.Second {
		t.Fatalf("%d lenses after %v", len(list), took)
	}
	want := protocol.Position{Line: n}
	if l := list[len(list)/2]; l.Range.Start != want || *l.Command.Arguments[0].(sendLink).Position != want {
		t.Errorf("the one in the middle is %+v", l)
	}
}

// What runs in a buffer's session is said where it was sent from, and ended
// there; a second one waits its turn.
func TestLensesOfRuns(t *testing.T) {
	llm := blockOn(t, "slow")
	w, uri := sendWorld(t, setup{llm: llm}, "## You\n\nslow one\n\n## You\n\nslow two\n")
	p := w.click(w.lenses(uri), "Send") // the first block
	llm.Await(1)
	list := w.awaitLenses(uri, "0 Cancel (step 1)", "4 Send")
	other := lsptest.FileURI(w.root + "/other.agentls.md")
	w.Open(other, "markdown", "## You\n\nslow one\n")
	if got := seen(w.lenses(other)); !slices.Equal(got, inModes("0 Send")) {
		t.Errorf("another session shows %q", got)
	}
	q := w.click(list, "Send")
	list = w.awaitLenses(uri, "0 Cancel (step 1)", "4 Cancel (queued)")
	if got := result[map[string][]string](t, w.click(list[1:], "Cancel")); len(got["cancelled"]) != 1 {
		t.Errorf("cancelled %v", got)
	}
	failure(t, q, -32800)
	list = w.awaitLenses(uri, "0 Cancel (step 1)") // nothing is tried again meanwhile
	w.awaitFollowed(uri)
	w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: lsptest.Position{Line: 2}, End: lsptest.Position{Line: 2, Character: 4}}, NewText: "other"})
	w.awaitLenses(uri, "0 Cancel (step 1)") // although its prompt is another one now
	w.Edit(uri, lsptest.TextEdit{NewText: "## You\n\nnew\n"})
	w.awaitLenses(uri, "0 Cancel (step 1)", "0 Send") // its prompt is gone
	result[map[string][]string](t, w.click(list, "Cancel"))
	failure(t, p, -32800)
}

// What waits for a person is answered above its turn, by none but the commands
// that the client knows.
func TestLensesOfQuestions(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: callsTool(t), options: asking(600), answers: map[string]lsptest.Answer{
		"window/showMessageRequest": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent },
	}}, "## You\n\nlook around\n")
	p := w.send(uri, nil)
	list := w.awaitLenses(uri, "0 Cancel (waits for you)", `0 Deny: list_dir {"path":"."}`, `0 Allow once: list_dir {"path":"."}`)
	result[map[string]bool](t, w.click(list, "Allow once"))
	if r := result[agent.Result](t, p); !slices.Equal(statuses(r), []agent.Outcome{agent.Completed}) {
		t.Errorf("allowed: %+v", r)
	}
	w.awaitLenses(uri, "0 Send again")

	q := w.server.asks
	trust := &question{id: "q", kind: "trust", server: "evil", choices: []choice{{title: "Not now", decision: agent.DecisionDeny}, {title: "Trust and start", decision: agent.DecisionOnce}}}
	q.mu.Lock()
	q.open = append(q.open, trust)
	q.mu.Unlock()
	w.awaitLenses(uri, "0 Send again", fmt.Sprint(w.lineOf(uri, "## You", 2), " Not now: evil"))
	q.mu.Lock()
	q.open = nil
	q.mu.Unlock()
}

func TestLensesForAClientWithApprovals(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: callsTool(t), options: asking(600), init: lsptest.Init{Features: []string{"approvals"}}, answers: map[string]lsptest.Answer{
		"agentls/approve": func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent },
	}}, "## You\n\nlook around\n")
	p := w.send(uri, nil)
	list := w.awaitLenses(uri, "0 Cancel (waits for you)")
	result[map[string][]string](t, w.click(list, "Cancel"))
	failure(t, p, -32800)
}

// An answer whose run changed files can take them back; once.
func TestLensTakesChangesBack(t *testing.T) {
	edits := func() *agenttest.LLM {
		return agenttest.NewLLM(t, agenttest.Text("nothing"), agenttest.Call(editCall("1", "a.txt", "one", "1")), agenttest.Text("changed"))
	}
	options := obj{"approval": obj{"allow": []string{"edit_file"}}}
	w, uri := sendWorld(t, setup{llm: edits(), options: options, files: map[string]string{"a.txt": "one\n"}}, "## You\n\ngo on\n")
	for range 2 { // two turns alike
		result[agent.Result](t, w.send(uri, nil))
		end := lsptest.End(w.Text(uri))
		w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: end, End: end}, NewText: "\ngo on\n"})
	}
	list := w.lenses(uri)
	i := slices.IndexFunc(list, func(l lens) bool { return l.Command.Title == "Undo changes" })
	if i < 0 || list[i].Range.Start.Line != w.lineOf(uri, "## Agent", 2) || strings.Count(strings.Join(seen(list), "\n"), "Undo") != 1 {
		t.Fatalf("%q in %q", seen(list), w.Text(uri))
	}
	result[agent.Undone](t, w.click(list, "Undo"))
	if got := w.disk("a.txt"); got != "one\n" {
		t.Errorf("the file is %q", got)
	}
	if got := seen(w.lenses(uri)); strings.Contains(strings.Join(got, "\n"), "Undo") {
		t.Errorf("afterwards %q", got)
	}

	w, uri = sendWorld(t, setup{llm: edits(), options: options, files: map[string]string{"a.txt": "one\n"}, init: lsptest.Init{Features: []string{"approvals"}}}, "## You\n\ngo on\n")
	for range 2 {
		result[agent.Result](t, w.send(uri, obj{"position": obj{"line": 0, "character": 0}}))
	}
	if got := seen(w.lenses(uri)); strings.Contains(strings.Join(got, "\n"), "Undo") {
		t.Errorf("with approvals %q", got)
	}
}

// A client that can fetch its lenses anew is asked to when a run changes them,
// one that cannot is not asked.
func TestLensesAreRefreshed(t *testing.T) {
	const refresh = "workspace/codeLens/refresh"
	caps := lsptest.Capabilities()
	caps["workspace"].(map[string]any)["codeLens"] = obj{"refreshSupport": true}
	llm := blockOn(t, "slow")
	w, uri := sendWorld(t, setup{llm: llm, init: lsptest.Init{Capabilities: caps}}, "## You\n\nslow\n")
	answered := make(chan []string, 100)
	w.On(refresh, func(json.RawMessage) (any, error) {
		answered <- seen(w.lenses(uri))
		return nil, nil
	})
	last := func(want ...string) {
		w.t.Helper()
		poll(w.t, fmt.Sprintf("refresh to %q", want), func() bool {
			for {
				select {
				case got := <-answered:
					if slices.Equal(got, want) {
						return true
					}
				default:
					return false
				}
			}
		})
	}
	p := w.send(uri, nil)
	llm.Await(1)
	last("0 Cancel (step 1)")
	p.Cancel()
	failure(t, p, -32800)
	last("0 Send again")

	w, uri = sendWorld(t, setup{llm: agenttest.NewLLM(t)}, "## You\n\nhi\n")
	result[agent.Result](t, w.send(uri, nil))
	w.awaitLenses(uri, "0 Send again")
	if n := len(w.Requests(refresh)); n > 0 {
		t.Errorf("%d refreshes of a client that knows none", n)
	}
}
