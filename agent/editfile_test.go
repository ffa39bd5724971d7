package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func edit(path string, pairs ...string) fields {
	var edits []fields
	for i := 0; i < len(pairs); i += 2 {
		edits = append(edits, fields{"old": pairs[i], "new": pairs[i+1]})
	}
	return fields{"path": path, "edits": edits}
}

func (b *bench) disk(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// clean fails the test where something was left behind beside the files.
func (b *bench) clean() {
	b.t.Helper()
	left, err := filepath.Glob(filepath.Join(b.dir, "*", ".agentls-*"))
	here, err2 := filepath.Glob(filepath.Join(b.dir, ".agentls-*"))
	if err != nil || err2 != nil || len(left)+len(here) > 0 {
		b.t.Errorf("left behind: %q %q", left, here)
	}
}

func TestEditFile(t *testing.T) {
	b := newBench(t)
	tool := editFileTool()
	b.check(tool, edit("a.txt", "two", "2", "three", "3"), "Edited a.txt: +2 −2 lines, from line 2.")
	if got := b.disk("a.txt"); got != "one\n2\n3\n" {
		t.Errorf("%q", got)
	}
	b.check(tool, edit("a.txt", "one", "1", "nosuch", "x"), "error: ", "edit 2 of 2", "Nothing was changed")
	b.check(tool, edit("nosuch", "a", "b"), "error: ", `there is no "nosuch"`, "write_file")
	b.check(tool, edit("src", "a", "b"), "error: ", "is a directory")
	b.check(tool, edit("bin.dat", "one", "b"), "error: ", "no UTF-8 text")
	b.check(tool, fields{"path": "a.txt"}, "error: ", "edits is missing")
	b.check(tool, fields{"edits": []fields{{"old": "a", "new": "b"}}}, "error: ", "path is missing")
	b.check(tool, fields{"path": "a.txt", "edits": "x"}, "error: ", `"edits" must be of type`)
	b.check(tool, edit("a.txt", "one", "x\x00"), "error: ", "NUL")
	b.check(tool, edit("a.txt", "one", strings.Repeat("x", maxWrite)), "error: ", "at most")
	b.write("ws/latin", "caf\xe9 one\n")
	b.check(tool, edit("latin", "one", "two"), "error: ", "no UTF-8 text")
	if got := b.disk("a.txt") + b.disk("latin") + b.disk("bin.dat"); got != "one\n2\n3\ncaf\xe9 one\none\x00two" {
		t.Errorf("%q", got)
	}
	b.clean()
}

func TestWriteFile(t *testing.T) {
	b := newBench(t)
	tool := writeFileTool()
	b.check(tool, fields{"path": "new/deep/file.txt", "content": "a\nb"}, "Created new/deep/file.txt: 2 lines.")
	b.check(tool, fields{"path": "new/deep/file.txt", "content": "a\nb"}, "has this text already")
	b.check(tool, fields{"path": "new/deep/file.txt", "content": "c"}, "Replaced new/deep/file.txt: +1 −2 lines.")
	b.check(tool, fields{"path": "a.txt", "content": "x"}, "error: ", "was not read in this session")
	b.check(readFileTool(), fields{"path": "a.txt", "range": fields{"start": 1, "end": 1}}, "one")
	b.check(tool, fields{"path": "a.txt", "content": ""}, "Replaced a.txt: +0 −3 lines.")
	b.check(tool, fields{"path": "src", "content": "x"}, "error: ", "is a directory")
	b.check(tool, fields{"path": "made/", "content": "x"}, "error: ", "names a directory")
	b.check(tool, fields{"path": "a.txt/b", "content": "x"}, "error: ")
	b.check(tool, fields{"path": "x"}, "error: ", "content is missing")
	b.check(tool, fields{"path": "x", "content": 5}, "error: ", "must be of type string")
	b.check(tool, fields{"path": "x", "content": "\x00"}, "error: ", "NUL")
	b.check(tool, fields{"path": "x", "content": strings.Repeat("x", maxWrite+1)}, "error: ", "at most 5242880")
	b.check(tool, fields{"path": "bin.dat", "content": "x"}, "error: ", "no UTF-8 text")
	if got := b.disk("a.txt") + b.disk("new/deep/file.txt") + b.disk("bin.dat"); got != "cone\x00two" {
		t.Errorf("%q", got)
	}
	b.write("ws/dos.txt", "\uFEFFa\r\nb\r\n")
	b.check(readFileTool(), fields{"path": "dos.txt"}, "a")
	b.check(tool, fields{"path": "dos.txt", "content": "x\ny\n"}, "Replaced")
	if got := b.disk("dos.txt"); got != "\uFEFFx\r\ny\r\n" {
		t.Errorf("%q", got)
	}
	b.clean()
}

// zed-industries/zed#59959, #42895: what changed since it was read is not
// overwritten, on disk or in the editor; reading it again lets it be edited.
func TestEditOfWhatChangedSinceItWasRead(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "a.txt")
	for _, change := range []func(text string){ // once it is open, the disk counts no more
		func(text string) { b.write("ws/a.txt", text) },
		func(text string) { b.desk[path] = text },
	} {
		change("one\n")
		b.check(readFileTool(), fields{"path": "a.txt"}, "one")
		change("one\nmore\n")
		for range 2 {
			b.check(editFileTool(), edit("a.txt", "one", "1"), "error: ", "changed since it was read; read it again")
			b.check(writeFileTool(), fields{"path": "a.txt", "content": "x"}, "error: ", "changed since it was read; read it again")
		}
		b.check(readFileTool(), fields{"path": "a.txt"}, "more")
		b.check(editFileTool(), edit("a.txt", "one", "1"), "Edited")
		b.check(editFileTool(), edit("a.txt", "1", "one"), "Edited") // its own edits are known
	}
	if got := b.disk("a.txt"); got != "one\nmore\n" {
		t.Errorf("the file behind the editor's is %q", got)
	}
}

// A byte order mark that the editor takes away is no change.
func TestByteOrderMarkIsNoChange(t *testing.T) {
	b := newBench(t)
	b.write("ws/a.txt", "\uFEFFone\n")
	b.check(readFileTool(), fields{"path": "a.txt"}, "one")
	b.desk[filepath.Join(b.dir, "a.txt")] = "one\n"
	b.check(editFileTool(), edit("a.txt", "one", "two"), "Edited a.txt", "not saved to disk yet")
}

func TestEditInTheEditor(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "a.txt")
	b.desk[path] = "unsaved\n"
	b.check(editFileTool(), edit("a.txt", "unsaved", "edited"), "Edited a.txt", "not saved to disk yet")
	if b.desk[path] != "edited\n" || b.disk("a.txt") != "one\ntwo\nthree\n" {
		t.Errorf("editor %q, disk %q", b.desk[path], b.disk("a.txt"))
	}
	if got := b.env.changes.unsaved(); len(got) != 1 || got[0] != "a.txt" {
		t.Errorf("unsaved: %q", got)
	}
	// A file that is only in the editor is there.
	b.desk[filepath.Join(b.dir, "new.txt")] = "draft\n"
	b.check(writeFileTool(), fields{"path": "new.txt", "content": "x"}, "error: ", "was not read")
	b.check(editFileTool(), edit("new.txt", "draft", "done"), "Edited new.txt")
}

// The calls of one answer run beside each other: edits of one file do not lose
// each other.
func TestEditsOfOneFileFollowEachOther(t *testing.T) {
	b := newBench(t)
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("line <%d>", i))
	}
	b.write("ws/a.txt", strings.Join(lines, "\n"))
	var calls sync.WaitGroup
	for i := range lines {
		calls.Go(func() {
			b.check(editFileTool(), edit("a.txt", fmt.Sprintf("<%d>", i), fmt.Sprintf("<%d!>", i)), "Edited")
		})
	}
	calls.Wait()
	if got := b.disk("a.txt"); strings.Count(got, "!>") != len(lines) {
		t.Errorf("edits were lost:\n%s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	unlock, _ := b.env.changes.locks.lock(t.Context(), filepath.Join(b.dir, "a.txt"))
	if _, err := editFileTool().run(ctx, b.env, marshal(edit("a.txt", "<1!>", "x"))); err == nil {
		t.Error("a cancelled edit did not give up its place")
	}
	unlock()
	if len(b.env.changes.locks.held) > 0 {
		t.Error("a lock is kept for ever")
	}
}

func TestPreview(t *testing.T) {
	b := newBench(t)
	p, ok := editFileTool().preview(b.env, marshal(edit("a.txt", "two", "2\n2½")))
	if !ok || p.Path != "a.txt" || p.Added != 2 || p.Removed != 1 || !strings.Contains(p.Diff, "\n-two\n+2\n+2½\n") {
		t.Errorf("%+v", p)
	}
	p, ok = writeFileTool().preview(b.env, marshal(fields{"path": "new.txt", "content": "a\n"}))
	if !ok || p.Added != 1 || !strings.Contains(p.Diff, "+a\n") {
		t.Errorf("%+v", p)
	}
	p, _ = writeFileTool().preview(b.env, marshal(fields{"path": "new.txt", "content": strings.Repeat("long\n", 100000)}))
	if len(p.Diff) > maxPreview || !strings.Contains(p.Diff, "agentls cut") {
		t.Errorf("%d bytes", len(p.Diff))
	}
	for _, args := range []fields{edit("a.txt", "nosuch", "x"), edit("../outside.txt", "one", "x"), {"path": "src", "edits": 5}} {
		if p, ok := editFileTool().preview(b.env, marshal(args)); ok {
			t.Errorf("%v: %+v", args, p)
		}
	}
	if b.disk("a.txt") != "one\ntwo\nthree\n" {
		t.Error("a look changed the file")
	}
}

// A failed edit tells nothing of a file that is not to be read unasked.
func TestFailedEditShowsNoSecrets(t *testing.T) {
	b := newBench(t)
	b.check(editFileTool(), edit(".env", "one=SECRT", "x"), "error: ", "does not occur", "NOT SECRET")
	b.check(editFileTool(), edit("vendor/x.go", "package onee", "x"), "error: ", "NOT package one\n", "NOT nearest")
	b.env.asked = true
	b.check(editFileTool(), edit(".env", "one=SECRT", "x"), "error: ", "one=SECRET")
}

// A file that was renamed is another one to write_file: what was read of its old
// name allows no blind write of either.
func TestRenamedFileIsReadAgain(t *testing.T) {
	b := newBench(t)
	b.check(readFileTool(), fields{"path": "a.txt"}, "one")
	if err := os.Rename(filepath.Join(b.dir, "a.txt"), filepath.Join(b.dir, "moved.txt")); err != nil {
		t.Fatal(err)
	}
	b.write("ws/a.txt", "another\n")
	b.check(writeFileTool(), fields{"path": "moved.txt", "content": "x"}, "error: ", "was not read in this session")
	b.check(writeFileTool(), fields{"path": "a.txt", "content": "x"}, "error: ", "changed since it was read")
	b.check(editFileTool(), edit("moved.txt", "one", "1"), "Edited moved.txt")
	b.check(readFileTool(), fields{"path": "a.txt"}, "another")
	b.check(writeFileTool(), fields{"path": "a.txt", "content": "x"}, "Replaced a.txt")
}
