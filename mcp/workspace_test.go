package mcp

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
		items, _ := m.Complete(t.Context(), prefix, 100)
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

// The resources that come later (the editor's diagnostics, the diffs of a
// folder once it is trusted) are completed, mentioned and read like files.
func TestMentionsOfDiagnosticsAndDiffs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a b.go": "old\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
	}
	state := workspace.NewState()
	state.SetFolders([]workspace.Folder{{Path: dir, Name: "ws"}})
	// What git is given is the base environment.
	m := NewManager(Options{Name: "test", Version: "0", State: state, Environ: append(os.Environ(), "GIT_EXTERNAL_DIFF=false", "GIT_DIR=/nowhere")})
	defer m.Close()
	await := func(prefix string, want ...string) {
		t.Helper()
		eventually(t, prefix, func() bool {
			items, _ := m.Complete(t.Context(), prefix, 100)
			first := inserts(items) // what matches less well comes after
			return len(first) >= len(want) && slices.Equal(slices.Sorted(slices.Values(first[:len(want)])), want)
		})
	}
	await("workspace:", "workspace:file://a%20b.go")
	state.TrustFolder(dir)
	state.SetDiagnostics(workspace.Diagnostics{Path: filepath.Join(dir, "a b.go"), List: []workspace.Diagnostic{{Message: "wrong"}}})
	await("workspace:git", "workspace:git://diff/staged", "workspace:git://diff/unstaged")
	await("workspace:diag", "workspace:diagnostics://a%20b.go", "workspace:diagnostics://all")
	for uri, want := range map[string]string{
		"git://diff/staged": "+old\n", "git://diff/unstaged": "No changes.\n",
		"diagnostics://all": "a b.go:1:1: error: wrong\n", "diagnostics://a%20b.go": "a b.go:1:1: error: wrong\n",
	} {
		found := m.Mentions("see @workspace:" + uri + ".")
		if len(found) != 1 || found[0].URI != uri || !found[0].Known {
			t.Errorf("%s: %+v", uri, found)
		}
		contents, err := m.Read(t.Context(), "workspace", uri)
		if err != nil || len(contents) != 1 || !strings.HasSuffix(contents[0].Text, want) {
			t.Errorf("%s: %+v %v", uri, contents, err)
		}
	}
	// Read, they are followed.
	if err := os.WriteFile(filepath.Join(dir, "a b.go"), []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the diff is stale", func() bool {
		list, err := m.Resources("workspace")
		return err == nil && slices.ContainsFunc(list.Resources, func(r Resource) bool { return r.URI == "git://diff/unstaged" && r.Stale })
	})
	if contents, err := m.Read(t.Context(), "workspace", "git://diff/unstaged"); err != nil || !strings.Contains(contents[0].Text, "-old\n+new\n") {
		t.Errorf("%+v %v", contents, err)
	}
}
