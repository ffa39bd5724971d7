package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
)

// What a question says of a change: all of a short one, with nothing in it
// unseen.
func TestChangeInWords(t *testing.T) {
	s := &Server{o: Options{Secrets: mcp.NewSecrets()}}
	s.o.Secrets.Add("very-secret-value")
	diff := func(lines ...string) string {
		return "--- a\n+++ a\n@@ -1,3 +1,3 @@\n" + strings.Join(lines, "\n") + "\n"
	}
	for _, c := range []struct{ name, diff, want string }{
		{"a line", diff(" one", "-two", "+2", " three"), "- two → + 2"},
		{"a new line", diff(" one", "+two"), "+ two"},
		{"a line goes", diff(" one", "-two"), "- two"},
		{"lines", diff("-one", "-two", "+1", "+2"), "- one ⏎ two → + 1 ⏎ 2"},
		{"two places", diff("-one", "+1", " two", "-three", "+3"), "- one → + 1 ; - three → + 3"},
		{"two hunks", diff("-one", "+1", "@@ -9,1 +9,1 @@", "-nine", "+9"), "- one → + 1 ; - nine → + 9"},
		{"indented alike", diff("-\t\tx := 1", "+\t\tx := 2"), "- x := 1 → + x := 2"},
		{"indented anew", diff("-x", "+    x"), `- x → + "    x"`},
		{"blanks at the end", diff("-x", "+x  "), `- x → + "x  "`},
		{"an empty line", diff("-x", "+"), `- x → + ""`},
		{"CRLF", diff("-one\r", "+two\r"), "- one → + two"},
		{"another line end", diff("-one\r", "+one"), `- "one\r" → + one`},
		{"unseen", diff("-x", "+x\u202e\u200b\x1b[2K"), `- x → + "x\u202e\u200b\x1b[2K"`},
		{"a link", diff("-x", "+[x](command:y)"), `- x → + "[x](command:y)"`},
		{"like the names", diff("--- a", "+++ b"), "- -- a → + ++ b"},
		{"a secret", diff("-x", "+very-secret-value"), ""},
		{"without its end", diff("-x", "+y", `\ No newline at end of file`), ""},
		{"long", diff("-x", "+"+strings.Repeat("y", shortChars)), ""},
		{"nothing", "", ""},
	} {
		want := strings.ReplaceAll(c.want, "](", "] (")
		if got, ok := s.inWords(agent.Preview{Path: "a", Diff: c.diff}); got != want && want != "" || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", c.name, got, ok, want)
		}
	}
	if _, ok := s.inWords(agent.Preview{Added: 4, Removed: 3, Diff: diff("-x", "+y")}); ok {
		t.Error("many lines are told")
	}
}

// previewWorld is a stock client, and a model that makes of a file n lines, in
// n calls of one run.
func previewWorld(t *testing.T, caps any, calls int, answers map[string]lsptest.Answer) *world {
	var steps []agenttest.Step
	for i := range calls {
		args := fmt.Sprintf(`{"path":"new%d.txt","content":%q}`, i, strings.Repeat(fmt.Sprintf("line of %d\n", i), 20))
		steps = append(steps, agenttest.Call(agent.ToolCall{ID: fmt.Sprint(i), Name: "write_file", Arguments: args}))
	}
	if answers["window/showMessageRequest"] == nil {
		answers["window/showMessageRequest"] = title("Allow once")
	}
	return newWorld(t, setup{llm: agenttest.NewLLM(t, steps...), init: lsptest.Init{Capabilities: caps}, answers: answers})
}

func (w *world) questions() (list []string) {
	for _, r := range w.Requests("window/showMessageRequest") {
		list = append(list, decodeAs[struct{ Message string }](w.t, r.Params).Message)
	}
	return list
}

// A change that is too long for a question is before a person's eyes when they
// are asked, and it is that change.
func TestLongChangeIsShownBesideItsQuestion(t *testing.T) {
	var mu sync.Mutex // answers run on goroutines of their own
	var seen, asked []string
	w := previewWorld(t, nil, 2, map[string]lsptest.Answer{
		"window/showDocument": func(params json.RawMessage) (any, error) {
			p := decodeAs[struct {
				URI       string
				TakeFocus *bool
				External  *bool
			}](t, params)
			_, path := canonical(p.URI)
			text, err := os.ReadFile(path)
			info, _ := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 || p.TakeFocus == nil || *p.TakeFocus || p.External != nil && *p.External {
				t.Errorf("%s, %v, %v", params, err, info)
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(path, "previews") {
				seen = append(seen, string(text))
			}
			return obj{"success": true}, nil
		},
		"window/showMessageRequest": func(params json.RawMessage) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, decodeAs[struct{ Message string }](t, params).Message)
			if len(seen) != len(asked) {
				t.Errorf("%d changes were shown before question %d", len(seen), len(asked))
			}
			return obj{"title": "Allow once"}, nil
		},
	})
	w.server.previews.wait = lsptest.Deadline
	result[agent.Result](t, w.ask("go", nil))
	mu.Lock()
	seen, asked = slices.Clone(seen), slices.Clone(asked)
	mu.Unlock()
	for i := range 2 {
		if !strings.Contains(seen[i], strings.Repeat(fmt.Sprintf("+line of %d\n", i), 20)) || !strings.Contains(seen[i], fmt.Sprintf("+++ new%d.txt", i)) {
			t.Errorf("%q", seen[i])
		}
		if !strings.Contains(asked[i], fmt.Sprintf("agentls: change new%d.txt (+20 −0 lines)?", i)) || !strings.Contains(asked[i], "The change is shown in ") || !strings.HasSuffix(asked[i], ".diff.") {
			t.Errorf("%q", asked[i])
		}
	}
	files := func() []string {
		list, err := filepath.Glob(filepath.Join(w.state, "previews", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if n := len(files()); n != 1 {
		t.Errorf("%d files of one session", n)
	}
	w.Shutdown()
	if n := len(files()); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// Where it cannot be shown the question comes all the same, and says how the
// change can be seen.
func TestLongChangeThatCannotBeShown(t *testing.T) {
	none := lsptest.Capabilities()
	none["window"] = obj{}
	for _, c := range []struct {
		name   string
		caps   any
		answer lsptest.Answer
		tries  int
	}{
		{"no capability", none, func(json.RawMessage) (any, error) { return obj{"success": true}, nil }, 0},
		{"an error", nil, func(json.RawMessage) (any, error) { return nil, errors.New("no") }, 2},
		{"no success", nil, func(json.RawMessage) (any, error) { return obj{"success": false}, nil }, 2},
		{"null", nil, func(json.RawMessage) (any, error) { return nil, nil }, 2},
		{"silence", nil, func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := previewWorld(t, c.caps, 2, map[string]lsptest.Answer{"window/showDocument": c.answer})
			result[agent.Result](t, w.ask("go", nil))
			if list := w.questions(); len(list) != 2 || !strings.HasSuffix(list[0], ".diff.") || !strings.HasSuffix(list[1], ".diff.") {
				t.Errorf("%q", list)
			} else if _, file, ok := strings.Cut(strings.TrimSuffix(list[1], "."), "The change is in "); !ok {
				t.Errorf("%q", list)
			} else if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "+line of 1") {
				t.Errorf("%q, %v", text, err)
			}
			tries := slices.DeleteFunc(w.Requests("window/showDocument"), func(r lsptest.Request) bool { return !strings.Contains(string(r.Params), "previews") })
			if len(tries) != c.tries {
				t.Errorf("%d tries, want %d", len(tries), c.tries)
			}
		})
	}
}

// A state directory that cannot be written hides nothing else.
func TestLongChangeThatCannotBeWritten(t *testing.T) {
	w := previewWorld(t, nil, 1, map[string]lsptest.Answer{})
	if err := os.WriteFile(filepath.Join(w.state, "previews"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := result[agent.Result](t, w.ask("go", nil)); len(r.Changed) != 1 {
		t.Errorf("%+v", r)
	}
	if list := w.questions(); len(list) != 1 || !strings.Contains(list[0], "The change cannot be shown: ") || !strings.HasSuffix(list[0], "agentls.approvals.") {
		t.Errorf("%q", list)
	}
}

// What a process that was killed left behind goes, and nothing else.
func TestOldPreviewsGo(t *testing.T) {
	s := &Server{o: Options{StateDir: t.TempDir()}}
	dir := filepath.Join(s.o.StateDir, "previews")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * previewAge)
	for _, name := range []string{"a-1-1.diff", "b-1-1.diff", "c.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if name != "b-1-1.diff" {
			if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := newPreviews(s)
	file, err := p.write(diffFile, "s", "d")
	if err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		if base := filepath.Base(name); base != "b-1-1.diff" && base != "c.txt" && name != file {
			t.Errorf("%s is left", name)
		}
	}
	if len(list) != 3 {
		t.Errorf("%q", list)
	}
}

// What a rewrite changed because a rule allows it is told, with how it is taken
// back; what a person was asked about, by us or by their editor, is not told
// again.
func TestChangesOfAnActionAreTold(t *testing.T) {
	annotating := lsptest.Capabilities()
	annotating["workspace"].(obj)["workspaceEdit"].(obj)["changeAnnotationSupport"] = obj{}
	short := editCall("1", "a.txt", "two", "2")
	long := callOf("1", "write_file", obj{"path": "new.txt", "content": strings.Repeat("x\n", 20)})
	for _, c := range []struct {
		name  string
		init  lsptest.Init
		call  agent.ToolCall
		asks  bool
		plain bool // no action
		want  []string
	}{
		{name: "short", call: short, want: []string{"rewrite changed a.txt (+1 −1 lines): - two → + 2. “Undo the changes of: …”"}},
		{name: "long", call: long, want: []string{"rewrite changed new.txt (+20 −0 lines). The change is shown in ", ".diff. “Undo"}},
		{name: "asked about", call: short, asks: true},
		{name: "a prompt", call: short, plain: true},
		{name: "an editor that asks", call: short, init: lsptest.Init{Capabilities: annotating}},
		{name: "on disk, where the editor does not ask", call: long, init: lsptest.Init{Capabilities: annotating}, want: []string{"rewrite changed new.txt"}},
		{name: "a client that shows runs", call: short, init: lsptest.Init{Features: []string{"runEvents"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			options := obj{"approval": obj{"allow": []string{"edit_file", "write_file"}}}
			if c.asks {
				options = nil
			}
			w := newWorld(t, setup{llm: agenttest.NewLLM(t, agenttest.Call(c.call)), init: c.init, options: options, files: map[string]string{"a.txt": "one\ntwo\n"}, answers: map[string]lsptest.Answer{
				"window/showMessageRequest": title("Allow once"),
			}})
			w.server.previews.wait = lsptest.Deadline
			uri := w.document("a.txt", "one\ntwo\n")
			if c.plain {
				result[agent.Result](t, w.ask("go", nil))
			} else {
				result[agent.Result](t, w.run(w.actions(uri, span(1, 0, 1, 3), obj{}), "Rewrite"))
			}
			told := func() (list []string) {
				for _, m := range w.messages("window/showMessage") {
					if strings.Contains(m, " changed ") {
						list = append(list, m)
					}
				}
				return list
			}
			if c.want != nil {
				w.Await("the changes told", func() bool { return len(told()) > 0 })
			}
			w.Shutdown() // all is told
			if list := told(); len(list) > 1 || (len(list) > 0) != (c.want != nil) {
				t.Fatalf("%q", list)
			}
			for _, want := range c.want {
				if got := told()[0]; !strings.Contains(got, want) {
					t.Errorf("%q is not in %q", want, got)
				}
			}
		})
	}
}

// The last run that changed a document can be taken back from there.
func TestUndoByAnAction(t *testing.T) {
	llm := agenttest.NewLLM(t, agenttest.Call(editCall("1", "a.txt", "two", "2")), agenttest.Text("done"), agenttest.Call(editCall("2", "b.txt", "b", "B")), agenttest.Text("done"))
	w := newWorld(t, setup{llm: llm, options: obj{"approval": obj{"allow": []string{"edit_file"}}}, files: map[string]string{"a.txt": "one\ntwo\n", "b.txt": "b\n"}})
	uri := w.document("a.txt", "one\ntwo\n")
	other := w.document("c.txt", "c\n")
	result[agent.Result](t, w.ask("change [a](command:x)", nil))
	result[agent.Result](t, w.ask("change b", nil))
	offered := func(uri string, context obj) (list []action) {
		for _, a := range w.actions(uri, span(0, 0, 0, 0), context) {
			if strings.HasPrefix(a.Title, "Undo") {
				list = append(list, a)
			}
		}
		return list
	}
	got := offered(uri, obj{"triggerKind": 1})
	if len(got) != 1 || got[0].Title != "Undo the changes of: change [a] (command:x)" || got[0].Kind != "quickfix" {
		t.Fatalf("%q", titles(got))
	}
	for name, list := range map[string][]action{
		"another document": offered(other, obj{}), "a resting cursor": offered(uri, obj{"triggerKind": 2}), "a kind": offered(uri, obj{"only": []string{"quickfix"}}),
	} {
		if len(list) > 0 {
			t.Errorf("%s: %q", name, titles(list))
		}
	}
	if string(w.Call("codeAction/resolve", got[0])) == "null" {
		t.Error("it cannot be resolved")
	}
	undone := result[agent.Undone](t, w.run(got, "Undo"))
	if w.Text(uri) != "one\ntwo\n" || len(undone.Restored) != 1 {
		t.Errorf("%q, %+v", w.Text(uri), undone)
	}
	if got := offered(uri, obj{}); len(got) > 0 {
		t.Errorf("after it %q", titles(got))
	}
	if err := failure(t, w.Start("codeAction/resolve", got[0]), -32803); !strings.Contains(err.Message, "nothing more") {
		t.Errorf("%v", err)
	}
}
