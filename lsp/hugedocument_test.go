package lsp

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// completeAt completes at a position and gives the range that the items
// replace, "" for none.
func (w *world) completeAt(uri string, at lsptest.Position) string {
	w.t.Helper()
	raw := w.Call("textDocument/completion", obj{"textDocument": obj{"uri": uri}, "position": at})
	list := decodeAs[struct {
		Items []struct {
			FilterText string
			TextEdit   json.RawMessage
		}
	}](w.t, raw)
	if len(list.Items) == 0 {
		return ""
	}
	return string(list.Items[0].TextEdit)
}

// A prompt buffer of 50 MB: it opens, it is typed in, and each completion sees
// what was typed before it. The bounds are far over what it takes: they tell
// work that is linear in the text from work that is not, and a copy or two of
// it from one for each key.
func TestPromptBufferOf50MB(t *testing.T) {
	if testing.Short() {
		t.Skip("50 MB")
	}
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	w.awaitMention("@workspace:file://README.md", true)
	const line = "a line of some forty characters, or so.\n"
	const lines = 50 << 20 / len(line)
	head := "## You\n\n@workspace:file://RE\n\n"
	text := head + strings.Repeat(line, lines) + "@workspace:file://RE"
	const uri = "untitled:huge.agentls.md"
	last := lines + strings.Count(head, "\n")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	w.Notify("textDocument/didOpen", obj{"textDocument": obj{"uri": uri, "languageId": "agentls", "version": 1, "text": text}})
	want := func(at lsptest.Position) {
		t.Helper()
		if got := w.completeAt(uri, at); !strings.Contains(got, fmt.Sprintf(`"start":{"line":%d,"character":0}`, at.Line)) || !strings.Contains(got, "README.md") {
			t.Fatalf("at %+v it completes %q", at, got)
		}
	}
	want(lsptest.Position{Line: 2, Character: 20})
	t.Logf("opened and completed after %v", time.Since(start))
	var slowest time.Duration
	for i := range 24 {
		at := lsptest.Position{Line: 2, Character: 20}
		if i >= 12 { // typing goes on at the other end
			at.Line = last
		}
		w.Notify("textDocument/didChange", obj{"textDocument": obj{"uri": uri, "version": i + 2}, "contentChanges": []any{edit(at.Line, 20, at.Line, 20, "A"), edit(at.Line, 20, at.Line, 21, "")}})
		start := time.Now()
		want(at)
		slowest = max(slowest, time.Since(start))
	}
	t.Logf("the slowest of 24 completions took %v", slowest)
	// Against one walk over the text, as slow as this machine is now: what goes
	// over it for each line would take thousands of times as long.
	start = time.Now()
	turns(text)
	if walk := time.Since(start); slowest > 50*walk {
		t.Errorf("a completion took %v, a walk over the text %v", slowest, walk)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("%d MiB are held", (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 400<<20 {
		t.Errorf("%d MiB are held for a document of 50", held>>20)
	}
}

// 10,000 changes that come in a burst are all in the text that the completion
// behind them sees.
func TestBurstOfChanges(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	w.awaitMention("@workspace:file://README.md", true)
	const uri = "untitled:burst.agentls.md"
	w.Open(uri, "agentls", "")
	var script strings.Builder
	mention := "@workspace:file://READ"
	for i := range 10_000 {
		change := edit(0, 0, 0, 0, "")
		switch n := len(mention); {
		case i < 10_000-2*n:
			change = edit(i/2, 0, i/2, 0, []string{"𝄞 word\n", ""}[i%2])
		case i < 10_000-n:
			change = edit(5000-n, i-(10_000-2*n), 5000-n, i-(10_000-2*n), string(mention[i-(10_000-2*n)]))
		}
		body := mustJSON(obj{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": obj{"textDocument": obj{"uri": uri, "version": i + 2}, "contentChanges": []any{change}}})
		fmt.Fprintf(&script, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	w.Raw([]byte(script.String()))
	line := 5000 - len(mention)
	if got := w.completeAt(uri, lsptest.Position{Line: line, Character: len(mention)}); !strings.Contains(got, fmt.Sprintf(`"start":{"line":%d,"character":0}`, line)) {
		t.Errorf("it completes %q", got)
	}
	if doc, _ := w.server.docs.get(uri); doc.version != 10_001 || strings.Count(doc.text, "𝄞") != line {
		t.Errorf("version %d, %d lines", doc.version, strings.Count(doc.text, "𝄞"))
	}
}

// What an editor should not send about documents costs nothing but itself.
func TestOddDocumentNotifications(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	const uri = "untitled:odd.agentls.md"
	text := func(want string, version int32) {
		t.Helper()
		w.runs() // what was sent has arrived
		if doc, open := w.server.docs.get(uri); doc.text != want || doc.version != version || !open {
			t.Fatalf("the document is %q, version %d, want %q, %d", doc.text, doc.version, want, version)
		}
	}
	change := func(version any, changes ...any) {
		w.Notify("textDocument/didChange", obj{"textDocument": obj{"uri": uri, "version": version}, "contentChanges": changes})
	}
	open := func(version any, text string) {
		w.Notify("textDocument/didOpen", obj{"textDocument": obj{"uri": uri, "languageId": "agentls", "version": version, "text": text}})
	}
	change(1, obj{"text": "x"}) // not open
	w.Notify("textDocument/didSave", obj{"textDocument": obj{"uri": uri}})
	w.Notify("textDocument/didClose", obj{"textDocument": obj{"uri": uri}})
	open(7, "one")
	text("one", 7)
	open(3, "two") // again, without a didClose
	text("two", 3)
	change(2, edit(0, 3, 0, 3, "!")) // a version that goes back
	text("two!", 2)
	change(nil, edit(0, 0, 9, 9, "𝄞")) // without a version
	text("𝄞", 0)
	change(5, edit(0, 1, 0, 1, "x")) // inside of a surrogate pair: before it
	text("x𝄞", 5)
	change(6)
	text("x𝄞", 6)
	change(7, obj{"text": ""}, edit(0, 0, 0, 0, "a\rb\r\nc\n"), edit(1, 0, 1, 1, "B"), edit(9, 9, 9, 9, "end"))
	text("a\rB\r\nc\nend", 7)
	change(8, edit(3, 1, 0, 1, "-")) // reversed
	text("a-nd", 8)
	change(9, edit(0, 0, 0, 1, "z"), obj{"range": nil}) // half of it is none
	text("a-nd", 8)
	w.Notify("textDocument/didClose", obj{"textDocument": obj{"uri": uri}})
	w.Notify("textDocument/didClose", obj{"textDocument": obj{"uri": uri}})
	w.runs()
	if _, open := w.server.docs.get(uri); open {
		t.Error("it is open")
	}
	open(1, "")
	text("", 1)
	if got := w.completeAt(uri, lsptest.Position{Line: 5, Character: 5}); got != "" {
		t.Errorf("in an empty document it completes %q", got)
	}
}
