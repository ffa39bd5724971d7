package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// changeFolders tells of folders that come and go, by their paths.
func (w *world) changeFolders(added, removed []string) {
	list := func(paths []string) []obj {
		out := []obj{}
		for _, p := range paths {
			out = append(out, obj{"uri": lsptest.FileURI(p), "name": filepath.Base(p)})
		}
		return out
	}
	w.Notify("workspace/didChangeWorkspaceFolders", obj{"event": obj{"added": list(added), "removed": list(removed)}})
}

// beside makes a folder beside the workspace's.
func (w *world) beside(name string, files map[string]string) (path string) {
	w.t.Helper()
	for file, text := range files {
		w.write(filepath.Join("..", name, file), text)
	}
	path = filepath.Join(filepath.Dir(w.root), name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// A folder is one however it is spelled, its files are named by one name in
// URIs and in tools' paths, and what lands in it lands in it.
func TestSeveralFolders(t *testing.T) {
	write := func(id, path string) agent.ToolCall {
		return agent.ToolCall{ID: id, Name: "write_file", Arguments: `{"path":"` + path + `","content":"x\n"}`}
	}
	llm := agenttest.NewLLM(t, agenttest.Call(write("1", "lib/new.txt"), write("2", "lib~2/new.txt"), write("3", "inner/new.txt"), write("4", "new.txt")))
	w := newWorld(t, setup{llm: llm, options: obj{"approval": obj{"default": "allow"}}, files: map[string]string{"inner/in.md": "x"}})
	lib, second, inner := w.beside("lib", map[string]string{"l.md": "lib"}), w.beside("other/lib", map[string]string{"m.md": "second"}), filepath.Join(w.root, "inner")
	w.changeFolders([]string{lib, lib + "/", second, inner, filepath.Join(lib, "..", "lib")}, nil)
	w.Notify("workspace/didChangeWorkspaceFolders", obj{"event": obj{"added": []any{obj{"uri": "file://localhost" + lib}, obj{"uri": "untitled:x"}, 5}, "removed": nil}})
	if got := w.server.o.State.Folders(); len(got) != 4 || got[1].Unique != "lib" || got[2].Unique != "lib~2" {
		t.Fatalf("folders %+v", got)
	}
	for _, mention := range []string{"@workspace:file://ws/README.md", "@workspace:file://lib/l.md", "@workspace:file://lib~2/m.md", "@workspace:file://inner/in.md"} {
		w.awaitMention(mention, true)
	}
	w.Open(lsptest.FileURI(filepath.Join(second, "m.md")), "markdown", "second")
	r := result[agent.Result](t, w.ask("go", obj{"document": obj{"uri": lsptest.FileURI(filepath.Join(second, "m.md"))}}))
	if len(r.Changed) != 3 {
		t.Errorf("%+v", r)
	}
	for _, c := range r.ToolCalls {
		if (c.ID == "4") != (c.Status == agent.Failed) {
			t.Errorf("call %s %s", c.ID, c.Status)
		}
	}
	for _, dir := range []string{lib, second, inner} {
		if _, err := os.Stat(filepath.Join(dir, "new.txt")); err != nil {
			t.Error(err)
		}
	}
	if req := llm.Last(); !strings.Contains(req.Messages[1].Text, `path="lib~2/m.md"`) || !strings.Contains(req.Messages[0].Text, "- lib~2/ is "+second) {
		t.Errorf("the model was told %q", req.Messages[:2])
	}
}

// What a folder brought goes with it: its servers, its files, and what was
// wrong with its configuration. Its sessions come back when it does.
func TestFolderThatIsRemoved(t *testing.T) {
	command, args, env := mcptest.Command(t, mcptest.Options{})
	project := mustJSON(obj{"mcpServers": obj{"mine": obj{"command": command, "args": args, "env": env}}})
	llm := agenttest.NewLLM(t)
	w := newWorld(t, setup{llm: llm, answers: map[string]lsptest.Answer{}})
	lib := w.beside("lib", map[string]string{".mcp.json": string(project), ".agentls/config.json": `{"notifications": 5}`, "l.md": "lib", "c.agentls.md": "hi"})
	published := func() (list []string) {
		for _, raw := range w.Notifications("textDocument/publishDiagnostics") {
			if p := decodeAs[struct {
				URI         string
				Diagnostics []any
			}](t, raw); strings.Contains(p.URI, "/lib/") {
				list = append(list, p.URI+strings.Repeat(" x", len(p.Diagnostics)))
			}
		}
		return list
	}
	config := lsptest.FileURI(filepath.Join(lib, ".agentls", "config.json"))
	buffer := lsptest.FileURI(filepath.Join(lib, "c.agentls.md"))

	w.changeFolders([]string{lib}, nil)
	w.awaitStatus("mine", mcp.StatusUntrusted)
	w.awaitMention("@workspace:file://lib/l.md", true)
	w.Await("a diagnostic", func() bool { return len(published()) == 1 })
	w.Open(buffer, "markdown", "hi")
	first := result[agent.Result](t, w.send(buffer, nil))

	// The first folder goes: a buffer of the other one keeps its session.
	w.changeFolders(nil, []string{w.root})
	w.types(buffer, "more\n")
	if again := result[agent.Result](t, w.send(buffer, nil)); again.Session != first.Session || len(llm.Last().Messages) != 4 {
		t.Errorf("sessions %s and %s, %d messages", first.Session, again.Session, len(llm.Last().Messages))
	}

	w.changeFolders([]string{w.root}, []string{lib + "/"})
	poll(t, "no server", func() bool { return w.serverInfo("mine").Name == "" })
	w.awaitMention("@workspace:file://README.md", true)
	w.awaitMention("@workspace:file://lib/l.md", false)
	w.Await("no diagnostic", func() bool { list := published(); return len(list) == 2 && list[0] == config+" x" && list[1] == config })
}
