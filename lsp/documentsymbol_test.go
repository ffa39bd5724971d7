package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
)

func TestDocumentSymbol(t *testing.T) {
	s := idleServer(t, protocol.PositionEncodingKindUTF16)
	check := func(text string, want ...string) {
		t.Helper()
		list, err := serveDocumentSymbol(s, context.Background(), s.promptModel(document{text: text, spelled: "file:///c%3A/x"}), promptParams{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		var add func(list []protocol.DocumentSymbol, indent string)
		add = func(list []protocol.DocumentSymbol, indent string) {
			for _, d := range list {
				got = append(got, fmt.Sprintf("%s%s %s %s", indent, d.Name, lineRange(d.Range), lineRange(d.SelectionRange)))
				if !within(d.Range, d.SelectionRange) || slices.ContainsFunc(d.Children, func(c protocol.DocumentSymbol) bool { return !within(d.Range, c.Range) }) {
					t.Errorf("%q: %+v does not hold what it must", text, d)
				}
				add(d.Children, indent+" ")
			}
		}
		switch list := list.(type) {
		case []protocol.DocumentSymbol:
			add(list, "")
		case []protocol.SymbolInformation:
			for _, f := range list {
				got = append(got, fmt.Sprintf("%s %s in %s %s", f.Name, lineRange(f.Location.Range), deref(f.ContainerName), f.Location.URI))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
	}
	text := "intro\n## You\n\n  what is\tthis?\nmore\n## Agent\nIt is [x](command:y).\n## Agent\n## You\n```go\n\nfunc f()\n```\n## You\n"
	check(text, "You: what is this? 1:0-8:0 in  file:///c%3A/x", "Agent: It is [x] (command:y). 5:0-7:0 in You: what is this? file:///c%3A/x", "Agent 7:0-8:0 in You: what is this? file:///c%3A/x",
		"You: func f() 8:0-13:0 in  file:///c%3A/x", "You 13:0-14:0 in  file:///c%3A/x")
	yes := true
	s.peer.caps.TextDocument = &protocol.TextDocumentClientCapabilities{DocumentSymbol: &protocol.DocumentSymbolClientCapabilities{HierarchicalDocumentSymbolSupport: &yes}}
	check(text, "You: what is this? 1:0-8:0 1:0-1:6", " Agent: It is [x] (command:y). 5:0-7:0 5:0-5:8", " Agent 7:0-8:0 7:0-7:8", "You: func f() 8:0-13:0 8:0-8:6", "You 13:0-14:0 13:0-13:6")
	check("## Agent\n😀 hi", "Agent: 😀 hi 0:0-1:5 0:0-0:8")
	check("## Agent\na\n## Agent\nb\n", "Agent: a 0:0-4:0 0:0-0:8", " Agent: b 2:0-4:0 2:0-2:8")
	check("\n  one prompt\n@x", "one prompt 0:0-2:2 1:2-1:12")
	check("```\n\u200b\n```")
	check(" \n")
	check("## You\n"+strings.Repeat("long ", 50), "You: long long long long long long long long long long long long l… 0:0-1:250 0:0-0:6")
}

func lineRange(r protocol.Range) string {
	return fmt.Sprintf("%d:%d-%d:%d", r.Start.Line, r.Start.Character, r.End.Line, r.End.Character)
}

func within(outer, inner protocol.Range) bool {
	before := func(a, b protocol.Position) bool {
		return a.Line < b.Line || a.Line == b.Line && a.Character <= b.Character
	}
	return before(outer.Start, inner.Start) && before(inner.End, outer.End)
}
