package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// veryfront/veryfront-code#2226, tinyhumansai/openhuman#1898
func TestPathsStayInside(t *testing.T) {
	b := newBench(t)
	b.link("../outside.txt", "link")
	b.link(filepath.Dir(b.dir), "up")
	b.link("up/outside.txt", "chain")
	b.link("../nosuch", "dangling")
	b.link("src", "inside")
	b.link(filepath.Join(b.dir, "src"), "absolute")
	for _, p := range []string{
		"../outside.txt", "src/../../outside.txt", "./../outside.txt", "..", "../ws/../outside.txt", filepath.Join(filepath.Dir(b.dir), "outside.txt"),
		"ws/../../outside.txt", "lib/../../outside.txt", "/etc/passwd", b.dir + "/../outside.txt", b.dir + "x/file", "link", "up/outside.txt", "chain", "up", "src/sub/../../../outside.txt",
	} {
		b.check(readFileTool(), fields{"path": p}, "error: ", "NOT one: outside", "outside the workspace folders")
		b.check(listDirTool(), fields{"path": p}, "error: ", "NOT outside.txt (")
	}
	for _, p := range []string{"file:///etc/passwd", "file://" + b.dir + "/a.txt", "a.txt\x00", "a\n.txt", `C:\Windows\win.ini`, `..\outside.txt`, "~/x", strings.Repeat("x/", 3000), "dangling", "dangling/x"} {
		b.check(readFileTool(), fields{"path": p}, "error: ", "NOT one: outside")
	}
	for _, p := range []string{"inside/main.go", "absolute/main.go", "src/../src/main.go", b.dir + "/src/main.go"} {
		b.check(readFileTool(), fields{"path": p}, "package main")
	}
	b.check(searchCodeTool(), fields{"query": "outside"}, "[nothing found]")
}

// A link that is made between the check and the use leads nowhere.
func TestLinkMadeAfterTheCheck(t *testing.T) {
	b := newBench(t)
	for _, to := range []string{"../outside.txt", ".env", filepath.Join(b.dir, "..", "outside.txt")} {
		at, err := b.env.folders.resolve("a.txt", b.desk)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(b.dir, "a.txt")); err != nil {
			t.Fatal(err)
		}
		b.link(to, "a.txt")
		if text, err := diskText(at); err == nil {
			t.Errorf("a link to %s was followed: %q", to, text)
		}
		at, err = b.env.folders.resolve("src/main.go", b.desk)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(b.dir, "src"), filepath.Join(b.dir, "moved")); err != nil {
			t.Fatal(err)
		}
		b.link("..", "src")
		if text, err := diskText(at); err == nil {
			t.Errorf("a directory that became a link was followed: %q", text)
		}
		_ = os.Remove(filepath.Join(b.dir, "src"))
		if err := os.Rename(filepath.Join(b.dir, "moved"), filepath.Join(b.dir, "src")); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(b.dir, "a.txt"))
		b.write("ws/a.txt", "one\n")
	}
}

func TestSeveralFolders(t *testing.T) {
	b := newBench(t)
	b.write("lib/b.txt", "bee\n")
	b.write("lib/a.txt", "other\n")
	lib := filepath.Join(filepath.Dir(b.dir), "lib")
	b.env.folders = findFolders([]Folder{{Path: b.dir}, {Path: lib}, {Path: filepath.Join(b.dir, "nosuch")}, {Path: lib + "/"}})
	b.check(readFileTool(), fields{"path": "b.txt"}, "bee")
	b.check(readFileTool(), fields{"path": "a.txt"}, "error: ", `the path "a.txt" may be in several workspace folders`, "ws/a.txt, lib/a.txt")
	b.check(readFileTool(), fields{"path": "lib/a.txt"}, "other")
	b.check(readFileTool(), fields{"path": "ws/a.txt"}, "one")
	b.check(readFileTool(), fields{"path": "../lib/a.txt"}, "other")
	b.check(readFileTool(), fields{"path": "../outside.txt"}, "error: ", "outside the workspace folders", b.dir, lib)
	b.check(listDirTool(), fields{}, "ws/ ("+b.dir+")", "lib/ ("+lib+")")
	b.check(listDirTool(), fields{"path": "lib"}, "b.txt (4 bytes)")
	b.check(searchCodeTool(), fields{"query": "bee"}, "lib/b.txt:1: bee")
}

// A path means one folder: that whose name it begins with, or the only one
// that it can be in. What may be in several is not guessed.
func TestNewFilesLandInTheirFolder(t *testing.T) {
	b := newBench(t)
	top := filepath.Dir(b.dir)
	b.write("lib/src/x.go", "x\n")
	b.write("ws/lib/taken.txt", "of ws\n")
	b.write("other/ws/b.txt", "namesake\n")
	b.write("ws/inner/c.txt", "nested\n")
	b.env.folders = findFolders([]Folder{{Path: b.dir}, {Path: filepath.Join(top, "lib")}, {Path: filepath.Join(top, "other", "ws")}, {Path: filepath.Join(b.dir, "inner")}})
	write := func(path string, want ...string) {
		t.Helper()
		b.check(writeFileTool(), fields{"path": path, "content": "new: " + path + "\n"}, want...)
	}
	write("lib/new.txt", "Created lib/new.txt")
	write("lib/deep/er/new.txt", "Created lib/deep/er/new.txt")
	write("lib/taken.txt", "Created lib/taken.txt") // though the first folder has one of this name
	write("ws/lib/taken.txt", "error: ", `"ws/lib/taken.txt" exists and was not read`)
	write("ws~2/b2.txt", "Created ws~2/b2.txt")
	write("inner/d.txt", "Created inner/d.txt")
	write("ws/inner/e.txt", "Created inner/e.txt")
	write("src/sub2/new.txt", "error: ", "may be in several workspace folders", "ws/src/sub2/new.txt, lib/src/sub2/new.txt")
	write("sub/new.txt", "error: ", "may be in several")
	write("top.txt", "error: ", "begin it with the folder's name (ws/top.txt, lib/top.txt, ws~2/top.txt, inner/top.txt)")
	for name, want := range map[string]string{
		"../lib/new.txt": "lib/new.txt", "../lib/deep/er/new.txt": "lib/deep/er/new.txt", "../lib/taken.txt": "lib/taken.txt", "lib/taken.txt": "",
		"../other/ws/b2.txt": "ws~2/b2.txt", "inner/d.txt": "inner/d.txt", "inner/e.txt": "ws/inner/e.txt",
	} {
		text := "new: " + want + "\n"
		if want == "" {
			text = "of ws\n"
		}
		if got := b.disk(name); got != text {
			t.Errorf("%s holds %q", name, got)
		}
	}
	b.check(readFileTool(), fields{"path": "ws~2/b.txt"}, "namesake")
	b.check(readFileTool(), fields{"path": "b.txt"}, "namesake") // it is in one alone
	b.check(listDirTool(), fields{}, "ws/ ("+b.dir+")", "ws~2/ ("+filepath.Join(top, "other", "ws")+")")
	if out, err := b.use(searchCodeTool(), fields{"query": "nested"}); err != nil || strings.Count(out, "nested") != 1 || !strings.HasPrefix(out, "inner/c.txt:1:") {
		t.Errorf("%q %v", out, err)
	}
}

// Two folders that are one by a link are one.
func TestFolderByTwoPaths(t *testing.T) {
	b := newBench(t)
	b.link(b.dir, "../alias")
	alias := filepath.Join(filepath.Dir(b.dir), "alias")
	b.env.folders = findFolders([]Folder{{Path: b.dir}, {Path: alias, Name: "alias"}})
	b.check(readFileTool(), fields{"path": "a.txt"}, "one")
	b.check(readFileTool(), fields{"path": filepath.Join(alias, "a.txt")}, "one")
	if out, err := b.use(searchCodeTool(), fields{"query": "one"}); err != nil || strings.Count(out, "a.txt:1:") != 1 {
		t.Errorf("%q %v", out, err)
	}
}
