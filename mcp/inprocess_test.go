package mcp

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
	"agentls/mcp/workspace"
)

func TestWorkspaceIsAServerLikeAnyOther(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("on disk"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := workspace.NewState()
	state.SetFolders([]workspace.Folder{{Path: dir, Name: "w"}})
	h := newHouse(t, Options{State: state}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "a", mcptest.Options{})})
	h.started()
	names := []string{}
	for _, i := range h.Servers() {
		names = append(names, i.Name)
	}
	if !slices.Equal(names, []string{"workspace", "a"}) || h.status("workspace").Status != StatusReady || !h.HasResources("workspace") {
		t.Errorf("%v %+v", names, h.status("workspace"))
	}
	eventually(t, "the file is listed", func() bool { return slices.Contains(h.uris("workspace"), "file://a.md") })
	read := func() string {
		t.Helper()
		contents, err := h.Read(t.Context(), "workspace", "file://a.md")
		if err != nil || len(contents) != 1 {
			t.Fatalf("%+v %v", contents, err)
		}
		return contents[0].Text
	}
	if got := read(); got != "on disk" {
		t.Errorf("%q", got)
	}
	state.SetDocument(workspace.Document{Path: filepath.Join(dir, "a.md"), URI: "file://" + dir + "/a.md", Text: "in the editor", Version: 2, Dirty: true})
	if got := read(); got != "in the editor" { // at once, not when the notification came
		t.Errorf("%q", got)
	}
	h.await("workspace", EventUpdated)
	if _, err := h.Read(t.Context(), "workspace", "file://none.md"); !errors.Is(err, ErrUnknownResource) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new file is listed", func() bool { return slices.Contains(h.uris("workspace"), "file://b.md") })
	h.await("workspace", EventResources)
	if _, err := h.Restart("workspace"); err != nil {
		t.Error(err)
	}
	h.started()
	if got := read(); got != "in the editor" {
		t.Errorf("%q", got)
	}
	// Its folders are the roots of the others.
	if got := h.mustCall("a", "ask", args{"method": "roots/list"}); !strings.Contains(got, "file://"+filepath.ToSlash(dir)) {
		t.Errorf("%s", got)
	}
}
