package lsp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/agent/config"
	"agentls/lsp/lsptest"
	"agentls/mcp/mcptest"
)

// slashItems is what is offered at the '|' of a text: the new texts; nil where
// the answer is null.
func (w *world) slashItems(uri, text string) []string {
	w.t.Helper()
	at := strings.IndexByte(text, '|')
	text = text[:at] + text[at+1:]
	w.Edit(uri, lsptest.TextEdit{NewText: text})
	raw := w.Call("textDocument/completion", obj{"textDocument": obj{"uri": uri}, "position": lsptest.End(text[:at])})
	if string(raw) == "null" {
		return nil
	}
	out := []string{}
	for _, it := range decodeAs[struct{ Items []offered }](w.t, raw).Items {
		out = append(out, it.TextEdit.NewText)
	}
	return out
}

func TestCompletionOfSlashLines(t *testing.T) {
	provider := func(model string) obj { return obj{"baseURL": "http://127.0.0.1:1/v1", "model": model} }
	w, uri := sendWorld(t, setup{
		llm:     noModel(t),
		options: map[string]any{"provider": "a", "providers": obj{"a": provider("a1"), "b c": provider("b1")}},
		before: func(s *Server) {
			s.o.Models = func(_ context.Context, p config.Provider) ([]string, error) {
				return []string{p.Name + "-large", p.Name + "-small"}, nil
			}
		},
		servers: map[string]mcptest.Options{"fake": {
			Prompts: []json.RawMessage{json.RawMessage(`{"name":"deploy it","title":"Deploy","arguments":[{"name":"note"},{"name":"repo","required":true},{"name":"the branch","required":true}]}`)},
			Values: map[string][]string{
				"focus": {"security", "speed"}, "note": {"n1"}, "repo": {"agentls", "two words"},
				"the branch": {"none"}, "the branch repo=agentls": {"main", "next"},
			},
		}},
	}, "")
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 2 })
	poll(t, "models", func() bool { return len(w.slashItems(uri, "/model a |")) == 2 })
	for _, c := range []struct {
		text string
		want []string // nil: null
	}{
		{"/|", []string{"/help", "/cancel", "/clear", "/compact", "/context", "/model", "/mcp", "/audit", "/undo", "/plan", "/team", "/fake:review", `/fake:"deploy it"`}},
		{"/te|", []string{"/team", "/context"}},
		{"/plan |", nil},
		{"/plan see @fake:file://doc1|", []string{"@fake:file://doc1.md", "@fake:file://doc1"}},
		{"## You\n\n/c|", []string{"/cancel", "/clear", "/compact", "/context", "/mcp"}},
		{"/deplo|", []string{`/fake:"deploy it"`}},
		{"/pull|", []string{"/fake:review"}}, // it is about a pull request
		{"/CANC|", []string{"/cancel"}},
		{"/fake:|", []string{"/fake:review", `/fake:"deploy it"`}},
		{`/fake:"dep|`, []string{`/fake:"deploy it"`}},
		{"/fake:dep|", []string{`/fake:"deploy it"`}},
		{"/re|", []string{"/fake:review"}},
		{"/nothing|", []string{}},
		{"/mcp |", []string{"list", "tools", "resources", "prompts", "logs", "restart", "enable", "disable", "login", "logout"}},
		{"/mcp re|", []string{"resources", "restart"}},
		{"/mcp restart |", []string{"workspace", "fake"}},
		{"/mcp tools fa|", []string{"fake"}},
		{"/mcp list |", []string{}},
		{"/mcp tools fake |", []string{}},
		{"/help |", []string{}},
		{"/model |", []string{"a", `"b c"`, "offline"}},
		{"/model a sm|", []string{"a-small"}},
		{"/model offline |", []string{}},
		{"/fake:review |", []string{"focus=", "security", "speed"}},
		{"/fake:review f|", []string{"focus="}},
		{"/fake:review focus=s|", []string{"focus=security", "focus=speed"}},
		{"/fake:review focus=x|", []string{}},
		{"/fake:review speed |", []string{}},
		{"/fake:review nope=|", []string{}},
		{"/fake:nope |", []string{}},
		{`/fake:"deploy it" |`, []string{"repo=", `"the branch"=`, "note=", "n1"}},
		{`/fake:"deploy it" repo=t|`, []string{`repo="two words"`}},
		{`/fake:"deploy it" repo="two w|`, []string{`repo="two words"`}},
		{`/fake:"deploy it" repo=agentls "the branch"=|`, []string{`"the branch"=main`, `"the branch"=next`}},
		{`/fake:"deploy it" repo=agentls "the branch"=main |`, []string{"note=", "n1"}},
		{`/fake:"deploy it" x agentls n|`, []string{`"the branch"=`, "next"}}, // by place
		{"/he|lp me", []string{"/help"}},
		{"|/help", nil},
		{"hi\n/c|", nil},
		{" /c|", nil},
		{"```\n/c|\n```", nil},
		{"see /c|", nil},
		{"/usr/b|", nil},
		{"//|", nil},
		{"## You\nhi\n## Agent\n/c|", nil},
		{"/fake:review x\nsee @fake:file://doc1|", []string{"@fake:file://doc1.md", "@fake:file://doc1"}},
		{"/usr/bin @fake:file://doc1|", []string{"@fake:file://doc1.md", "@fake:file://doc1"}},
		{"## You\r\n\r\n/canc|\r\n", []string{"/cancel"}},
	} {
		if got := w.slashItems(uri, c.text); !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%q: %q\nwant %q", c.text, got, c.want)
		}
	}
}

// What is offered can be sent.
func TestWhatCompletesIsACommand(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: noModel(t)}, "")
	for _, text := range w.slashItems(uri, "/|") {
		l, ok := agent.ParseSlash(text)
		if _, known := agent.SlashCommandNamed(l.Name); !ok || !known {
			t.Errorf("%q is offered and is no command", text)
		}
	}
}

// A server that does not answer holds up no completion for more than 200 ms,
// and the names of the arguments are there.
func TestCompletionOfAnArgumentIsBounded(t *testing.T) {
	w, uri := sendWorld(t, setup{llm: noModel(t), servers: map[string]mcptest.Options{"fake": {Unanswered: []string{"completion/complete"}}}}, "")
	poll(t, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 1 })
	begin := time.Now()
	w.Edit(uri, lsptest.TextEdit{NewText: "/fake:review "})
	raw := w.Call("textDocument/completion", obj{"textDocument": obj{"uri": uri}, "position": obj{"line": 0, "character": 13}})
	list := decodeAs[struct {
		IsIncomplete bool
		Items        []offered
	}](t, raw)
	if !list.IsIncomplete || len(list.Items) != 1 || list.Items[0].Label != "focus=" || time.Since(begin) > 5*time.Second {
		t.Errorf("after %v: %s", time.Since(begin), raw)
	}
}

// Whatever is typed, what is put in is a `/` line again that says what was
// offered, and nothing else of the text changes.
func FuzzCompletionOfSlashLines(f *testing.F) {
	for _, text := range []string{"/", "/fake:review ", `/fake:"two`, `/fake:"two words" a="b c`, "## You\n/mcp re", "/model a", "hi\n/he", "/é", "/fake:\"x\\", "```\n/he", `/fake:"two words" "a b"=x`} {
		f.Add(text, len(text))
	}
	w := newWorld(f, setup{llm: agenttest.NewLLM(f), servers: map[string]mcptest.Options{"fake": {
		Prompts: []json.RawMessage{json.RawMessage(`{"name":"two words","arguments":[{"name":"a b"},{"name":"c","required":true}]}`)},
		Values:  map[string][]string{"a b": {`say "hi"`, `C:\dir\`, "x=y"}, "c": {"plain"}, "focus": {"speed"}},
	}}})
	poll(f, "prompts", func() bool { return len(w.server.o.Manager.PromptList()) == 2 })
	s := w.server
	f.Fuzz(func(t *testing.T, text string, cursor int) {
		if !utf8.ValidString(text) || cursor < 0 || cursor > len(text) || !utf8.RuneStart((text + "x")[cursor]) {
			return
		}
		raw, ok := s.completeSlash(t.Context(), text, cursor)
		if !ok {
			return
		}
		for _, it := range decodeAs[struct{ Items []offered }](t, raw).Items {
			at := func(p lsptest.Position) int {
				return s.docs.offset(text, protocol.Position{Line: uint32(p.Line), Character: uint32(p.Character)})
			}
			from, to := at(it.TextEdit.Range.Start), at(it.TextEdit.Range.End)
			start := strings.LastIndexAny(text[:cursor], "\r\n") + 1
			if to != cursor || from < start {
				t.Fatalf("%q at %d: the edit is %d to %d", text, cursor, from, to)
			}
			line := text[start:from] + it.TextEdit.NewText
			l, ok := agent.ParseSlash(line)
			switch {
			case !ok:
				t.Fatalf("%q became %q, which is no command", text[start:cursor], line)
			case len(l.Args) == 0:
				if l.End != len(line) {
					t.Fatalf("%q became %q", text[start:cursor], line)
				}
			case l.Args[len(l.Args)-1].Open || l.Args[len(l.Args)-1].End != len(line):
				t.Fatalf("%q became %q, %+v", text[start:cursor], line, l)
			}
		}
	})
}
