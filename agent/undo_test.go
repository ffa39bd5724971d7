package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
)

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// disk is a file's text; "-" for one that is not there.
func (w *world) disk(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return "-"
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *world) undo(runID string) agent.Undone {
	w.t.Helper()
	out, err := w.agent.Undo(context.Background(), runID, []agent.Folder{{Path: w.dir}}, w.host)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func edits(path string, pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf(`{"old":%q,"new":%q}`, pairs[i], pairs[i+1]))
	}
	return fmt.Sprintf(`{"path":%q,"edits":[%s]}`, path, strings.Join(list, ","))
}

// changing are the steps of a run that edits, twice, and makes files.
func changing() []agenttest.Step {
	return []agenttest.Step{
		agenttest.Call(
			call("1", "edit_file", edits("disk.txt", "one", "two")),
			call("2", "edit_file", edits("open.txt", "draft", "edited")),
			call("3", "write_file", `{"path":"new/deep/made.txt","content":"made\n"}`),
			call("4", "write_file", `{"path":"new/other.txt","content":"other\n"}`),
			call("5", "mcp__fake__echo", `{"text":"x"}`),
		),
		agenttest.Call(call("6", "edit_file", edits("disk.txt", "two", "three"))),
	}
}

func changedWorld(t *testing.T) *world {
	w := newWorld(t)
	w.write("disk.txt", "one\n")
	w.write("open.txt", "saved\n")
	w.host.Open(w.path("open.txt"), "draft\n")
	res, _ := w.must("go", changing()...)
	want := []agent.ChangedFile{
		{URI: "file://" + w.path("disk.txt"), Saved: true},
		{URI: "file://" + w.path("new/deep/made.txt"), Saved: true},
		{URI: "file://" + w.path("new/other.txt"), Saved: true},
		{URI: "file://" + w.path("open.txt"), Saved: false},
	}
	slices.SortFunc(res.Changed, func(a, b agent.ChangedFile) int { return strings.Compare(a.URI, b.URI) })
	equal(t, "changed", res.Changed, want)
	equal(t, "untracked", res.Untracked, []string{"echo"})
	if text, _ := w.host.Document(w.path("open.txt")); text != "edited\n" || w.disk("open.txt") != "saved\n" || w.disk("disk.txt") != "three\n" {
		t.Fatalf("%q, %q, %q", text, w.disk("open.txt"), w.disk("disk.txt"))
	}
	return w
}

func TestUndo(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			w := changedWorld(t)
			if restart {
				w.agent.Close()
				w.restart()
			}
			out := w.undo("r1")
			slices.Sort(out.Restored)
			equal(t, "restored", out.Restored, []string{
				"file://" + w.path("disk.txt"), "file://" + w.path("new/deep/made.txt"), "file://" + w.path("new/other.txt"), "file://" + w.path("open.txt"),
			})
			equal(t, "untracked", out.Untracked, []string{"echo"})
			if len(out.Refused) > 0 {
				t.Errorf("refused %v", out.Refused)
			}
			if text, _ := w.host.Document(w.path("open.txt")); text != "draft\n" || w.disk("open.txt") != "saved\n" || w.disk("disk.txt") != "one\n" {
				t.Errorf("%q, %q, %q", text, w.disk("open.txt"), w.disk("disk.txt"))
			}
			if _, err := os.Stat(w.path("new")); err == nil {
				t.Error("the directories that the run made are left")
			}
			audited := 0
			for _, e := range w.lines() {
				if e.Tool == "undo" && e.DecidedBy == "command" && e.RunID == "r1" && e.Outcome == agent.Completed {
					audited++
				}
			}
			if audited != 4 {
				t.Errorf("%d lines in the audit", audited)
			}
			again := w.undo("r1")
			if len(again.Restored) > 0 || len(again.Refused) != 4 || !strings.Contains(again.Refused[0].Reason, "nothing more to undo") {
				t.Errorf("twice: %+v", again)
			}
		})
	}
}

// An editor's text has no byte order mark: one that is closed by then does not
// lose the file's.
func TestUndoKeepsTheByteOrderMark(t *testing.T) {
	w := newWorld(t)
	w.write("a.txt", "\uFEFFone\n")
	w.host.Open(w.path("a.txt"), "one\n")
	w.must("go", agenttest.Call(call("1", "edit_file", edits("a.txt", "one", "two"))))
	w.write("a.txt", "\uFEFFtwo\n") // saved and closed
	w.host = &agenttest.Host{}
	if out := w.undo("r1"); len(out.Restored) != 1 || w.disk("a.txt") != "\uFEFFone\n" {
		t.Errorf("%+v, %q", out, w.disk("a.txt"))
	}
}

// Nothing that somebody did after the run is undone with it.
func TestUndoRefusesWhatChangedSince(t *testing.T) {
	for _, c := range []struct {
		name, uri string
		change    func(w *world)
		reason    string
	}{
		{"on disk", "disk.txt", func(w *world) { w.write("disk.txt", "mine\n") }, "something else changed it"},
		{"removed", "disk.txt", func(w *world) { _ = os.Remove(w.path("disk.txt")) }, "removed since"},
		{"in the editor", "open.txt", func(w *world) { w.host.Open(w.path("open.txt"), "edited and more\n") }, "something else changed it"},
		{"opened and changed", "disk.txt", func(w *world) { w.host.Open(w.path("disk.txt"), "three and more\n") }, "something else changed it"},
		{"a file that it made", "new/other.txt", func(w *world) { w.write("new/other.txt", "mine\n") }, "something else changed it"},
		{"undone by hand", "disk.txt", func(w *world) { w.write("disk.txt", "one\n") }, "nothing to undo"},
		{"a link now", "disk.txt", func(w *world) {
			_ = os.Remove(w.path("disk.txt"))
			w.write("else.txt", "three\n")
			_ = os.Symlink("else.txt", w.path("disk.txt"))
		}, "leads elsewhere"},
		{"the editor refuses", "open.txt", func(w *world) {
			w.host.Editing = func(agent.Edit) error { return errors.New("read-only") }
		}, "read-only"},
		{"a person types", "open.txt", func(w *world) {
			w.host.Editing = func(agent.Edit) error { return agent.ErrStale }
		}, "changed while"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := changedWorld(t)
			c.change(w)
			text, _ := w.host.Document(w.path(c.uri))
			disk := w.disk(c.uri)
			out := w.undo("r1")
			if len(out.Restored) != 3 || len(out.Refused) != 1 || out.Refused[0].URI != "file://"+w.path(c.uri) || !strings.Contains(out.Refused[0].Reason, c.reason) {
				t.Errorf("%+v", out)
			}
			if now, _ := w.host.Document(w.path(c.uri)); now != text || w.disk(c.uri) != disk {
				t.Errorf("%q became %q, %q became %q", text, now, disk, w.disk(c.uri))
			}
		})
	}
}

func TestUndoOfWhatIsNotKnown(t *testing.T) {
	w := changedWorld(t)
	if _, err := w.agent.Undo(t.Context(), "nosuch", []agent.Folder{{Path: w.dir}}, w.host); !errors.Is(err, agent.ErrNoRun) {
		t.Errorf("%v", err)
	}
	out, err := w.agent.Undo(t.Context(), "r1", []agent.Folder{{Path: t.TempDir()}}, w.host)
	if err != nil || len(out.Refused) != 4 || !strings.Contains(out.Refused[0].Reason, "outside") || w.disk("disk.txt") != "three\n" {
		t.Errorf("%+v, %v", out, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(agent.ErrCancelled)
	w.host.Editing = func(agent.Edit) error { return nil }
	if _, err := w.agent.Undo(ctx, "r1", []agent.Folder{{Path: w.dir}}, w.host); !errors.Is(err, agent.ErrCancelled) || w.disk("disk.txt") != "three\n" {
		t.Errorf("%v, %q", err, w.disk("disk.txt"))
	}
}

// What undoes edits is kept for the owner alone, outlives a crash at any byte,
// and what a newer version wrote is left alone.
func TestUndoFiles(t *testing.T) {
	w := changedWorld(t)
	files, err := filepath.Glob(filepath.Join(w.state, "undo", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	info, err := os.Stat(files[0])
	dir, err2 := os.Stat(filepath.Dir(files[0]))
	if err != nil || err2 != nil || info.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), dir.Mode())
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		w.restart()
		if err := os.WriteFile(files[0], whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		// Everything else is as the run left it, so that what is known is undone.
		w.write("disk.txt", "three\n")
		out, err := w.agent.Undo(t.Context(), "r1", []agent.Folder{{Path: w.dir}}, &agenttest.Host{})
		head := strings.IndexByte(string(whole), '\n')
		if (err != nil) != (n < head) {
			t.Fatalf("cut at %d: %+v, %v", n, out, err)
		}
		if text := w.disk("disk.txt"); text != "three\n" && text != "one\n" {
			t.Fatalf("cut at %d: %q", n, text)
		}
	}
	newer := strings.Replace(string(whole), `"version":1`, `"version":2`, 1)
	if err := os.WriteFile(files[0], []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if _, err := w.agent.Undo(t.Context(), "r1", []agent.Folder{{Path: w.dir}}, w.host); err == nil || errors.Is(err, agent.ErrNoRun) || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("%v", err)
	}
	if data, _ := os.ReadFile(files[0]); string(data) != newer {
		t.Error("what a newer version wrote was changed")
	}
}

// The record is there before the edit: a crash between them loses nothing.
func TestUndoIsRecordedFirst(t *testing.T) {
	w := newWorld(t)
	w.write("a.txt", "one\n")
	w.host.Open(w.path("a.txt"), "one\n")
	recorded := ""
	w.host.Editing = func(agent.Edit) error {
		files, _ := filepath.Glob(filepath.Join(w.state, "undo", "*"))
		if len(files) == 1 {
			data, _ := os.ReadFile(files[0])
			recorded = string(data)
		}
		return nil
	}
	w.must("go", agenttest.Call(call("1", "edit_file", edits("a.txt", "one", "two"))))
	contains(t, recorded, `"before":"one\n"`, w.path("a.txt"))
}

// Where the record cannot be written the edit is made, undone in this process,
// and the failure told once.
func TestUndoWithoutADisk(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(filepath.Join(w.state, "undo"), nil, 0o600); err != nil { // in the way of the folder
		t.Fatal(err)
	}
	w.write("a.txt", "one\n")
	w.must("go", agenttest.Call(call("1", "edit_file", edits("a.txt", "one", "two"))), agenttest.Call(call("2", "edit_file", edits("a.txt", "two", "three"))))
	if out := w.undo("r1"); len(out.Restored) != 1 || w.disk("a.txt") != "one\n" {
		t.Errorf("%+v, %q", out, w.disk("a.txt"))
	}
	if n := strings.Count(w.log.String(), "what undoes edits cannot be kept"); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// Only so many runs are kept.
func TestUndoKeepsTheLastRuns(t *testing.T) {
	w := newWorld(t)
	for i := range 103 {
		w.task.RunID = fmt.Sprintf("r%d", i)
		w.must("go", agenttest.Call(call("1", "write_file", fmt.Sprintf(`{"path":"%d.txt","content":"x"}`, i))))
	}
	files, err := filepath.Glob(filepath.Join(w.state, "undo", "*"))
	if err != nil || len(files) > 100 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if _, err := w.agent.Undo(t.Context(), "r0", []agent.Folder{{Path: w.dir}}, w.host); !errors.Is(err, agent.ErrNoRun) {
		t.Errorf("%v", err)
	}
	if out := w.undo("r102"); len(out.Restored) != 1 || w.disk("102.txt") != "-" {
		t.Errorf("%+v", out)
	}
}

// A run of the same id is another run.
func TestUndoOfAnIDThatIsUsedAgain(t *testing.T) {
	w := newWorld(t)
	w.write("a.txt", "one\n")
	w.must("go", agenttest.Call(call("1", "edit_file", edits("a.txt", "one", "two"))))
	w.must("go", agenttest.Call(call("1", "edit_file", edits("a.txt", "two", "three"))))
	w.restart()
	if out := w.undo("r1"); len(out.Restored) != 1 || w.disk("a.txt") != "two\n" {
		t.Errorf("%+v, %q", out, w.disk("a.txt"))
	}
}
