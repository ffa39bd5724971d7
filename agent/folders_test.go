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
		"/etc/passwd", b.dir + "/../outside.txt", b.dir + "x/file", "link", "up/outside.txt", "chain", "up", "src/sub/../../../outside.txt",
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
	b.env.folders = findFolders([]string{b.dir, lib, filepath.Join(b.dir, "nosuch")})
	b.check(readFileTool(), fields{"path": "b.txt"}, "bee")
	b.check(readFileTool(), fields{"path": "a.txt"}, "one")
	b.check(readFileTool(), fields{"path": "lib/a.txt"}, "other")
	b.check(readFileTool(), fields{"path": "ws/a.txt"}, "one")
	b.check(readFileTool(), fields{"path": "../lib/a.txt"}, "other")
	b.check(readFileTool(), fields{"path": "../outside.txt"}, "error: ", "outside the workspace folders", b.dir, lib)
	b.check(listDirTool(), fields{}, "ws/ ("+b.dir+")", "lib/ ("+lib+")")
	b.check(listDirTool(), fields{"path": "lib"}, "b.txt (4 bytes)")
	b.check(searchCodeTool(), fields{"query": "bee"}, "lib/b.txt:1: bee")
}
