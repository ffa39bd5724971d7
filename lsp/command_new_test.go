package lsp

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/uri"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// shown is window/showDocument as a client sees it.
type shown struct {
	URI       string
	TakeFocus *bool
	Selection *lsptest.Range
}

// readURI reads the file that a URI names.
func readURI(t testing.TB, u string) string {
	t.Helper()
	raw, err := os.ReadFile(uri.URI(u).FsPath())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestNew(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), files: map[string]string{"disk.py": "def f():\r\n    pass\r\n"}})
	open := w.document("a b.go", "package x\n\n## You\n```go\n@workspace:file://README.md\n```\n## Agent\n")
	w.Open("untitled:Untitled-1", "odd`lang", "one\ntwo")
	disk := lsptest.FileURI(w.root + "/disk.py")
	for _, c := range []struct {
		name     string
		document any
		want     string
	}{
		{"nothing", nil, "## You\n\n\n"},
		{"a document", obj{"uri": open}, "## You\n\nAbout `a b.go`:\n\n\n"},
		{"a selection", obj{"uri": open, "range": span(0, 8, 0, 9)}, "## You\n\nAbout `a b.go`, line 1:\n\n```go\nx\n```\n\n\n"},
		{"a selection that would leave", obj{"uri": open, "range": span(2, 0, 7, 0)}, "## You\n\nAbout `a b.go`, lines 3-7:\n\n````go\n## You\n```go\n@workspace:file://README.md\n```\n## Agent\n````\n\n\n"},
		{"from disk", obj{"uri": disk, "range": span(0, 0, 1, 99)}, "## You\n\nAbout `disk.py`, lines 1-2:\n\n```py\ndef f():\n    pass\n```\n\n\n"},
		{"beyond the end", obj{"uri": "untitled:Untitled-1", "range": span(1, 0, 9, 9)}, "## You\n\nAbout `untitled:Untitled-1`, line 2:\n\n```\ntwo\n```\n\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			before := len(w.Requests("window/showDocument"))
			r := commandAs[newInfo](w, "agentls.new", obj{"document": c.document, "mode": "react"})
			if got := readURI(t, r.URI); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			s := decodeAs[shown](t, w.Requests("window/showDocument")[before].Params)
			if end := lsptest.End(strings.TrimSuffix(c.want, "\n")); s.URI != r.URI || !*s.TakeFocus || s.Selection.Start != end || s.Selection.End != end {
				t.Errorf("shown %+v", s)
			}
			for path, want := range map[string]fs.FileMode{uri.URI(r.URI).FsPath(): 0o600, filepath.Dir(uri.URI(r.URI).FsPath()): 0o700} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
				}
			}
			if told := w.messages("window/showMessage"); len(told) > 0 {
				t.Errorf("told %q", told)
			}
		})
	}
}

// What a person writes into the new buffer and sends is the prompt, with what
// was quoted; nothing quoted is a mention.
func TestNewBufferIsSent(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Text("answer"))
	w := newWorld(t, setup{llm: llm})
	source := w.document("@workspace:file://README.md ` \".go", "see @workspace:file://README.md\n")
	list := w.actions(source, span(0, 0, 0, 9), obj{})
	made := result[newInfo](t, w.run(list, "Ask about this"))
	text := readURI(t, made.URI)
	text = strings.TrimSuffix(text, "\n")
	w.Open(made.URI, "markdown", text+"what is it?\n")
	end := lsptest.End(text)
	r := result[agent.Result](t, w.run(w.actions(made.URI, obj{"start": end, "end": end}, obj{}), "Send"))
	got := last(llm.Last())
	if r.Session != made.Session || len(r.Mentions) > 0 || !strings.HasSuffix(got, "see @work\n```\n\nwhat is it?\n") {
		t.Errorf("session %q, announced %q, mentions %+v, the model got %s", r.Session, made.Session, r.Mentions, got)
	}
	if got := w.Text(made.URI); got != text+"what is it?\n\n## Agent\n\nanswer\n\n## You\n\n" {
		t.Errorf("the buffer is %q", got)
	}
}

// A client that cannot or does not show it: the person is told where it is.
func TestNewIsNotShown(t *testing.T) {
	no := lsptest.Capabilities()
	delete(no["window"].(map[string]any), "showDocument")
	for _, c := range []struct {
		name   string
		caps   any
		answer lsptest.Answer
	}{
		{"cannot", no, nil},
		{"no window capabilities", obj{}, nil},
		{"did not", nil, func(json.RawMessage) (any, error) { return obj{"success": false}, nil }},
		{"null", nil, func(json.RawMessage) (any, error) { return nil, nil }},
		{"no such method", nil, func(json.RawMessage) (any, error) { return nil, &lsptest.Error{Code: -32601, Message: "nope"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setup{llm: agenttest.NewLLM(t), init: lsptest.Init{Capabilities: c.caps}})
			if c.answer != nil {
				w.On("window/showDocument", c.answer)
			}
			r := commandAs[newInfo](w, "agentls.new", nil)
			if n := len(w.Requests("window/showDocument")); (n == 0) != (c.answer == nil) {
				t.Errorf("%d requests", n)
			}
			if told := w.messages("window/showMessage"); len(told) != 1 || !strings.Contains(told[0], uri.URI(r.URI).FsPath()) {
				t.Errorf("told %q", told)
			}
		})
	}
	t.Run("never answers", func(t *testing.T) {
		w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
		w.On("window/showDocument", func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
		p := w.StartCommand("agentls.new", nil, nil)
		w.AwaitRequest("window/showDocument", 1)
		start := time.Now()
		p.Cancel()
		if r := result[newInfo](t, p); readURI(t, r.URI) != "## You\n\n\n" { // it is made, and told of
			t.Errorf("%+v", r)
		}
		if took := time.Since(start); took > showTime/2 {
			t.Errorf("the cancel took %v", took)
		}
	})
}

func TestNewWithoutAPlaceToWrite(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	if err := os.MkdirAll(w.state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.state, "prompts"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := failure(t, w.StartCommand("agentls.new", nil, nil), -32803); !strings.Contains(err.Message, "prompts") {
		t.Error(err)
	}
}

// Many at one moment, of several processes: each gets a file of its own.
func TestPromptsAreNotOverwritten(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	files := make([]string, 20)
	var wg sync.WaitGroup
	for i := range files {
		wg.Go(func() {
			file, err := createPrompt(dir, now, files[i])
			if err != nil {
				t.Error(err)
			}
			files[i] = file
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f] || !strings.HasSuffix(f, promptExtension) {
			t.Errorf("%q", files)
		}
		seen[f] = true
	}
}

// FuzzQuote: whatever is quoted, the buffer has one turn, no mention, and the
// cursor stands behind it, outside of every fence.
func FuzzQuote(f *testing.F) {
	w := newWorld(f, setup{llm: agenttest.NewLLM(f)})
	f.Add("a.go", "go", "```\n## You\n@workspace:file://README.md\n~~~")
	f.Add("@workspace:file://README.md", "@workspace:file://README.md", "\r## Agent\r")
	f.Add("a` @workspace:file://README.md `b\"c\n## You\n", "a b", "x\u2028````\u0085")
	f.Fuzz(func(t *testing.T, path, language, text string) {
		for _, rng := range []*rangeArg{nil, {}} {
			a := &attachment{rng: rng, Attachment: agent.Attachment{Path: path, LanguageID: language, Text: text, StartLine: 1, EndLine: 2, Truncated: rng == nil}}
			buffer := "## You\n\n" + a.quote()
			m := walkMarkdown(buffer)
			for m.next() {
			}
			if list := turns(buffer); len(list) != 1 || m.fence != "" || !strings.HasSuffix(buffer, "\n\n") {
				t.Errorf("turns %v, fence %q in %q", list, m.fence, buffer)
			}
			for _, mention := range w.server.o.Manager.Mentions(buffer) {
				if !mention.Quoted {
					t.Errorf("%+v in %q", mention, buffer)
				}
			}
		}
	})
}
