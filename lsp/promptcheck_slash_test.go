package lsp

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// What would not be sent is said before it is sent, in the same words, with
// what mends it.
func TestSlashDiagnosticsAndTheirMendings(t *testing.T) {
	command, args, env := mcptest.Command(t, mcptest.Options{Prompts: []json.RawMessage{json.RawMessage(`{"name":"two","arguments":[{"name":"a","required":true},{"name":"b"}]}`)}})
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), options: obj{"mcpServers": obj{
		"broken": obj{"command": "/nothing/there"}, "fake": obj{"command": command, "args": args, "env": env},
	}}})
	w.awaitStatus("broken", mcp.StatusFailed)
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 2 })
	const text = "Send it as text, in backticks"
	uri := lsptest.FileURI(filepath.Join(w.root, "x.agentls.md"))
	w.Open(uri, "markdown", "")
	for _, c := range []struct {
		text  string // below a heading
		want  []string
		fixes []string // at the first problem
		after []string // the block after each
	}{
		{"/help", nil, nil, nil},
		{"/usr/bin/env is a path", nil, nil, nil},
		{" /hlep", nil, nil, nil},
		{"```\n/hlep\n```", nil, nil, nil},
		{"/hlep", []string{"1:0-5 1 unknownCommand"}, []string{"*Change to /help", text}, []string{"/help", "`/hlep`"}},
		{"\n/review x", []string{"2:0-7 1 unknownCommand"}, []string{"*Change to /fake:review", text}, []string{"\n/fake:review x", "\n`/review` x"}},
		{"/plan a=1 \"thing", nil, nil, nil},
		{"/plan\nbelow", nil, nil, nil},
		{"/plan @nobody:x://y", []string{"1:6-13 2 unknownServer"}, []string{"Leave as text, in backticks"}, nil},
		{"/plan", []string{"1:0-5 1 commandArguments"}, []string{text}, []string{"`/plan`"}},
		{"/help me", []string{"1:6-8 1 commandArguments"}, []string{text}, nil},
		{"/help\nand more", []string{"1:0-5 1 commandArguments"}, []string{text}, nil},
		{"/mcp lst", []string{"1:5-8 1 commandArguments"}, []string{text}, nil},
		{"/audit many", []string{"1:7-11 1 commandArguments"}, []string{text}, nil},
		{"hi\n/cancel", []string{"2:0-7 1 misplacedCommand"}, []string{"Put it below a heading of its own", text}, []string{"hi\n## You\n\n/cancel", "hi\n`/cancel`"}},
		{"/fkae:two 1", []string{"1:1-5 1 unknownServer"}, []string{"*Change to fake", text}, []string{"/fake:two 1", "`/fkae:two` 1"}},
		{"/fake:tow 1", []string{"1:0-9 1 unknownPrompt"}, []string{"*Change to /fake:two", text}, []string{"/fake:two 1", "`/fake:tow` 1"}},
		{"/fake:two", []string{"1:0-9 1 promptArguments"}, []string{text}, nil},
		{"/fake:two x=1 a=@nobody:x://y", []string{"1:10-29 1 promptArguments"}, []string{text}, nil},
		{"/fake:two 1\nand @nobody:x://y", []string{"2:4-11 2 unknownServer"}, []string{"Leave as text, in backticks"}, nil},
		{"/broken:two 1", []string{"1:0-11 2 serverFailed"}, []string{"*Restart server broken"}, nil},
	} {
		for i := range max(1, len(c.after)) {
			w.Edit(uri, lsptest.TextEdit{NewText: "## You\n" + c.text + "\n"})
			list := w.awaitMarks(uri, c.want...)
			if len(c.want) == 0 {
				w.settled()
				w.awaitMarks(uri)
				continue
			}
			at := list[0].Range
			fixes, titles := w.mendings(uri, span(at.Start.Line, at.Start.Character, at.Start.Line, at.Start.Character), obj{})
			if !slices.Equal(titles, c.fixes) {
				t.Errorf("%q: fixes %q", c.text, titles)
			}
			if c.after != nil && i < len(fixes) {
				w.apply(fixes[i])
				if got := w.Text(uri); got != "## You\n"+c.after[i]+"\n" {
					t.Errorf("%q after %q: %q", c.text, titles[i], got)
				}
			}
			if list[0].Severity == 1 { // what is an error is not sent
				w.Edit(uri, lsptest.TextEdit{NewText: "## You\n" + c.text + "\n"})
				if err := failure(t, w.send(uri, nil), -32602); !strings.Contains(err.Message, list[0].Message) {
					t.Errorf("%q: refused with %q, told %q", c.text, err.Message, list[0].Message)
				}
			}
		}
	}
	w.Edit(uri, lsptest.TextEdit{NewText: "hi\n/cancel\n"})
	w.awaitMarks(uri, "1:0-7 1 misplacedCommand")
	if _, got := w.mendings(uri, span(1, 0, 1, 0), obj{}); !slices.Equal(got, []string{text}) {
		t.Errorf("without headings %q", got)
	}
	if got := w.serverInfo("broken").Status; got != mcp.StatusFailed {
		t.Errorf("the server is %s", got)
	}
}
