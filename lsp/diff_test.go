package lsp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

const unstagedURI = "git://diff/unstaged"

// repository makes a folder one whose file changed has changed.
func repository(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "changed")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("old\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "changed"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
	}
	write("new\n")
}

// canRead reports whether a resource of the workspace is listed and read.
func (w *world) canRead(uri string) bool {
	w.t.Helper()
	list := commandAs[struct{ Resources []struct{ URI string } }](w, "agentls.mcp.resources", obj{"server": "workspace", "query": uri})
	_, err := w.StartCommand("agentls.mcp.read", obj{"server": "workspace", "uri": uri}, nil).Wait()
	return len(list.Resources) == 1 && err == nil
}

func TestDiffIsMentioned(t *testing.T) {
	dir := t.TempDir()
	repository(t, filepath.Join(dir, "ws"))
	llm := agenttest.NewLLM(t)
	w := newWorld(t, setup{dir: dir, llm: llm})
	poll(t, "the diff", func() bool { return w.canRead(unstagedURI) })
	res := result[agent.Result](t, w.ask("review @workspace:git://diff/unstaged, please", nil))
	if len(res.Mentions) != 1 || res.Mentions[0].Status != "expanded" || res.Mentions[0].URI != unstagedURI {
		t.Errorf("%+v", res.Mentions)
	}
	if got := last(llm.Last()); !strings.Contains(got, `mimeType="text/x-diff"`) || !strings.Contains(got, "-old\n+new\n") {
		t.Errorf("the model got %q", got)
	}
}

// CONTRACT §2: a folder is trusted by one question when it is first needed;
// the answer is remembered, and holds for that folder alone.
func TestDiffAsksForTrust(t *testing.T) {
	dir := t.TempDir()
	repository(t, filepath.Join(dir, "ws"))
	stock := setup{dir: dir, llm: agenttest.NewLLM(t), options: obj{"workspaceTrusted": false}}
	w := newWorld(t, stock)
	w.On("window/showMessageRequest", title("Trust folder"))
	if _, err := w.StartCommand("agentls.mcp.read", obj{"server": "workspace", "uri": unstagedURI}, nil).Wait(); err == nil || !strings.Contains(err.Message, "not trusted") {
		t.Fatalf("%v", err)
	}
	question := decodeAs[struct{ Message string }](t, w.AwaitRequest("window/showMessageRequest", 1).Params)
	if !strings.Contains(question.Message, w.root) {
		t.Errorf("%+v", question)
	}
	poll(t, "the diff", func() bool { return w.canRead(unstagedURI) })
	w.Shutdown()

	w = newWorld(t, stock)
	poll(t, "the diff with a trust of before", func() bool { return w.canRead(unstagedURI) })
	other := filepath.Join(dir, "other")
	repository(t, other)
	w.Notify("workspace/didChangeWorkspaceFolders", obj{"event": obj{"added": []any{obj{"uri": lsptest.FileURI(other), "name": "other"}}, "removed": []any{}}})
	w.On("window/showMessageRequest", title("Not now"))
	w.awaitResource(unstagedURI, "the folder is not trusted: other")
	w.AwaitRequest("window/showMessageRequest", 1)
	w.awaitResource(unstagedURI, "the folder is not trusted: other")
	if n := len(w.Requests("window/showMessageRequest")); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
