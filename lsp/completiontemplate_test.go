package lsp

import (
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp/mcptest"
)

// completionItem is what of an item a client needs to accept it.
type completionItem struct {
	Label    string
	TextEdit lsptest.TextEdit
}

// anthropics/claude-code#4110, #38460, #41860: a template is found by what is
// typed, its variables are completed one after the other, and the mention that
// comes of it is read.
func TestCompletionOfATemplateIsSentAndRead(t *testing.T) {
	w := newWorld(t, setup{
		llm: agenttest.NewScript(t, func(_ int, req agent.Request) agenttest.Step {
			return agenttest.Text("saw: " + req.Messages[len(req.Messages)-1].Text)
		}),
		servers: fake(mcptest.Options{
			Templates: []string{"page://{lang}/{page}"}, ReadAny: true,
			Values: map[string][]string{"lang": {"go", "gleam"}, "page lang=go": {"doc one", "doc-two"}},
		}),
	})
	poll(t, "resources", func() bool { return w.serverInfo("fake").Resources != nil })
	uri := "untitled:x.agentls.md"
	w.Open(uri, "agentls", "")
	// typed puts a text into the buffer, and accepts the item with a label.
	typed := func(text, label string) {
		t.Helper()
		w.Edit(uri, lsptest.TextEdit{Range: &lsptest.Range{End: lsptest.End(w.Text(uri))}, NewText: text})
		var items []completionItem
		poll(t, label+" in time", func() bool {
			list := decodeAs[struct {
				IsIncomplete bool
				Items        []completionItem
			}](t, w.Call("textDocument/completion", obj{"textDocument": obj{"uri": uri}, "position": lsptest.End(text)}))
			items = list.Items
			return list.IsIncomplete && len(items) > 0 && items[0].Label == label
		})
		w.Edit(uri, items[0].TextEdit)
	}
	typed("see @fake:page", "template page://{lang}/{page}")
	if got := w.Text(uri); got != "see @fake:page://" {
		t.Fatalf("%q", got)
	}
	typed(w.Text(uri)+"g", "go")
	if got := w.Text(uri); got != "see @fake:page://go/" {
		t.Fatalf("%q", got)
	}
	typed(w.Text(uri)+"doc", "doc one")
	if got := w.Text(uri); got != "see @fake:page://go/doc%20one" {
		t.Fatalf("%q", got)
	}
	r := result[agent.Result](t, w.StartCommand("agentls.send", obj{"uri": uri}, nil))
	if len(r.Mentions) != 1 || r.Mentions[0].Status != "expanded" || r.Mentions[0].URI != "page://go/doc%20one" || !strings.Contains(r.Text, "# Content of page://go/doc%20one") {
		t.Errorf("%+v", r)
	}
}
