package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentls/lsp/lsptest"
	"agentls/mcp"
)

// mentions gives the labels of what is completed behind a prompt's text.
func (w *world) mentions(prompt string) (labels []string) {
	w.t.Helper()
	const uri = "untitled:mentions"
	w.Open(uri, "agentls", prompt)
	defer w.CloseDocument(uri)
	raw := w.Call("textDocument/completion", obj{"textDocument": obj{"uri": uri}, "position": lsptest.End(prompt)})
	list := decodeAs[struct {
		Items []struct{ FilterText string }
	}](w.t, raw)
	for _, item := range list.Items {
		labels = append(labels, item.FilterText)
	}
	return labels
}

// awaitMention polls until a mention is completed, or is not any more.
func (w *world) awaitMention(mention string, there bool) {
	w.t.Helper()
	poll(w.t, fmt.Sprintf("%s: %v", mention, there), func() bool {
		return strings.Contains("\n"+strings.Join(w.mentions(mention), "\n")+"\n", "\n"+mention+"\n") == there
	})
}

// Every file is asked about where the folder cannot be watched, once, and
// where the client can be asked.
func TestFilesAreAskedForWhereTheyCannotBeWatched(t *testing.T) {
	for _, c := range []struct {
		name          string
		dynamic, miss bool
		answer        lsptest.Answer
		want          int
	}{
		{"watched", true, false, nil, 0},
		{"missed", true, true, nil, 1},
		{"missed, and refused", true, true, func(json.RawMessage) (any, error) { return nil, &lsptest.Error{Code: -32601, Message: "no"} }, 1},
		{"missed by a client that cannot be asked", false, true, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			caps := lsptest.Capabilities()
			caps["workspace"].(obj)["didChangeWatchedFiles"] = obj{"dynamicRegistration": c.dynamic}
			u := setup{init: lsptest.Init{Capabilities: caps}}
			if c.answer != nil {
				u.answers = map[string]lsptest.Answer{"client/registerCapability": c.answer}
			}
			w := newWorld(t, u)
			count := func(what string) (n int) {
				for _, r := range w.Requests("client/registerCapability") {
					n += strings.Count(string(r.Params), what)
				}
				return n
			}
			w.Await("the first registration", func() bool { return count(`"agentls.configuration"`) == 1 })
			for range 3 {
				if c.miss {
					w.server.o.State.Miss()
				}
			}
			if c.want > 0 {
				w.Await("a registration", func() bool { return count(`"agentls.workspace"`) == 1 })
			}
			w.Shutdown()
			if n := count(`{"globPattern":"**/*"}`); n != c.want || len(w.Requests("client/unregisterCapability")) > 0 {
				t.Errorf("asked %d times for all files", n)
			}
		})
	}
}

// What the editor tells of files and does to them counts; what cannot be
// understood costs itself alone.
func TestNewsOfFiles(t *testing.T) {
	w := newWorld(t, setup{files: map[string]string{"old.md": ""}})
	w.awaitMention("@workspace:file://old.md", true)
	w.write("a b.md", "")
	w.Notify("workspace/didChangeWatchedFiles", obj{"changes": []any{5, nil, obj{}, obj{"uri": "untitled:x", "type": 1}, obj{"uri": w.uri("a b.md"), "type": 1.0}, obj{"uri": w.uri("x"), "type": 99}}})
	w.awaitMention("@workspace:file://a%20b.md", true)
	if err := os.Rename(filepath.Join(w.root, "old.md"), filepath.Join(w.root, "new.md")); err != nil {
		t.Fatal(err)
	}
	w.Notify("workspace/didRenameFiles", obj{"files": []any{obj{"oldUri": w.uri("old.md"), "newUri": w.uri("new.md")}, obj{"oldUri": 5, "newUri": w.uri("x")}, "x"}})
	w.awaitMention("@workspace:file://old.md", false)
	w.awaitMention("@workspace:file://new.md", true)
	w.write("made.md", "")
	w.Notify("workspace/didCreateFiles", obj{"files": []any{obj{"uri": w.uri("made.md")}, 7}})
	w.awaitMention("@workspace:file://made.md", true)
	if err := os.Remove(filepath.Join(w.root, "made.md")); err != nil {
		t.Fatal(err)
	}
	w.Notify("workspace/didDeleteFiles", obj{"files": []any{obj{"uri": w.uri("made.md")}}})
	w.awaitMention("@workspace:file://made.md", false)
	for _, odd := range []any{nil, obj{}, obj{"files": 5, "changes": 5}, obj{"files": obj{}, "changes": "x"}, []int{1}} {
		for _, method := range []string{"didChangeWatchedFiles", "didRenameFiles", "didCreateFiles", "didDeleteFiles"} {
			w.Notify("workspace/"+method, odd)
		}
	}
	if info := w.serverInfo("workspace"); info.Status != mcp.StatusReady {
		t.Errorf("%+v", info)
	}
}
