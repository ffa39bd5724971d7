package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agentls/mcp/workspace"
)

// What the embedded server lists is completed, read as a mention, and followed
// when it changes; the list is never empty meanwhile (anthropics/claude-code#3326,
// PaiCLI P6).
func TestMentionsOfTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"README.md", "My Notes.md", "main.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := workspace.NewState()
	state.SetFolders([]workspace.Folder{{Path: dir, Name: "ws"}})
	m := NewManager(Options{Name: "test", Version: "0", State: state})
	defer m.Close()
	until := func(ok func() bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it did not happen in 10 s")
			}
		}
	}
	complete := func(prefix string) []string {
		items, _ := m.Complete(prefix, 100)
		return inserts(items)
	}
	until(func() bool { return len(complete("workspace:")) == 3 })
	if got := complete("read"); !slices.Equal(got, []string{"workspace:file://README.md"}) {
		t.Errorf("%q", got)
	}
	m.Used("workspace", "file://main.go")
	if got := complete(""); len(got) != 4 || got[0] != "workspace:file://main.go" || got[1] != "workspace:" {
		t.Errorf("%q", got)
	}
	mentions := m.Mentions("what's in @workspace:file://My%20Notes.md, and `@workspace:file://main.go` or @other:file://x?")
	want := []Mention{
		{Start: 10, End: 41, Server: "workspace", Name: "workspace", URI: "file://My%20Notes.md", Known: true},
		{Start: 48, End: 73, Server: "workspace", Name: "workspace", URI: "file://main.go", Known: true, Quoted: true},
		{Start: 78, End: 93, Name: "other", URI: "file://x"},
	}
	if !slices.Equal(mentions, want) {
		t.Errorf("%+v", mentions)
	}
	for _, uri := range []string{"file://README.md", "file://main.go"} {
		contents, err := m.Read(t.Context(), "workspace", uri)
		if err != nil || len(contents) != 1 || contents[0].Text != "text of "+uri[len("file://"):] {
			t.Errorf("%s: %+v %v", uri, contents, err)
		}
	}
	// An edit is read at once, whatever was read before.
	state.SetDocument(workspace.Document{Path: filepath.Join(dir, "main.go"), URI: "file:///main.go", Text: "unsaved"})
	if contents, err := m.Read(t.Context(), "workspace", "file://main.go"); err != nil || contents[0].Text != "unsaved" {
		t.Errorf("%+v %v", contents, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "later.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(func() bool {
		got := complete("workspace:")
		if len(got) < 3 {
			t.Fatalf("only %q meanwhile", got)
		}
		return slices.Contains(got, "workspace:file://later.md")
	})
}
