package agent

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestReadFile(t *testing.T) {
	b := newBench(t)
	read := readFileTool()
	if text, err := b.use(read, fields{"path": "a.txt"}); text != "one\ntwo\nthree\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	lines := func(start, end int) fields {
		return fields{"path": "a.txt", "range": fields{"start": start, "end": end}}
	}
	b.check(read, lines(2, 2), "two\n[lines 2-2 of 3]", "NOT one", "NOT three")
	b.check(read, fields{"path": "a.txt", "range": fields{"start": 2}}, "two\nthree\n[lines 2-3 of 3]")
	b.check(read, lines(4, 5), "error: ", "has 3 lines")
	b.check(read, lines(3, 2), "error: ", "before its start")
	b.check(read, fields{"path": "a.txt", "lineNumbers": true}, "     2\ttwo\n")
	b.check(read, fields{"path": filepath.Join(b.dir, "src", "main.go")}, "package main")
	b.check(read, fields{"path": "empty"}, "[the file is empty]")
	b.check(read, fields{"path": "nosuch"}, `error: there is no "nosuch"`, "list_dir")
	b.check(read, fields{"path": "src"}, "error: ", "is a directory")
	b.check(read, fields{"path": "bin.dat"}, "error: ", "not text", "7 bytes")
	b.check(read, fields{}, "error: ", "path is missing")
	b.check(read, fields{"path": 5}, "error: ", `"path" must be of type string, not number`)
	b.check(read, fields{"path": "a.txt", "range": "1-2"}, "error: ", `"range" must be of type object`)
	b.write("ws/latin", "caf\xe9\n")
	b.check(read, fields{"path": "latin"}, "caf\uFFFD")

	b.write("ws/long.txt", strings.Repeat("0123456789\n", 100))
	b.env.limit = 500
	b.check(read, fields{"path": "long.txt"}, "0123456789\n[lines 1-22 of 100; ask for the rest with a range]")
	b.env.limit = 50000

	f, err := os.Create(filepath.Join(b.dir, "huge"))
	if err != nil || f.Truncate(maxFile+1) != nil || f.Close() != nil {
		t.Fatal(err)
	}
	b.check(read, fields{"path": "huge"}, "error: ", "at most 16777216")
}

// zed-industries/zed#53590: the agent reads what the user sees.
func TestReadFileGivesUnsavedText(t *testing.T) {
	b := newBench(t)
	b.desk[filepath.Join(b.dir, "a.txt")] = "unsaved\n"
	b.desk[filepath.Join(b.dir, "src", "main.go")] = "package main\n\nfunc main() {}\n"
	b.desk[filepath.Join(b.dir, "new", "file.go")] = "brand new\n"
	b.check(readFileTool(), fields{"path": "a.txt"}, "[unsaved text of the editor", "]\nunsaved\n", "NOT two")
	b.check(readFileTool(), fields{"path": "src/main.go"}, "NOT unsaved", "package main")
	b.check(readFileTool(), fields{"path": "new/file.go"}, "brand new")
	b.check(searchCodeTool(), fields{"query": "unsaved"}, "a.txt:1: unsaved")
}

func TestSpecialFilesAreNotOpened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no named pipes in a directory")
	}
	b := newBench(t)
	makePipe(t, filepath.Join(b.dir, "pipe"))
	done := make(chan struct{})
	go func() { // ends with the reads
		defer close(done)
		b.check(readFileTool(), fields{"path": "pipe"}, "error: ", "neither a file nor a directory")
		b.check(searchCodeTool(), fields{"query": "zzz"}, "[nothing found]")
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("a named pipe was opened")
	}
}
