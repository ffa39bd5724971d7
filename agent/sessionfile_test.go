package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// keeper is an agent on a directory of sessions, as a process has one.
func keeper(dir string) *agent.Agent {
	a := agent.NewWith(agent.Options{Secrets: mcp.NewSecrets(), SessionsDir: dir, Log: slog.New(slog.DiscardHandler)}, newServers(), nil)
	a.SetDisk(func(f *os.File) agent.Disk { return hasty{f} })
	return a
}

// hasty is a disk that is not waited for at the end of each run.
type hasty struct{ *os.File }

func (hasty) Sync() error { return nil }

func begin(t testing.TB, a *agent.Agent, id string) *agent.Dialogue {
	t.Helper()
	d, err := a.Begin("/f", id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func finish(t testing.TB, d *agent.Dialogue) {
	t.Helper()
	if err := d.Finish(); err != nil {
		t.Fatal(err)
	}
}

// checkValid checks that a provider takes what a session says.
func checkValid(t testing.TB, d *agent.Dialogue) {
	t.Helper()
	all := append([]agent.Message{{Role: agent.System, Text: "s"}}, d.Messages()...)
	if err := agenttest.CheckHistory(all); err != nil {
		t.Errorf("%v in\n%q", err, all)
	}
}

// rich fills a session with all that a file may hold.
func rich(d *agent.Dialogue) {
	d.Ask("say ❤ \x00 <&> \u2028", "say ❤\n<resource>…</resource>")
	d.Step()
	d.Stream("I ")
	d.Stream("shall.")
	d.Call("I shall.", call("a", "read_file", `{"path":"x"}`), call("b", "list_dir", "{}"))
	d.Result("b", "second")
	d.Result("a", "first", agent.Image{MIMEType: "image/png", Data: "AAAA"})
	d.Settle("[a note]")
	d.Summarise(3, "It was said.")
	d.Steer("steered")
	d.Join(1, agent.Message{Role: agent.User, Text: "steered"})
	d.Step()
	d.Stream("lost attempt")
	d.Step()
	d.Stream("done")
	d.Add(agent.Message{Role: agent.Assistant, Text: "done"})
	d.End()
	d.Ask("again", "again")
	d.Add(agent.Message{Role: agent.Assistant, Text: "once more"})
	d.End()
	d.Anew()
	d.Ask("third", "third, expanded")
	d.Step()
	d.Stream("I call ")
	d.Call("I call", call("c", "run", "{}"), call("d", "run", "{}"))
	d.Result("c", "it ran")
}

// What the model sees after a reload is what it would have seen without, at
// each point of any history.
func TestSessionReloadsAsItWas(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		a := keeper(t.TempDir())
		d := begin(t, a, "s")
		words := []string{"", " ", "a\nb", "\x00", "\xff\xfe bad", "ünï", "<x>&", "\u2028", strings.Repeat("long ", 50), `"quoted\`}
		word := func() string { return words[rnd.IntN(len(words))] }
		d.Ask(word(), word())
		open := false
		for range rnd.IntN(40) {
			switch n := rnd.IntN(14); {
			case n > 11:
				d.Summarise(rnd.IntN(20), word())
			case n == 10:
				d.Steer(word())
			case n == 11:
				d.Join(rnd.IntN(4), agent.Message{Role: agent.User, Text: word()})
				open = false
			case n == 0:
				d.End()
				if rnd.IntN(2) == 0 {
					d.Ask(word(), word())
				} else {
					d.AskWith(word(), agent.Message{Role: agent.User, Text: word()}, agent.Message{Role: agent.Assistant, Text: word()},
						agent.Message{Role: agent.User, Text: word(), Images: []agent.Image{{MIMEType: "image/png", Data: "AA=="}}})
				}
				open = false
			case n == 1:
				d.Step()
			case n < 4:
				d.Stream(word())
			case n == 4:
				d.Add(agent.Message{Role: agent.Assistant, Text: word()}, agent.Message{Role: agent.User, Text: word()})
				open = false
			case n == 5:
				d.Call(word(), call("a", "t", word()), call("b\xff", "t", "{}"))
				open = true
			case n < 8 && open:
				d.Result([]string{"a", "b\xff", "other"}[rnd.IntN(3)], word(), agent.Image{MIMEType: "image/png", Data: "AA=="})
			case n == 8:
				d.Settle(word())
				open = false
			case n == 9:
				d.Anew()
				open = false
			}
		}
		if rnd.IntN(2) == 0 {
			d.End()
		}
		finish(t, d)
		got, err := a.StateOnDisk("/f", "s")
		if want := d.State(); err != nil || got != want {
			t.Fatalf("seed %d: %v: the file says\n%s\nthe memory\n%s", seed, err, got, want)
		}
		again := begin(t, keeper(filepath.Dir(filepath.Dir(a.SessionPath("/f", "s")))), "s")
		again.Ask("go on", "go on")
		d = begin(t, a, "other") // the memory's own way on
		checkValid(t, again)
		finish(t, again)
		finish(t, d)
	}
}

// charmbracelet/crush#2622: a file that a crash cut, at whatever byte, loads,
// and the session goes on from what was received.
func TestSessionCutAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	a := keeper(dir)
	d := begin(t, a, "s")
	rich(d)
	finish(t, d)
	path := a.SessionPath("/f", "s")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries := -1
	for n := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if edge := bytes.ContainsRune(whole[max(n-2, 0):min(n+2, len(whole))], '\n'); !edge && n%8 != 0 {
			if got, err := a.OnDisk("/f", "s"); err != nil || len(got) < entries-2 {
				t.Errorf("cut at %d: %d messages, there were %d, %v", n, len(got), entries, err)
			}
			continue
		}
		d := begin(t, keeper(dir), "s")
		if len(d.Told) > 0 {
			t.Fatalf("cut at %d: %v", n, d.Told)
		}
		checkValid(t, d)
		entries = max(entries, len(d.Messages())) // but for a round, which is added at once
		d.Ask("go on", "go on")
		d.Add(agent.Message{Role: agent.Assistant, Text: "gone on"})
		d.End()
		finish(t, d)
		got, err := keeper(dir).StateOnDisk("/f", "s")
		if err != nil || got != d.State() {
			t.Fatalf("cut at %d: %v: after going on the file says\n%s\nthe memory\n%s", n, err, got, d.State())
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	d = begin(t, keeper(dir), "s")
	d.Ask("go on", "go on")
	m := d.Messages()
	tail := m[len(m)-5:]
	if tail[1].Text != "it ran" || tail[2].Text != "The call was interrupted. Whether it had an effect is unknown." || tail[3].Text != "[the run was interrupted here]" || tail[4].Text != "go on" {
		t.Errorf("after a crash in a call: %q", tail)
	}
	finish(t, d)
}

// What a person added to a run is kept when the process ends before the model
// has it, once.
func TestAddedTextOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	d := begin(t, keeper(dir), "s")
	d.Ask("do it", "do it")
	d.Steer("one")
	d.Step()
	d.Stream("I a")
	d.Steer("two")
	d.Join(1, agent.Message{Role: agent.User, Text: "one, expanded"})
	d.Stream("m at")
	d.Steer("three")
	finish(t, d) // without its end, as killed
	d = begin(t, keeper(dir), "s")
	d.Ask("go on", "go on")
	var texts []string
	for _, m := range d.Messages() {
		texts = append(texts, m.Text)
	}
	equal(t, "history", texts, []string{
		"do it", "one, expanded", "m at\n\n[the run was interrupted here]", "two\n\nthree", "[the run ended before this was read]", "go on",
	})
	finish(t, d)
}

// What streamed is kept when the process ends: a crash loses the token in
// flight and no other.
func TestInterruptedAnswerIsKept(t *testing.T) {
	dir := t.TempDir()
	d := begin(t, keeper(dir), "s")
	d.Ask("tell", "tell")
	d.Step()
	d.Stream("Once upon ")
	d.Stream("a ti")
	finish(t, d) // without its end, as killed
	d = begin(t, keeper(dir), "s")
	d.Ask("go on", "go on")
	if m := d.Messages(); len(m) != 3 || m[1].Text != "Once upon a ti\n\n[the run was interrupted here]" {
		t.Errorf("messages %q", m)
	}
	finish(t, d)
}

func TestSessionFileOfOddContent(t *testing.T) {
	good := func(id string) []byte {
		a := keeper(t.TempDir())
		d := begin(t, a, id)
		d.Ask("one", "one")
		d.Add(agent.Message{Role: agent.Assistant, Text: "first"})
		d.End()
		d.Ask("two", "two")
		d.Add(agent.Message{Role: agent.Assistant, Text: "second"})
		d.End()
		finish(t, d)
		data, err := os.ReadFile(a.SessionPath("/f", id))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	lines := func(data []byte) [][]byte { return bytes.SplitAfter(data, []byte("\n")) }
	replace := func(n int, with string) []byte {
		l := lines(good("s"))
		l[n] = []byte(with)
		return bytes.Join(l, nil)
	}
	for _, c := range []struct {
		name string
		file []byte
		want string // the texts, or "error: …" with what it says
	}{
		{"as it was", good("s"), "one|first|two|second"},
		{"empty", nil, ""},
		{"NULs alone", make([]byte, 4096), ""},
		{"NULs behind", append(good("s"), make([]byte, 4096)...), "one|first|two|second"},
		{"NULs in the middle", replace(3, "\x00\x00\x00\n"), "one|[the run was interrupted here]|two|second"},
		{"a damaged line", replace(3, "{\"t\":\"add\",\"ent\n"), "one|[the run was interrupted here]|two|second"},
		{"a line of another kind", replace(3, "{\"t\":\"dream\"}\n"), "one|[the run was interrupted here]|two|second"},
		{"a line of another shape", replace(3, "[1,2]\n"), "one|[the run was interrupted here]|two|second"},
		{"an empty line", replace(3, "\n"), "one|[the run was interrupted here]|two|second"},
		{"twice the same line", replace(3, strings.Repeat(string(lines(good("s"))[3]), 2)), "one|first|first|two|second"},
		{"lines in another order", bytes.Join([][]byte{lines(good("s"))[0], lines(good("s"))[3], lines(good("s"))[1], lines(good("s"))[4]}, nil), "first|one|[the run was interrupted here]"},
		{"the beginning once more", append(good("s"), `{"t":"staged","entries":[{"role":"user","text":"x"}]}`+"\n"+`{"t":"anew","turn":-7,"staged":1}`+"\n"...), "x"},
		{"half of a new beginning", append(good("s"), `{"t":"staged","entries":[{"role":"user","text":"x"}]}`+"\n"...), "one|first|two|second"},
		{"no session", []byte("#!/bin/sh\necho hello\n"), "error: does not begin as the file of a session"},
		{"no session, no line", []byte("hello"), "error: does not begin as the file of a session"},
		{"another session's", good("other"), "error: it is the file of another session"},
		{"a newer one", []byte(`{"version":2,"folder":"/f","session":"s"}` + "\n{\"t\":\"new\"}\n"), "error: version 2 is not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			a := keeper(dir)
			path := a.SessionPath("/f", "s")
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, c.file, 0o600)); err != nil {
				t.Fatal(err)
			}
			d, err := a.Begin("/f", "s")
			if why, isError := strings.CutPrefix(c.want, "error: "); isError {
				pe, ok := errors.AsType[*agent.ProviderError](err)
				if !ok || !strings.Contains(pe.Message, why) {
					t.Errorf("error %v", err)
				}
				if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, c.file) {
					t.Errorf("the file was changed: %q, %v", now, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, m := range d.Messages() {
				texts = append(texts, m.Text)
			}
			if got := strings.Join(texts, "|"); got != c.want {
				t.Errorf("loaded %q", got)
			}
			d.Ask("go on", "go on")
			finish(t, d)
			if got, err := keeper(dir).StateOnDisk("/f", "s"); err != nil || got != d.State() {
				t.Errorf("%v: after going on the file says\n%s\nthe memory\n%s", err, got, d.State())
			}
		})
	}
}

// A file of 200 MB loads, and one that is 200 MB of nothing does too, without
// being held in memory; a run that is cancelled does not wait for either.
func TestSessionFileIsHuge(t *testing.T) {
	dir := t.TempDir()
	a := keeper(dir)
	said(t, a, "s", "first")
	path := a.SessionPath("/f", "s")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	result := []byte(`{"t":"add","entries":[{"role":"assistant","text":"` + strings.Repeat("a line of fifty bytes, as results of tools have it\\n", 1000) + `"}]}` + "\n")
	n := 0
	for size := 0; size < 200<<20; n++ {
		size += len(result)
		if _, err := f.Write(result); err != nil {
			t.Fatal(err)
		}
	}
	d := begin(t, keeper(dir), "s")
	if got := len(d.Messages()); got != 2+n {
		t.Errorf("%d messages, want %d", got, 2+n)
	}
	finish(t, d)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(agent.ErrCancelled)
	if _, err := keeper(dir).ShowSession(ctx, inF, "s"); !errors.Is(err, agent.ErrCancelled) {
		t.Errorf("cancelled: %v", err)
	}

	said(t, a, "nothing", "first")
	if err := errors.Join(f.Close(), os.Remove(path), os.Truncate(a.SessionPath("/f", "nothing"), 200<<20)); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d = begin(t, keeper(dir), "nothing")
	runtime.ReadMemStats(&after)
	if got := len(d.Messages()); got != 2 || after.TotalAlloc-before.TotalAlloc > 8<<20 {
		t.Errorf("%d messages, %d bytes", got, after.TotalAlloc-before.TotalAlloc)
	}
	finish(t, d)
	said(t, a, "more", "first")
	if err := os.Truncate(a.SessionPath("/f", "more"), 1<<30+1); err != nil {
		t.Fatal(err)
	}
	if _, err := keeper(dir).Begin("/f", "more"); err == nil || !strings.Contains(err.Error(), "start a new session") {
		t.Errorf("more than 1 GiB: %v", err)
	}
	if info, err := os.Stat(a.SessionPath("/f", "nothing")); err != nil || info.Size() > 1<<20 {
		t.Errorf("%v, %v", info, err)
	}
}

// Nothing but a file is taken for one, and nothing else is harmed.
func TestSessionFileThatIsNone(t *testing.T) {
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(path string) error{
		"symbolic link": func(path string) error { return os.Symlink(target, path) },
		"dangling link": func(path string) error { return os.Symlink(target+"2", path) },
		"directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":          func(path string) error { agent.MakePipe(t, path); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			a := keeper(t.TempDir())
			path := a.SessionPath("/f", "s")
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), make(path)); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Begin("/f", "s"); err == nil || !strings.Contains(err.Error(), "no regular file") {
				t.Errorf("error %v", err)
			}
			if list, err := a.Sessions(t.Context(), []string{"/f"}); err != nil || len(list) != 0 {
				t.Errorf("listed %v, %v", list, err)
			}
			if data, err := os.ReadFile(target); err != nil || string(data) != "precious" {
				t.Errorf("%q, %v", data, err)
			}
			if _, err := os.Lstat(target + "2"); err == nil {
				t.Error("a file was made through a link")
			}
		})
	}
}

func TestSessionFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	a := keeper(dir)
	d := begin(t, a, "../../../etc/passwd")
	d.Ask("x", "x")
	finish(t, d)
	n := 0
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		want := os.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		n++
		return err
	})
	if err != nil || n != 4 { // two folders, file and lock
		t.Errorf("%d files, %v", n, err)
	}
}

// PEERS 62, charmbracelet/crush#2690: a second process on a session is told so
// at once, and goes on from what the first left when it is done.
func TestSecondProcessOnASession(t *testing.T) {
	dir := t.TempDir()
	one, two := keeper(dir), keeper(dir)
	d := begin(t, one, "s")
	d.Ask("one", "one")
	_, err := two.Begin("/f", "s")
	pe, ok := errors.AsType[*agent.ProviderError](err)
	if !ok || !pe.Retryable || !strings.Contains(pe.Message, fmt.Sprintf("another agentls process (%d)", os.Getpid())) {
		t.Errorf("the second process is told %v", err)
	}
	other := begin(t, two, "another")
	finish(t, other)
	d.Add(agent.Message{Role: agent.Assistant, Text: "first"})
	d.End()
	finish(t, d)
	e := begin(t, two, "s")
	e.Ask("two", "two")
	if got := len(e.Messages()); got != 3 {
		t.Errorf("the second process has %d messages", got)
	}
	e.End()
	finish(t, e)
	d = begin(t, one, "s") // the file grew since
	if d.State() != e.State() {
		t.Errorf("the first process has\n%s\nthe second\n%s", d.State(), e.State())
	}
	finish(t, d)
	if err := one.DeleteSession([]string{"/f"}, "s"); err != nil {
		t.Fatal(err)
	}
	e = begin(t, two, "s") // it is gone since
	if got := len(e.Messages()); got != 0 {
		t.Errorf("of a deleted session %d messages are left", got)
	}
	finish(t, e)
}

// A directory that cannot be written is told once, and the run goes on; when
// it can be written again, nothing of the session is missing there.
func TestSessionDirectoryCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		dir := filepath.Join(w.state, "sessions")
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file in its place
			t.Fatal(err)
		}
		for _, prompt := range []string{"one", "two"} {
			if _, _, err := w.run(t.Context(), prompt); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "notices", notices(w.host), []string{"This session cannot be kept on disk and is lost with this process: mkdir …: not a directory"})
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		_, llm := w.must("three") // it is on disk now
		if n := len(llm.Last().Messages); n != 6 {
			t.Errorf("%d messages", n)
		}
		w.restart()
		_, llm = w.must("four")
		if n := len(llm.Last().Messages); n != 8 {
			t.Errorf("%d messages after a restart", n)
		}
	})
}

// notices are the sentences that were told, without paths.
func notices(h *agenttest.Host) (list []string) {
	for _, e := range h.Events() {
		if e.Kind != agent.EventNotice {
			continue
		}
		words := strings.Fields(e.Delta)
		for i, w := range words {
			if strings.HasPrefix(w, "/") {
				words[i] = "…:"
			}
		}
		list = append(list, strings.Join(words, " "))
	}
	return list
}
