package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// veryfront/veryfront-code#2226, tinyhumansai/openhuman#1898,
// anomalyco/opencode#23423: nothing outside is written.
func TestWritesStayInside(t *testing.T) {
	b := newBench(t)
	b.link("../outside.txt", "link")
	b.link(filepath.Dir(b.dir), "up")
	b.link("../nosuch", "dangling")
	b.link("src", "inside")
	b.link("src/main.go", "main")
	for _, p := range []string{
		"../outside.txt", "../new.txt", "src/../../new.txt", filepath.Join(filepath.Dir(b.dir), "new.txt"), "link", "up/outside.txt", "up/new.txt",
		"dangling", "dangling/x", "a\x00b", "file:///etc/new", b.dir + "x/new", "/new.txt", "..",
	} {
		b.check(writeFileTool(), fields{"path": p, "content": "stolen"}, "error: ")
		b.check(editFileTool(), edit(p, "one", "stolen"), "error: ")
	}
	if runtime.GOOS != "windows" { // there they are names of files
		b.check(writeFileTool(), fields{"path": `C:\new.txt`, "content": "a name"}, "Created")
		b.check(writeFileTool(), fields{"path": `..\new.txt`, "content": "a name"}, "Created")
	}
	list, err := os.ReadDir(filepath.Dir(b.dir))
	if err != nil || len(list) != 2 {
		t.Errorf("beside the folder: %v, %v", list, err)
	}
	if data, _ := os.ReadFile(filepath.Join(filepath.Dir(b.dir), "outside.txt")); string(data) != "one: outside\n" {
		t.Errorf("%q", data)
	}
	// A link inside is followed, and stays one.
	b.check(editFileTool(), edit("inside/main.go", "package main", "package inside"), "Edited")
	b.check(editFileTool(), edit("main", "package inside", "package link"), "Edited")
	if info, err := os.Lstat(filepath.Join(b.dir, "main")); err != nil || info.Mode()&fs.ModeSymlink == 0 || !strings.HasPrefix(b.disk("src/main.go"), "package link") {
		t.Errorf("%v, %v: %q", info, err, b.disk("src/main.go"))
	}
	b.clean()
}

// What becomes of a path between its check and its use leads nowhere.
func TestLinkMadeBeforeTheWrite(t *testing.T) {
	for _, step := range []string{"", "checked", "writing", "written"} {
		for _, to := range []string{"../outside.txt", ".env"} {
			b := newBench(t)
			b.env.changes.step = func(now string) error {
				if now == step {
					_ = os.Remove(filepath.Join(b.dir, "a.txt"))
					b.link(to, "a.txt")
				}
				return nil
			}
			if step == "" {
				at, err := b.env.folders.resolve("a.txt", b.desk)
				if err != nil {
					t.Fatal(err)
				}
				file, _ := at.look()
				_ = os.Remove(filepath.Join(b.dir, "a.txt"))
				b.link(to, "a.txt")
				if _, err := file.replace("stolen", noStep); !errors.Is(err, ErrStale) {
					t.Errorf("%v", err)
				}
			} else {
				b.check(editFileTool(), edit("a.txt", "one", "stolen"), "error: ", "changed meanwhile")
			}
			for _, name := range []string{"../outside.txt", ".env"} {
				if strings.Contains(b.disk(name), "stolen") {
					t.Errorf("at %q: a link to %s was followed", step, to)
				}
			}
			b.clean()
		}
		// A directory that becomes a link: what is written goes to the one
		// that was checked, or nowhere.
		b := newBench(t)
		b.write("elsewhere/main.go", "package main\n\nfunc main() {}\n")
		b.env.changes.step = func(now string) error {
			if now == step {
				if err := os.Rename(filepath.Join(b.dir, "src"), filepath.Join(b.dir, "moved")); err != nil {
					t.Error(err)
				}
				b.link("../elsewhere", "src")
			}
			return nil
		}
		_, _ = b.use(editFileTool(), edit("src/main.go", "package main", "package stolen"))
		if data, _ := os.ReadFile(filepath.Join(filepath.Dir(b.dir), "elsewhere", "main.go")); strings.Contains(string(data), "stolen") {
			t.Errorf("at %q: a directory that became a link was followed", step)
		}
	}
}

// editor-code-assistant/eca#558, charmbracelet/crush#2690: what another
// process writes meanwhile is not lost.
func TestAnotherProcessWritesMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		by   func(b *bench)
		want string
	}{
		"changed": {"a.txt", func(b *bench) { b.write("ws/a.txt", "theirs\n") }, "theirs\n"},
		"made":    {"new.txt", func(b *bench) { b.write("ws/new.txt", "theirs\n") }, "theirs\n"},
		"removed": {"a.txt", func(b *bench) { _ = os.Remove(filepath.Join(b.dir, "a.txt")) }, ""},
	} {
		b := newBench(t)
		if name != "made" {
			b.check(readFileTool(), fields{"path": c.path}, "one")
		}
		b.env.changes.step = func(now string) error {
			if now == "written" {
				c.by(b)
			}
			return nil
		}
		b.check(writeFileTool(), fields{"path": c.path, "content": "ours\n"}, "error: ", "changed meanwhile; nothing was written")
		if got, _ := os.ReadFile(filepath.Join(b.dir, c.path)); string(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
		if len(b.env.changes.list()) > 0 {
			t.Errorf("%s: told as changed", name)
		}
		b.clean()
	}
}

func TestFailedWriteLeavesTheOldText(t *testing.T) {
	for _, step := range []string{"checked", "writing", "written"} {
		b := newBench(t)
		b.env.changes.step = func(now string) error {
			if now == step {
				return &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
			}
			return nil
		}
		b.check(editFileTool(), edit("a.txt", "one", "1"), "error: ", "cannot be written", syscall.ENOSPC.Error(), "It is as it was")
		b.check(writeFileTool(), fields{"path": "new/dir/x", "content": "x"}, "error: ", syscall.ENOSPC.Error())
		if _, err := os.Stat(filepath.Join(b.dir, "new")); b.disk("a.txt") != "one\ntwo\nthree\n" || err == nil {
			t.Errorf("%s: %q, %v", step, b.disk("a.txt"), err)
		}
		b.clean()
	}
}

func TestWriteKeepsTheMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes there")
	}
	b := newBench(t)
	path := filepath.Join(b.dir, "a.txt")
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o664} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		b.check(editFileTool(), edit("a.txt", "one", "one!"), "Edited")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%v became %v, %v", mode, info.Mode(), err)
		}
	}
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	b.check(editFileTool(), edit("a.txt", "one", "1"), "error: ", "is read-only")
	if err := os.Mkdir(filepath.Join(b.dir, "fixed"), 0o555); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 { // root may write anywhere
		b.check(writeFileTool(), fields{"path": "fixed/x", "content": "x"}, "error: ", "permission denied")
	}
	b.clean()
}

func TestSpecialFilesAreNotWritten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no named pipes in a directory")
	}
	b := newBench(t)
	makePipe(t, filepath.Join(b.dir, "pipe"))
	b.link("/dev/null", "null")
	done := make(chan struct{})
	go func() { // ends with the calls
		defer close(done)
		b.check(writeFileTool(), fields{"path": "pipe", "content": "x"}, "error: ", "no file that can be edited")
		b.check(editFileTool(), edit("pipe", "a", "b"), "error: ", "no file that can be edited")
		b.check(writeFileTool(), fields{"path": "null", "content": "x"}, "error: ", "outside the workspace folders")
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("a named pipe was opened")
	}
}
