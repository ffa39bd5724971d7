package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.lsp.dev/protocol"

	"agentls/lsp/lsptest"
	"agentls/mcp/workspace"
)

// The params that six editors really send. What each is known for must not get
// lost on the way.
func TestRecordedInitialize(t *testing.T) {
	check := func(file, name string, encoding protocol.PositionEncodingKind, configuration, progress bool) {
		t.Run(file, func(t *testing.T) {
			e, s := served(t, testOptions(t), nil)
			e.InitializeParams(e.Recorded("testdata/initialize/" + file))
			p := s.peer
			if p.name != name || p.encoding != encoding || p.trusted {
				t.Errorf("name %q, encoding %s, trusted %v", p.name, p.encoding, p.trusted)
			}
			if got := s.settings.canPull(); got != configuration {
				t.Errorf("workspace/configuration: %v", got)
			}
			if got := p.caps.Window != nil && p.caps.Window.WorkDoneProgress != nil && *p.caps.Window.WorkDoneProgress; got != progress {
				t.Errorf("window.workDoneProgress: %v", got)
			}
			if want := []workspace.Folder{{Path: "/home/user/ws"}}; len(s.o.State.Folders()) != 1 || s.o.State.Folders()[0].Path != want[0].Path {
				t.Errorf("folders %v", s.o.State.Folders())
			}
			if code := e.Shutdown(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
	check("vscode.json", "code-server", protocol.PositionEncodingKindUTF16, true, true)
	check("nvim10.json", "Neovim", protocol.PositionEncodingKindUTF16, true, true)
	check("nvim12.json", "Neovim", protocol.PositionEncodingKindUTF8, true, true)
	check("helix.json", "helix", protocol.PositionEncodingKindUTF8, true, true)
	check("eglot.json", "Eglot", protocol.PositionEncodingKindUTF8, true, true)
	check("vim-ale.json", "", protocol.PositionEncodingKindUTF16, false, false)
}

func TestReadPeerIsLenient(t *testing.T) {
	check := func(name, params string, ok func(peer) bool) {
		t.Helper()
		var p map[string]json.RawMessage
		if err := json.Unmarshal([]byte(params), &p); err != nil {
			t.Fatal(err)
		}
		if got := readPeer(p); !ok(got) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	check("nothing", `{}`, func(p peer) bool { return p.encoding == protocol.PositionEncodingKindUTF16 && p.caps.Workspace == nil })
	check("empty tables", `{"clientInfo":[],"initializationOptions":[],"capabilities":{"workspace":{"workspaceEdit":[],"configuration":true},"window":[],"experimental":{"agentls":[]}}}`,
		func(p peer) bool { return p.name == "" && *p.caps.Workspace.Configuration && p.caps.Window == nil })
	check("one odd capability", `{"capabilities":{"workspace":{"configuration":"yes","applyEdit":true},"textDocument":{"completion":{"completionItem":{"labelDetailsSupport":true,"snippetSupport":5}}}}}`,
		func(p peer) bool {
			return *p.caps.Workspace.ApplyEdit && p.caps.Workspace.Configuration == nil && p.labelDetails()
		})
	check("words", `{"capabilities":{"experimental":{"agentls":{"runEvents":true,"approvals":true,"plans":"yes","save":1,"diagnostics":true,"servers":true,"model":true,"other":true}}}}`,
		func(p peer) bool {
			return p.features == features{runEvents: true, approvals: true, diagnostics: true, servers: true, model: true}
		})
	check("trusted", `{"initializationOptions":{"workspaceTrusted":true,"x":[]}}`, func(p peer) bool { return p.trusted })
	check("trusted must be true", `{"initializationOptions":{"workspaceTrusted":"true"}}`, func(p peer) bool { return !p.trusted })
	check("unknown encodings", `{"capabilities":{"general":{"positionEncodings":["utf-7"]}}}`, func(p peer) bool { return p.encoding == protocol.PositionEncodingKindUTF16 })
	check("capabilities of the wrong kind", `{"capabilities":[1]}`, func(p peer) bool { return p.caps.Workspace == nil })
}

func TestInitialFolders(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	cwd, err := os.Getwd() // what the system makes of dir
	if err != nil {
		t.Fatal(err)
	}
	check := func(params string, want ...string) {
		t.Helper()
		var p map[string]json.RawMessage
		if err := json.Unmarshal([]byte(params), &p); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range initialFolders(p) {
			got = append(got, f.Name+"="+filepath.ToSlash(f.Path))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", params, got, want)
		}
	}
	check(`{}`)
	check(`{"workspaceFolders":[{"uri":"file:///a/b%20c","name":"B"},{"uri":"untitled:x"},{"uri":"file:///d/"}],"rootUri":"file:///e"}`, "B=/a/b c", "d=/d")
	check(`{"workspaceFolders":[],"rootUri":"file:///e"}`, "e=/e")
	check(`{"workspaceFolders":null,"rootUri":null,"rootPath":"/f/"}`, "f=/f")
	check(`{"workspaceFolders":{},"rootUri":5,"rootPath":"relative"}`)
	if err := os.WriteFile("go.mod", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check(`{"rootUri":null}`, filepath.Base(cwd)+"="+filepath.ToSlash(cwd))
}

func TestFoldersFollowTheEditor(t *testing.T) {
	e, s := served(t, testOptions(t), nil)
	a, b := t.TempDir(), t.TempDir()
	e.Initialize(lsptest.Init{Root: a})
	type m = map[string]any
	e.Notify("workspace/didChangeWorkspaceFolders", m{"event": m{
		"added":   []m{{"uri": lsptest.FileURI(b), "name": "B"}, {"uri": lsptest.FileURI(a), "name": "again"}},
		"removed": []m{},
	}})
	e.Notify("workspace/didChangeWorkspaceFolders", m{"event": m{"added": []m{}, "removed": []m{{"uri": lsptest.FileURI(a), "name": "a"}}}})
	e.Call("shutdown", nil) // behind the notifications
	if got := s.o.State.Folders(); len(got) != 1 || got[0].Path != b || got[0].Name != "B" {
		t.Errorf("folders %v", got)
	}
}
