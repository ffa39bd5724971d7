package lsp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// answerFile is the path of a session's answer document.
func (w *world) answerFile(session string) string {
	return filepath.Join(w.state, "answers", session+promptExtension)
}

// awaitFile polls a file until it holds a text.
func (w *world) awaitFile(path, want string) {
	w.t.Helper()
	var got []byte
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s is %q", path, got)
		}
	}()
	poll(w.t, fmt.Sprintf("%q in %s", want, path), func() bool {
		got, _ = os.ReadFile(path)
		return string(got) == want
	})
}

// shown gives the documents that the client was asked to show.
func (w *world) shown() (list []shown) {
	for _, r := range w.Requests("window/showDocument") {
		list = append(list, decodeAs[shown](w.t, r.Params))
	}
	return list
}

// A stock client sees the answer in a document, which grows by a turn at a
// time; it is shown once, and the user's keys go on to where they went.
func TestAnswerDocument(t *testing.T) {
	for _, detached := range []bool{false, true} {
		t.Run(fmt.Sprint("detached ", detached), func(t *testing.T) {
			w := newWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Text("one\n## You\n![x](y)\n```\n## Agent"), agenttest.Text("two"))})
			file := w.answerFile("s1")
			result[struct{}](t, w.ask("first\n## Agent\nline", obj{"session": "s1", "detached": detached}))
			const first = "## You\n\nfirst\n\\## Agent\nline\n\n## Agent\n\none\n\\## You\n!\\[x](y)\n```\n## Agent\n```\n\n"
			w.awaitFile(file, first+"## You\n")
			w.AwaitRequest("window/showDocument", 1)
			if list := w.shown(); list[0].URI != lsptest.FileURI(file) || *list[0].TakeFocus || list[0].Selection.Start != (lsptest.Position{Line: 6}) {
				t.Errorf("shown %+v", list)
			}
			for path, want := range map[string]fs.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
				}
			}
			result[struct{}](t, w.ask("second", obj{"session": "s1", "detached": detached}))
			w.awaitFile(file, first+"## You\n\nsecond\n\n## Agent\n\ntwo\n\n## You\n")
			w.AwaitNotification("window/showMessage", 1)
			if told := w.messages("window/showMessage"); len(told) != 1 || told[0] != "agentls: two (The whole is in "+file+")" || len(w.shown()) != 1 {
				t.Errorf("told %q, shown %+v", told, w.shown())
			}
		})
	}
}

// An answer document carries its session: what is sent in it goes on with it,
// and what is asked goes into the editor's text and not behind its back.
func TestAnswerDocumentGoesOn(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Text("one"), agenttest.Text("two"), agenttest.Text("three"))
	w := newWorld(t, setup{llm: llm})
	r := result[agent.Result](t, w.ask("first", nil))
	file := w.answerFile(r.Session)
	const first = "## You\n\nfirst\n\n## Agent\n\none\n\n## You\n"
	w.awaitFile(file, first)
	uri := lsptest.FileURI(file)
	w.Open(uri, "markdown", first+"\nsecond")

	sent := result[agent.Result](t, w.send(uri, nil))
	const second = first + "\nsecond\n\n## Agent\n\ntwo\n\n## You\n"
	if sent.Session != r.Session || w.Text(uri) != second || len(llm.Last().Messages) != 4 {
		t.Errorf("session %q, want %q; %d messages; the buffer is %q", sent.Session, r.Session, len(llm.Last().Messages), w.Text(uri))
	}
	// What the user writes meanwhile stays the last, and is not sent.
	w.Edit(uri, lsptest.TextEdit{NewText: second + "\na draft"})
	result[agent.Result](t, w.ask("third", obj{"session": r.Session}))
	want := strings.TrimSuffix(second, "## You\n") + "## You\n\nthird\n\n## Agent\n\nthree\n\n## You\n\na draft"
	w.Await("third answer", func() bool { return w.Text(uri) == want })
	w.awaitFile(file, first) // the editor's to save
	if told := w.messages("window/showMessage"); len(told) > 0 || len(w.shown()) != 1 {
		t.Errorf("told %q, shown %+v", told, w.shown())
	}
}

// How a run ended is written too, and what was said until then
// (avante-corp/avante.nvim#2208); nothing pops up for it.
func TestAnswerDocumentOfARunThatDoesNotComplete(t *testing.T) {
	for _, c := range []struct {
		name, want string
		step       agenttest.Step
		code       int // 0: no error
		limits     obj
	}{
		{"cancelled", "partial\n\n*(cancelled)*", agenttest.Step{Text: []string{"par", "tial "}, Block: true}, -32800, nil},
		{"cancelled before a word", "*(cancelled)*", agenttest.Step{Block: true}, -32800, nil},
		{"failed", "partial\n\n*(failed: The provider is away.)*", agenttest.Step{Text: []string{"partial"}, Err: &agent.ProviderError{Kind: agent.KindNetwork, Message: "The provider\nis *away*."}}, -32803, nil},
		{"stopped", "look\n\n*(stopped: the limit of 1 model calls (limits.steps) was reached: send “go on” to continue)*", agenttest.Step{Text: []string{"look"}, Calls: []agent.ToolCall{{ID: "1", Name: "list_dir", Arguments: `{"path":"."}`}}}, 0, obj{"limits": obj{"steps": 1}}},
		{"silent", "*(no answer)*", agenttest.Text(" "), 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			llm := agenttest.NewLLM(t, c.step)
			w := newWorld(t, setup{llm: llm, options: c.limits})
			p := w.ask("hi", obj{"session": "s"})
			if c.code == -32800 {
				w.awaitProgress(cmp.Or(strings.Join(c.step.Text, ""), "step 1"))
				p.Cancel()
			}
			if c.code != 0 {
				failure(t, p, c.code)
			} else {
				result[agent.Result](t, p)
			}
			w.awaitFile(w.answerFile("s"), "## You\n\nhi\n\n## Agent\n\n"+c.want+"\n\n## You\n")
			w.awaitKept()
			if n := len(w.shown()); (n == 0) != (c.code != 0) {
				t.Errorf("shown %d times", n)
			}
		})
	}
}

// awaitProgress waits for a progress that holds a text.
func (w *world) awaitProgress(text string) {
	w.t.Helper()
	w.Await("progress with "+text, func() bool {
		return slices.ContainsFunc(w.Notifications("$/progress"), func(raw json.RawMessage) bool {
			return strings.Contains(string(raw), strings.TrimSpace(text))
		})
	})
}

// A run that was cancelled while it waited has said nothing and leaves nothing.
func TestNoAnswerOfARunThatNeverBegan(t *testing.T) {
	llm := blockOn(t, "slow")
	w := newWorld(t, setup{llm: llm})
	first := w.ask("slow", obj{"session": "s"})
	llm.Await(1)
	second := w.ask("never", obj{"session": "s"})
	second.Cancel()
	failure(t, second, -32800)
	first.Cancel()
	failure(t, first, -32800)
	w.awaitKept()
	if raw, err := os.ReadFile(w.answerFile("s")); err != nil || strings.Contains(string(raw), "never") {
		t.Errorf("%q %v", raw, err)
	}
}

// An editor that has the document open and takes no edit: the answer goes into
// a document beside it, which goes on with the session too.
func TestAnswerDocumentThatTakesNoEdit(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Text("one"), agenttest.Text("two"), agenttest.Text("three"), agenttest.Text("four"))
	w := newWorld(t, setup{llm: llm})
	r := result[agent.Result](t, w.ask("first", nil))
	file := w.answerFile(r.Session)
	w.awaitFile(file, "## You\n\nfirst\n\n## Agent\n\none\n\n## You\n")
	w.Open(lsptest.FileURI(file), "markdown", "## You\n\nall is new")
	w.On("workspace/applyEdit", func(json.RawMessage) (any, error) { return obj{"applied": false}, nil })
	result[agent.Result](t, w.ask("second", obj{"session": r.Session}))
	beside := w.answerFile(r.Session + "+2")
	header := fmt.Sprintf("<!-- agentls: session %q -->\n\n", r.Session)
	text := header + "## You\n\nsecond\n\n## Agent\n\ntwo\n\n## You\n"
	w.awaitFile(beside, text)
	w.awaitFile(file, "## You\n\nfirst\n\n## Agent\n\none\n\n## You\n")
	if got := w.Text(lsptest.FileURI(file)); got != "## You\n\nall is new" {
		t.Errorf("the buffer is %q", got)
	}
	w.AwaitRequest("window/showDocument", 2)
	if list := w.shown(); list[1].URI != lsptest.FileURI(beside) {
		t.Errorf("shown %+v", list)
	}
	w.On("workspace/applyEdit", nil)
	w.Open(lsptest.FileURI(beside), "markdown", text+"\nthird")
	if sent := result[agent.Result](t, w.send(lsptest.FileURI(beside), nil)); sent.Session != r.Session {
		t.Errorf("session %q, want %q", sent.Session, r.Session)
	}
	// The first one takes edits again.
	result[agent.Result](t, w.ask("fourth", obj{"session": r.Session}))
	w.Await("fourth answer", func() bool { return strings.Contains(w.Text(lsptest.FileURI(file)), "four") })
}

// A session's name is whatever a client likes: it stays inside the folder
// (veryfront/veryfront-code#2226), and its document leads back to it.
func TestAnswerDocumentOfAnOddSession(t *testing.T) {
	for _, session := range []string{"../../evil", "a/b", `a\b`, ".hidden", "CON", "nul.txt", "--> x", "<!-- \"", "é ü", strings.Repeat("x", 128), "a:b", "~", "MAIN", "main+2"} {
		t.Run(session, func(t *testing.T) {
			w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
			result[agent.Result](t, w.ask("hi", obj{"session": session}))
			w.AwaitRequest("window/showDocument", 1)
			uri := w.shown()[0].URI
			text := readURI(t, uri)
			if files, _ := filepath.Glob(w.answerFile("*")); len(files) != 1 || lsptest.FileURI(files[0]) != uri || !strings.HasSuffix(text, "## You\n\nhi\n\n## Agent\n\ndone\n\n## You\n") {
				t.Fatalf("files %q, shown %q, text %q", files, uri, text)
			}
			w.Open(uri, "markdown", text+"\nmore")
			if r := result[agent.Result](t, w.send(uri, nil)); r.Session != session {
				t.Errorf("session %q", r.Session)
			}
		})
	}
}

// No two sessions have one document, however many there are of each, and also
// where files of two cases are one.
func TestAnswerDocumentsAreOfOneSession(t *testing.T) {
	a := newAnswers(&Server{})
	owner := map[string]string{}
	add := func(session string) {
		for n := 1; n <= 3; n++ {
			file := strings.ToLower(a.file(session, n))
			if of, taken := owner[file]; taken {
				t.Errorf("%s is the document of %q and of %q", file, of, session)
			}
			owner[file] = session
		}
	}
	odd := "a b"
	for _, session := range []string{"main", "main-2", "main+2", "MAIN", "Main", "main-2-2", odd, strings.TrimSuffix(filepath.Base(a.file(odd, 1)), promptExtension)} {
		add(session)
	}
}

// Only a document of ours says of which session it is.
func TestDocumentElsewhereHasNoSessionOfItsOwn(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	for _, name := range []string{"victim.agentls.md", "answers/victim.agentls.md"} {
		uri := w.document(name, "<!-- agentls: session \"victim\" -->\n\n## You\n\nhi\n")
		if r := result[agent.Result](t, w.send(uri, nil)); r.Session == "victim" {
			t.Errorf("%s took over a session", name)
		}
	}
}

// Several processes add to one document, and no turn is lost
// (editor-code-assistant/eca#558, charmbracelet/crush#2690).
func TestAnswerDocumentOfSeveralProcesses(t *testing.T) {
	dir := t.TempDir()
	const each = 8
	var worlds []*world
	for range 2 {
		worlds = append(worlds, newWorld(t, setup{dir: dir, llm: agenttest.NewLLM(t), options: obj{"answers": "document"}}))
	}
	var all []*lsptest.Pending
	for i := range each {
		for n, w := range worlds {
			all = append(all, w.ask(fmt.Sprintf("turn %d of %d.", i, n), obj{"session": "shared"}))
		}
	}
	for _, p := range all {
		result[agent.Result](t, p)
	}
	for _, w := range worlds {
		w.awaitKept()
	}
	raw, err := os.ReadFile(worlds[0].answerFile("shared"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range worlds {
		last := -1
		for i := range each {
			at := strings.Index(string(raw), fmt.Sprintf("## You\n\nturn %d of %d.\n\n## Agent\n\ndone\n\n", i, n))
			if at <= last {
				t.Errorf("turn %d of %d is at %d, after %d", i, n, at, last)
			}
			last = at
		}
	}
	if n := len(turns(string(raw))); n != 2*each*2+1 {
		t.Errorf("%d turns", n)
	}
}

// What a code action asked for is written in words.
func TestAnswerDocumentOfACodeAction(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Text("it is a letter"))})
	uri := w.document("x.go", "a\nb\n")
	list := w.actions(uri, span(0, 0, 1, 1), obj{})
	list = slices.DeleteFunc(list, func(a action) bool { return a.Title != "Explain" })
	r := result[agent.Result](t, w.run(list, "Explain"))
	w.awaitFile(w.answerFile(r.Session), "## You\n\nexplain x.go:1-2\n\n## Agent\n\nit is a letter\n\n## You\n")
	if list := w.runs(); list[0].Prompt != "explain x.go:1-2" {
		t.Errorf("%+v", list)
	}
}

// FuzzExchange: wherever an exchange is put, nothing that was there is lost, it
// is two turns more, and what a person writes stays the last.
func FuzzExchange(f *testing.F) {
	f.Add("", "asked", "answer")
	f.Add("## You\n\nold\n\n## Agent\n\nx\n\n## You\ndraft", "## You\n```", "~~~\n## Agent\n# you")
	f.Add("<!-- x -->\n\n## Agent\n```\nopen", "a\r## You\rb", "\r\n\r\n")
	f.Add("no heading", "", "![x](y)")
	f.Fuzz(func(t *testing.T, text, asked, answer string) {
		e := exchange{"s", asked, answer}
		at, turn := e.place(text)
		whole := text[:at] + turn.text + text[at:]
		was, is := turns(text), turns(whole)
		if was[0].role == "" {
			was = nil
		}
		n := len(was) + 2
		if len(was) == 0 || was[len(was)-1].role != "you" {
			n++ // a new one to write in
		}
		if len(is) != n || is[n-1].role != "you" || is[n-2].role != "agent" || is[n-3].role != "you" {
			t.Fatalf("%v became %v: %q", was, is, whole)
		}
		if len(was) > 0 && was[len(was)-1].role == "you" && whole[is[n-1].start:] != text[was[len(was)-1].start:] {
			t.Errorf("the draft became %q", whole[is[n-1].start:])
		}
		if !strings.HasPrefix(turn.text[turn.answer:], "## Agent\n") {
			t.Errorf("the answer is not at %q", turn.text[turn.answer:])
		}
	})
}

// What is no file is not written over, and holds up nothing.
func TestAnswerDocumentThatIsNoFile(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	if err := os.MkdirAll(w.answerFile("s"), 0o700); err != nil {
		t.Fatal(err)
	}
	result[agent.Result](t, w.ask("hi", obj{"session": "s"}))
	w.awaitFile(w.answerFile("s+2"), "<!-- agentls: session \"s\" -->\n\n## You\n\nhi\n\n## Agent\n\ndone\n\n## You\n")
}

// What is on disk is added to as it is: its line endings stay, and one that
// got too long is left alone.
func TestAnswerDocumentOnDisk(t *testing.T) {
	huge := "## You\n\n" + strings.Repeat("x", answerMax) + "\n"
	const second = "<!-- agentls: session \"s\" -->\n\n## You\n\nhi\n\n## Agent\n\ndone\n\n## You\n"
	for _, c := range []struct{ name, before, file, after string }{
		{"CRLF", "## You\r\n\r\na\r\n\r\n## Agent\r\n\r\nb\r\n\r\n## You\r\n", "s", "## You\r\n\r\na\r\n\r\n## Agent\r\n\r\nb\r\n\r\n## You\r\n\r\nhi\r\n\r\n## Agent\r\n\r\ndone\r\n\r\n## You\r\n"},
		{"a draft", "## You\n\nnot sent", "s", "## You\n\nhi\n\n## Agent\n\ndone\n\n## You\n\nnot sent"},
		{"no heading", "notes\n", "s", "notes\n\n## You\n\nhi\n\n## Agent\n\ndone\n\n## You\n\n"},
		{"an open fence", "## Agent\n\n~~~~\nx", "s", "## Agent\n\n~~~~\nx\n~~~~\n\n## You\n\nhi\n\n## Agent\n\ndone\n\n## You\n"},
		{"too long", huge, "s+2", second},
		{"too long and open", huge, "s+2", second},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
			if err := os.MkdirAll(filepath.Dir(w.answerFile("s")), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(w.answerFile("s"), []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(c.name, "open") {
				w.Open(lsptest.FileURI(w.answerFile("s")), "markdown", c.before)
			}
			result[agent.Result](t, w.ask("hi", obj{"session": "s"}))
			w.awaitFile(w.answerFile(c.file), c.after)
			if raw, err := os.ReadFile(w.answerFile("s")); err != nil || c.file != "s" && string(raw) != c.before {
				t.Errorf("%.100q %v", raw, err)
			}
		})
	}
}
