package mcp

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
	"agentls/mcp/workspace"
)

// askRoots is how the fake is made to ask for the roots, and what it got.
func (h *house) askRoots(modern bool) string {
	h.t.Helper()
	if modern {
		return h.mustCall("fake", "need", args{"inputs": json.RawMessage(`{"r":{"method":"roots/list"}}`)})
	}
	return h.mustCall("fake", "ask", args{"method": "roots/list"})
}

// withFolders opens a house whose folders change, with a fake server.
func withFolders(t *testing.T, name string, change func(*ServerConfig), folders ...workspace.Folder) (*house, *workspace.State, ear) {
	t.Helper()
	state := workspace.NewState()
	state.SetFolders(folders)
	o := Options{State: state}
	h, heard := everyTransportWith(t, o, mcptest.Options{}, change)[name](t)
	return h, state, heard
}

// Row 57: roots are the workspace folders, as file URIs, and a server up to
// 2025-11-25 hears of changes, once; since then it asks when it needs them.
func TestRootsFollowTheFolders(t *testing.T) {
	for name := range everyTransport(t, mcptest.Options{}, nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := workspace.Folder{Path: filepath.Join(t.TempDir(), "a b"), Name: "one", Trusted: true}, workspace.Folder{Path: t.TempDir(), Name: "two", Trusted: true}
			h, state, heard := withFolders(t, name, nil, one)
			if got, want := h.askRoots(heard.modern), `{"name":"one","uri":"`+fileURI(one.Path)+`"}`; !strings.Contains(reordered(t, got), want) || !strings.Contains(want, "a%20b") {
				t.Errorf("%s, want %s", got, want)
			}
			told := func() int { return len(heard.requests("notifications/roots/list_changed")) }
			if !heard.modern {
				if p := string(heard.requests("initialize")[0].Params); !strings.Contains(p, `"roots":{"listChanged":true}`) {
					t.Error(p)
				}
			}
			state.SetFolders([]workspace.Folder{one, two})
			state.SetFolders([]workspace.Folder{two})
			state.SetFolders([]workspace.Folder{one, two})
			if !heard.modern {
				eventually(t, "the change is told", func() bool { return told() > 0 })
			}
			if got := h.askRoots(heard.modern); !strings.Contains(got, fileURI(two.Path)) || !strings.Contains(got, fileURI(one.Path)) {
				t.Errorf("%s", got)
			}
			before := told()
			state.SetFolders([]workspace.Folder{one, two}) // nothing changed
			state.SetFolders([]workspace.Folder{two})
			want := before + 1
			if heard.modern {
				want = 0
			} else {
				eventually(t, "the second change", func() bool { return told() >= want })
			}
			h.mustCall("fake", "sleep", args{"seconds": 3 * fast().debounce.Seconds()})
			if got := told(); got != want || before > 1 {
				t.Errorf("told %d times, want %d; before %d", got, want, before)
			}
		})
	}
}

// reordered gives a JSON text with its members in order.
func reordered(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The roots tell where things are on this machine: a remote server gets them
// once the folder is trusted, a child that works here at once.
func TestRootsOfAnUntrustedFolder(t *testing.T) {
	for name := range everyTransport(t, mcptest.Options{}, nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := workspace.Folder{Path: t.TempDir()}
			h, state, heard := withFolders(t, name, nil, folder)
			child := strings.HasPrefix(name, "stdio")
			if got := strings.Contains(h.askRoots(heard.modern), fileURI(folder.Path)); got != child {
				t.Errorf("given: %v", got)
			}
			state.TrustFolder(folder.Path)
			if !child && !heard.modern {
				eventually(t, "the trust is told", func() bool { return len(heard.requests("notifications/roots/list_changed")) == 1 })
			}
			if got := h.askRoots(heard.modern); !strings.Contains(got, fileURI(folder.Path)) {
				t.Errorf("%s", got)
			}
		})
	}
}

// The real file server takes our roots for what it may touch, and follows them.
func TestRealServerFollowsTheRoots(t *testing.T) {
	first, second := realPath(t, t.TempDir()), realPath(t, t.TempDir())
	state := workspace.NewState()
	state.SetFolders([]workspace.Folder{{Path: first, Name: "first"}})
	command, arguments := mcptest.RealServer(t, "filesystem")
	h := newHouse(t, Options{State: state}, defaultTiming())
	h.Configure([]ServerConfig{{Name: "files", Source: "user", Type: "stdio", Command: command, Args: arguments, Timeout: 20 * time.Second}})
	h.started()
	allowed := func() string {
		text, err := h.call("files", "list_allowed_directories", nil)
		if err != nil {
			return ""
		}
		return text
	}
	eventually(t, "the first folder", func() bool { return strings.Contains(allowed(), first) })
	state.SetFolders([]workspace.Folder{{Path: first, Name: "first"}, {Path: second, Name: "second"}})
	eventually(t, "the second folder", func() bool { return strings.Contains(allowed(), second) && strings.Contains(allowed(), first) })
	state.SetFolders([]workspace.Folder{{Path: second, Name: "second"}})
	eventually(t, "the first is gone", func() bool { return !strings.Contains(allowed(), first) })
	if got := allowed(); !strings.Contains(got, second) {
		t.Errorf("%s", got)
	}
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}
