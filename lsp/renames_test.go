package lsp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// renamesInit is a client that tells of what it does to files, as VS Code and
// Helix do.
func renamesInit() lsptest.Init {
	caps := lsptest.Capabilities()
	caps["workspace"].(obj)["fileOperations"] = obj{"didCreate": true, "didRename": true, "didDelete": true}
	return lsptest.Init{Capabilities: caps}
}

// renameOrders are the orders in which editors close a document, open it under
// its new name, and tell of the rename.
var renameOrders = []string{"close open tell", "close tell open", "tell close open"}

// rename renames what is open on disk and in the editor.
func (w *world) rename(order, from, to string, docs ...string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(w.root, to)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(w.root, from), filepath.Join(w.root, to)); err != nil {
		w.t.Fatal(err)
	}
	texts := map[string]string{}
	for step := range strings.FieldsSeq(order) {
		switch step {
		case "close":
			for _, rel := range docs {
				uri := w.uri(filepath.Join(from, rel))
				texts[rel] = w.Text(uri)
				w.CloseDocument(uri)
			}
		case "open":
			for _, rel := range docs {
				w.Open(w.uri(filepath.Join(to, rel)), "markdown", texts[rel])
			}
		case "tell":
			w.Notify("workspace/didRenameFiles", obj{"files": []obj{{"oldUri": w.uri(from), "newUri": w.uri(to)}}})
		}
	}
}

func (w *world) uri(name string) string { return lsptest.FileURI(filepath.Join(w.root, name)) }

// types puts a text at the end of a document.
func (w *world) types(uri, text string) {
	end := lsptest.End(w.Text(uri))
	w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{Start: end, End: end}, NewText: text})
}

// awaitBuffers waits until the sessions of n names are on disk.
func (w *world) awaitBuffers(n int) {
	w.t.Helper()
	poll(w.t, fmt.Sprintf("%d names on disk", n), func() bool {
		on, err := w.server.buffers.read()
		return err == nil && len(on) == n
	})
}

// A prompt buffer that is renamed goes on with its session, also after a
// restart; another one that gets its old name begins anew.
func TestRenamedBufferKeepsItsSession(t *testing.T) {
	for _, order := range renameOrders {
		t.Run(order, func(t *testing.T) {
			dir := t.TempDir()
			llm := agenttest.NewLLM(t)
			w := newWorld(t, setup{dir: dir, llm: llm, init: renamesInit(), files: map[string]string{"a.agentls.md": "hi"}})
			w.Open(w.uri("a.agentls.md"), "markdown", "hi")
			first := result[agent.Result](t, w.send(w.uri("a.agentls.md"), nil))
			w.rename(order, "a.agentls.md", "notes/b é.agentls.md", "")
			w.types(w.uri("notes/b é.agentls.md"), "next\n")
			second := result[agent.Result](t, w.send(w.uri("notes/b é.agentls.md"), nil))
			if first.Session != second.Session || len(llm.Last().Messages) != 4 {
				t.Errorf("sessions %s and %s, %d messages", first.Session, second.Session, len(llm.Last().Messages))
			}
			w.write("a.agentls.md", "another")
			w.Open(w.uri("a.agentls.md"), "markdown", "another")
			other := result[agent.Result](t, w.send(w.uri("a.agentls.md"), nil))
			if other.Session == first.Session || len(llm.Last().Messages) != 2 {
				t.Errorf("the new buffer has %d messages of %s", len(llm.Last().Messages), other.Session)
			}
			w.awaitBuffers(2)
			w.Shutdown()

			llm = agenttest.NewLLM(t)
			w = newWorld(t, setup{dir: dir, llm: llm, init: renamesInit()})
			for name, want := range map[string]string{"notes/b é.agentls.md": first.Session, "a.agentls.md": other.Session} {
				w.Open(w.uri(name), "markdown", "once more")
				if again := result[agent.Result](t, w.send(w.uri(name), nil)); again.Session != want {
					t.Errorf("after a restart %s has the session %s, want %s", name, again.Session, want)
				}
			}
			if n := len(llm.Last().Messages); n != 4 && n != 6 {
				t.Errorf("the model was given %d messages", n)
			}
		})
	}
}

// The answer of a run follows its buffer to the new name.
func TestRenameWhileARunWrites(t *testing.T) {
	for _, order := range renameOrders {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(order, " stream ", stream), func(t *testing.T) {
				gate := make(chan struct{})
				llm := agenttest.NewLLM(t, agenttest.Step{Text: []string{"one "}, Calls: []agent.ToolCall{{ID: "1", Name: "list_dir", Arguments: "{}"}}}, agenttest.Step{Wait: gate, Text: []string{"two"}})
				w := newWorld(t, setup{llm: llm, init: renamesInit(), files: map[string]string{"sub/a.agentls.md": "hi", "x.md": ""}})
				w.Open(w.uri("sub/a.agentls.md"), "markdown", "hi")
				p := w.send(w.uri("sub/a.agentls.md"), obj{"stream": stream})
				llm.Await(2)
				w.rename(order, "sub", "moved", "a.agentls.md")
				uri := w.uri("moved/a.agentls.md")
				w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{}, NewText: "Title\n\n"})
				w.runs() // all of it has arrived
				close(gate)
				result[agent.Result](t, p)
				if got := w.Text(uri); !strings.HasPrefix(got, "Title\n\nhi\n\n## Agent\n\n") || !strings.HasSuffix(got, "two\n\n## You\n") || stream && !strings.Contains(got, "one") {
					t.Errorf("the buffer is %q", got)
				}
				if told := w.messages("window/showMessage"); len(told) > 0 {
					t.Errorf("told %q", told)
				}
			})
		}
	}
}

// The answer goes to its buffer's new name too where another buffer has the old
// one by then, and says the same.
func TestAnswerFollowsARenamePastANewBuffer(t *testing.T) {
	for _, order := range renameOrders {
		t.Run(order, func(t *testing.T) {
			gate := make(chan struct{})
			llm := agenttest.NewLLM(t, agenttest.Step{Wait: gate, Text: []string{"answer"}})
			w := newWorld(t, setup{llm: llm, init: renamesInit(), files: map[string]string{"a.agentls.md": "hi"}})
			old, renamed := w.uri("a.agentls.md"), w.uri("b.agentls.md")
			w.Open(old, "markdown", "hi")
			p := w.send(old, nil)
			llm.Await(1)
			w.rename(order, "a.agentls.md", "b.agentls.md", "")
			w.write("a.agentls.md", "hi")
			w.Open(old, "markdown", "hi")
			w.awaitLenses(renamed, "0 Cancel (step 1)")
			w.awaitLenses(old, "0 Send")
			close(gate)
			result[agent.Result](t, p)
			if got := w.Text(renamed); got != "hi\n\n## Agent\n\nanswer\n\n## You\n" {
				t.Errorf("the renamed buffer is %q", got)
			}
			if got := w.Text(old); got != "hi" {
				t.Errorf("the new buffer is %q", got)
			}
		})
	}
}

// A buffer that is closed for good is not waited for long, and the answer is
// kept as before.
func TestClosedBufferOfAClientThatTellsRenames(t *testing.T) {
	gate := make(chan struct{})
	llm := agenttest.NewLLM(t, agenttest.Step{Wait: gate, Text: []string{"answer"}})
	w := newWorld(t, setup{llm: llm, init: renamesInit(), files: map[string]string{"a.agentls.md": "hi"}})
	w.Open(w.uri("a.agentls.md"), "markdown", "hi")
	p := w.send(w.uri("a.agentls.md"), nil)
	llm.Await(1)
	w.CloseDocument(w.uri("a.agentls.md"))
	w.runs()
	close(gate)
	if r := result[agent.Result](t, p); r.Text != "answer" {
		t.Errorf("result %+v", r)
	}
	if told := w.messages("window/showMessage"); len(told) != 1 || !strings.Contains(told[0], "it is in ") {
		t.Errorf("told %q", told)
	}
}

// Of a folder only the folder is told: the buffers in it keep their sessions,
// open or not.
func TestRenamedFolderKeepsSessions(t *testing.T) {
	llm := agenttest.NewLLM(t)
	w := newWorld(t, setup{llm: llm, init: renamesInit(), files: map[string]string{"d/open.agentls.md": "x", "d/e/closed.agentls.md": "x", "d/plain.md": "x"}})
	session := func(name, language string) string {
		w.Open(w.uri(name), language, "hello")
		return result[agent.Result](t, w.send(w.uri(name), nil)).Session
	}
	before := []string{session("d/open.agentls.md", "markdown"), session("d/e/closed.agentls.md", "markdown"), session("d/plain.md", "agentls")}
	w.CloseDocument(w.uri("d/e/closed.agentls.md"))
	w.rename("tell close open", "d", "f", "open.agentls.md", "plain.md")
	w.awaitBuffers(6)
	w.CloseDocument(w.uri("f/open.agentls.md"))
	w.CloseDocument(w.uri("f/plain.md"))
	after := []string{session("f/open.agentls.md", "markdown"), session("f/e/closed.agentls.md", "markdown"), session("f/plain.md", "agentls")}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("sessions\n%q, then\n%q", before, after)
	}
	// And back.
	w.rename("tell", "f", "d")
	w.awaitBuffers(6)
	if got := session("d/open.agentls.md", "markdown"); got != before[0] {
		t.Errorf("back again it is %s, want %s", got, before[0])
	}
}

// What cannot be read of the file is told and kept; renames hold all the same.
func TestNewerBuffersFileIsKept(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "state", "buffers.json")
	const newer = `{"version":2,"buffers":[]}`
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, setup{dir: dir, llm: agenttest.NewLLM(t), init: renamesInit(), files: map[string]string{"a.agentls.md": "hi"}})
	w.Open(w.uri("a.agentls.md"), "markdown", "hi")
	first := result[agent.Result](t, w.send(w.uri("a.agentls.md"), nil))
	w.rename("tell close open", "a.agentls.md", "b.agentls.md", "")
	w.types(w.uri("b.agentls.md"), "next\n")
	if second := result[agent.Result](t, w.send(w.uri("b.agentls.md"), nil)); second.Session != first.Session {
		t.Errorf("sessions %s and %s", first.Session, second.Session)
	}
	w.Shutdown()
	if now, err := os.ReadFile(file); err != nil || string(now) != newer {
		t.Errorf("the file is %q, %v", now, err)
	}
}

func TestBuffersFileIsBounded(t *testing.T) {
	s := New(testOptions(t))
	fresh := map[string]movedBuffer{}
	for i := range maxBuffers + 10 {
		fresh[fmt.Sprintf("file:///%d", i)] = movedBuffer{Session: "s", At: time.Unix(int64(i), 0)}
	}
	if err := s.buffers.merge(fresh); err != nil {
		t.Fatal(err)
	}
	if on, err := s.buffers.read(); err != nil || len(on) != maxBuffers || on["file:///9"].Session != "" || on["file:///10"].Session == "" {
		t.Errorf("%d entries, %v", len(on), err)
	}
}

// What is kept while the file is read again is not forgotten over it.
func TestSessionsAreKnownWhileTheFileIsReadAgain(t *testing.T) {
	s := New(testOptions(t))
	many := map[string]movedBuffer{} // reading takes a while
	for i := range 2000 {
		many[fmt.Sprintf("file:///%d", i)] = movedBuffer{Session: "s"}
	}
	if err := s.buffers.merge(many); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	read := make(chan struct{}) // again
	wg.Go(func() {
		for ctx.Err() == nil {
			s.buffers.load()
			select {
			case read <- struct{}{}:
			default:
			}
		}
	})
	for i := range 20 {
		path := fmt.Sprintf("/%d.agentls.md", i)
		s.buffers.move(s, fileURI(path), path, fileURI("/new"+path))
		s.background.Wait()
		<-read // it may have begun before
		if _, known := s.buffers.of(fileURI("/new" + path)); !known {
			t.Fatalf("the session of the %d. buffer is forgotten", i+1)
		}
	}
}

// Another process that has the same state hears of a rename when it opens the
// buffer.
func TestRenameByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, setup{dir: dir, llm: agenttest.NewLLM(t), init: renamesInit(), files: map[string]string{"a.agentls.md": "hi"}})
	other := newWorld(t, setup{dir: dir, llm: agenttest.NewLLM(t), init: renamesInit()})
	w.Open(w.uri("a.agentls.md"), "markdown", "hi")
	first := result[agent.Result](t, w.send(w.uri("a.agentls.md"), nil))
	w.rename("tell close open", "a.agentls.md", "b.agentls.md", "")
	w.awaitBuffers(2)
	other.Open(other.uri("b.agentls.md"), "markdown", "hi")
	key, _ := canonical(other.uri("b.agentls.md"))
	poll(t, "the session of the renamed buffer", func() bool {
		moved, ok := other.server.buffers.of(key)
		return ok && moved.Session == first.Session
	})
}

// Edits name a document as the editor does, however others spell it.
func TestEditsAreSentInTheEditorsSpelling(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Text("answer"))})
	plain := w.uri("chat.agentls.md")
	spelled := strings.Replace(strings.Replace(plain, "file:///", "file://localhost/", 1), "chat", "%63h%61t", 1)
	w.Open(spelled, "markdown", "hi")
	result[agent.Result](t, w.send(plain, nil))
	if got := w.Text(spelled); !strings.Contains(got, "answer") {
		t.Errorf("the buffer is %q", got)
	}
	if edits := w.Requests("workspace/applyEdit"); len(edits) != 1 || !strings.Contains(string(edits[0].Params), `"`+spelled+`"`) {
		t.Errorf("edits %s", edits)
	}
}
