package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

var inF = []string{"/f"}

// said works on a session as a run does that completes.
func said(t testing.TB, a *agent.Agent, id string, words ...string) {
	t.Helper()
	d := begin(t, a, id)
	for _, w := range words {
		d.Ask(w, w+" <expanded>")
		d.Add(agent.Message{Role: agent.Assistant, Text: "answer to " + w})
		d.End()
	}
	finish(t, d)
}

func list(t testing.TB, a *agent.Agent, folders ...string) []agent.SessionInfo {
	t.Helper()
	got, err := a.Sessions(t.Context(), folders)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// awaitFile waits until a file holds some text.
func awaitFile(t *testing.T, path, text string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q is not in %s: %v", text, path, err)
		}
	}
}

func TestSessionList(t *testing.T) {
	dir := t.TempDir()
	a := keeper(dir)
	before := time.Now().UTC()
	said(t, a, "one", "first", "second")
	said(t, a, "two", strings.Repeat("long ", 20000)) // neither end shows the other
	live := begin(t, keeper(dir), "live")
	live.Ask("go", "go")
	live.Step()
	for range 5000 {
		live.Stream("some words of an answer that is long ")
	}
	live.Stream("so far")
	awaitFile(t, a.SessionPath("/f", "live"), "so far") // it is written beside us
	killed := begin(t, keeper(dir), "killed")
	killed.Ask("go", "go")
	finish(t, killed)
	if err := os.WriteFile(filepath.Join(filepath.Dir(a.SessionPath("/f", "x")), "foreign.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(a.SessionPath("/f", "one"), filepath.Join(filepath.Dir(a.SessionPath("/f", "x")), "copy.jsonl")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list(t, keeper(dir), "/nowhere", "/f") {
		got = append(got, fmt.Sprintf("%s %q %d %s", s.Session, s.Title, s.Turns, s.Status))
		if s.Folder != "/f" || s.CreatedAt.Before(before) || s.UpdatedAt.Before(s.CreatedAt) {
			t.Errorf("%+v", s)
		}
	}
	equal(t, "sessions", got, []string{
		`killed "title" 1 interrupted`, `live "title" 1 running`, `two "title" 1 completed`, `one "title" 2 completed`,
	})
	finish(t, live)
}

// The title is the beginning of the first prompt, fit to be shown.
func TestSessionTitle(t *testing.T) {
	w := newWorld(t)
	w.secrets.Add("hunter22secret")
	w.must("Why does\n\x1b[31mhunter22secret\u202e fail? " + strings.Repeat("é", 200))
	w.must("second")
	got := list(t, w.agent, w.dir)
	if len(got) != 1 || !strings.HasPrefix(got[0].Title, "Why does [31m") || strings.Contains(got[0].Title, "hunter22") || len([]rune(got[0].Title)) != 100 || got[0].Turns != 2 {
		t.Errorf("%+v", got)
	}
}

// What has no file is listed and shown as well.
func TestSessionsInMemory(t *testing.T) {
	a := keeper("")
	said(t, a, "one", "first")
	if got := list(t, a, "/f"); len(got) != 1 || got[0].Session != "one" || got[0].Turns != 1 || got[0].Status != "completed" {
		t.Errorf("%+v", got)
	}
	to, err := a.ForkSession(t.Context(), inF, "one")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.ClearSession(inF, "one"); err != nil {
		t.Error(err)
	}
	equal(t, "fork", shown(t, a, to), []string{"user: first", "assistant: answer to first"})
	if _, err := a.ShowSession(t.Context(), inF, "one"); !errors.Is(err, agent.ErrNoSession) {
		t.Error(err)
	}
	if err := a.DeleteSession(inF, to); err != nil || len(list(t, a, "/f")) != 0 {
		t.Errorf("%v, left %v", err, list(t, a, "/f"))
	}
}

// shown is what a person reads of a session.
func shown(t testing.TB, a *agent.Agent, id string) (lines []string) {
	t.Helper()
	s, err := a.ShowSession(t.Context(), inF, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Messages {
		line := fmt.Sprintf("%s: %s", m.Role, m.Text)
		for _, c := range m.ToolCalls {
			line += " " + c.Name
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSessionShow(t *testing.T) {
	dir := t.TempDir()
	a := keeper(dir)
	d := begin(t, a, "s")
	rich(d)
	want := []string{
		"user: say ❤ \x00 <&> \u2028", "assistant: I shall. read_file list_dir", "tool: first", "tool: second\n\n[a note]",
		"user: [agentls: the images of the tool results above, in order]", "user: steered", "assistant: done",
		"user: again", "assistant: once more",
		"user: third", "assistant: I call run run", "tool: it ran", "tool: The call was interrupted. Whether it had an effect is unknown.",
		"assistant: [the run was interrupted here]",
	}
	// While the run goes on its calls are not known to another process as lost.
	if s, err := a.ShowSession(t.Context(), inF, "s"); err != nil || s.Status != "running" {
		t.Errorf("%+v, %v", s.SessionInfo, err)
	}
	finish(t, d)
	equal(t, "shown", shown(t, keeper(dir), "s"), want)
	if s, err := keeper(dir).ShowSession(t.Context(), inF, "s"); err != nil || s.Status != "interrupted" || s.Turns != 3 || s.Messages[4].Images != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// What is shown is bounded: the newest are kept.
func TestSessionShowOfALongOne(t *testing.T) {
	a := keeper(t.TempDir())
	d := begin(t, a, "s")
	for i := range 3000 {
		d.Ask(fmt.Sprint("prompt ", i), "x")
		d.Add(agent.Message{Role: agent.Assistant, Text: strings.Repeat("y", 1<<(i%12))})
		d.End()
	}
	d.Ask("last", "x")
	d.Add(agent.Message{Role: agent.Assistant, Text: strings.Repeat("z", 1<<20)})
	d.End()
	finish(t, d)
	s, err := a.ShowSession(t.Context(), inF, "s")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range s.Messages {
		n += len(m.Text)
	}
	last := s.Messages[len(s.Messages)-1].Text
	if len(s.Messages) > 1000 || len(s.Messages)+s.Omitted != 6002 || n > 1<<20 || !strings.Contains(last, "[agentls cut") || s.Note != fmt.Sprintf("the %d oldest messages are not shown", s.Omitted) {
		t.Errorf("%d messages of %d bytes, %d omitted, %q", len(s.Messages), n, s.Omitted, s.Note)
	}
}

func TestSessionFork(t *testing.T) {
	dir := t.TempDir()
	a := keeper(dir)
	d := begin(t, a, "s")
	rich(d)
	running, err := a.ForkSession(t.Context(), inF, "s") // of one in use: what is there so far
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := keeper(dir).ForkSession(t.Context(), inF, "s")
	if err != nil {
		t.Fatal(err)
	}
	d.Result("d", "it ran too")
	d.Settle("")
	d.Add(agent.Message{Role: agent.Assistant, Text: "the end"})
	d.End()
	finish(t, d)
	for _, id := range []string{running, elsewhere} {
		f := begin(t, keeper(dir), id)
		f.Ask("another way", "another way")
		checkValid(t, f)
		m := f.Messages()
		if m[len(m)-3].Text != "The call was interrupted. Whether it had an effect is unknown." || m[0].Text != "say ❤\n<resource>…</resource>" {
			t.Errorf("%s: %q", id, m)
		}
		f.End()
		finish(t, f)
	}
	done, err := a.ForkSession(t.Context(), inF, "s")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the copy", shown(t, keeper(dir), done), shown(t, a, "s"))
	for _, s := range list(t, a, "/f") {
		if s.Session == done && (s.Title != "title" || s.Turns != 3 || s.Status != "completed") {
			t.Errorf("%+v", s)
		}
	}
	if _, err := a.ForkSession(t.Context(), inF, "none"); !errors.Is(err, agent.ErrNoSession) {
		t.Error(err)
	}
}

func TestSessionClearAndDelete(t *testing.T) {
	dir := t.TempDir()
	a, other := keeper(dir), keeper(dir)
	for name, do := range map[string]func(*agent.Agent, string) error{
		"clear":  func(a *agent.Agent, id string) error { return a.ClearSession(inF, id) },
		"delete": func(a *agent.Agent, id string) error { return a.DeleteSession(inF, id) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := do(a, "none"); !errors.Is(err, agent.ErrNoSession) {
				t.Error(err)
			}
			said(t, a, name, "private words")
			d := begin(t, a, name)
			for _, by := range []*agent.Agent{a, other} {
				if err := do(by, name); !errors.Is(err, agent.ErrSessionBusy) {
					t.Errorf("with a live run: %v", err)
				}
			}
			finish(t, d)
			created := list(t, a, "/f")[0].CreatedAt
			if err := do(other, name); err != nil {
				t.Fatal(err)
			}
			left := list(t, a, "/f")
			if name == "delete" && len(left) != 0 || name == "clear" && (len(left) != 1 || left[0].Turns != 0 || left[0].Title != "" || !left[0].CreatedAt.Equal(created)) {
				t.Errorf("left %+v", left)
			}
			err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err == nil && e.Type().IsRegular() {
					data, err := os.ReadFile(path)
					if err != nil || strings.Contains(string(data), "private") {
						t.Errorf("%s: %v %q", path, err, data)
					}
				} else if name == "delete" && path != dir {
					t.Errorf("left %s, %v", path, err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			d = begin(t, a, name) // which has it in memory
			d.Ask("anew", "anew")
			if m := d.Messages(); len(m) != 1 {
				t.Errorf("messages %q", m)
			}
			d.End()
			finish(t, d)
			if err := a.DeleteSession(inF, name); err != nil {
				t.Error(err)
			}
		})
	}
}

// A newer version's session is refused by all that would change it, and kept,
// but for the deletion that a person asks for.
func TestSessionOfANewerVersionIsKept(t *testing.T) {
	a := keeper(t.TempDir())
	path := a.SessionPath("/f", "s")
	text := `{"version":2,"folder":"/f","session":"s"}` + "\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, show := a.ShowSession(t.Context(), inF, "s")
	_, fork := a.ForkSession(t.Context(), inF, "s")
	_, run := a.Begin("/f", "s")
	for _, err := range []error{show, fork, run, a.ClearSession(inF, "s")} {
		if err == nil || !strings.Contains(err.Error(), "version 2 is not known") {
			t.Errorf("error %v", err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != text {
		t.Errorf("%q, %v", data, err)
	}
	if err := a.DeleteSession(inF, "s"); err != nil {
		t.Error(err)
	}
}

// A session that is forgotten in memory comes back from its file.
func TestForgottenSessionLoadsAgain(t *testing.T) {
	a := keeper(t.TempDir())
	for i := range 300 {
		said(t, a, fmt.Sprint(i), "prompt")
	}
	d := begin(t, a, "0")
	if len(d.Messages()) != 2 {
		t.Errorf("%q", d.Messages())
	}
	finish(t, d)
	if got := list(t, a, "/f"); len(got) != 300 || slices.ContainsFunc(got, func(s agent.SessionInfo) bool { return s.Turns != 1 }) {
		t.Errorf("%d sessions", len(got))
	}
}

// What was allowed for a session ends with the process, and with a clear.
func TestSessionApprovalIsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.host.Answer = agenttest.Always(agent.DecisionSession)
		asked := func(when string, want int) {
			t.Helper()
			w.must(when, agenttest.Call(call("c", "mcp__fake__echo", "{}")))
			if n := len(w.host.Questions()); n != want {
				t.Errorf("%s: %d questions, want %d", when, n, want)
			}
		}
		asked("first", 1)
		asked("again", 1)
		w.restart()
		asked("after a restart", 2)
		asked("again", 2)
		if err := w.agent.ClearSession([]string{w.dir}, "s"); err != nil {
			t.Fatal(err)
		}
		asked("after a clear", 3)
	})
}

// A session whose results are kept takes them along, and leaves none.
func TestSessionResultsGoWithIt(t *testing.T) {
	w := newWorld(t)
	w.task.Limits.ToolResultBytes = 1000
	w.must("go", agenttest.Call(call("c", "mcp__fake__echo", `{"text":"`+strings.Repeat("long ", 1000)+`"}`)))
	results := func() int {
		files, err := filepath.Glob(filepath.Join(w.state, "results", "*", "*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	in := []string{w.dir}
	to, err := w.agent.ForkSession(t.Context(), in, "s")
	if n := results(); err != nil || n != 2 {
		t.Fatalf("%d results after a fork, %v", n, err)
	}
	if err := w.agent.ClearSession(in, "s"); err != nil || results() != 1 {
		t.Errorf("%d results after a clear, %v", results(), err)
	}
	if err := w.agent.DeleteSession(in, to); err != nil || results() != 0 {
		t.Errorf("%d results after a delete, %v", results(), err)
	}
}
