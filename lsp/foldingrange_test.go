package lsp

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"go.lsp.dev/protocol"
)

func TestFoldingRange(t *testing.T) {
	s := idleServer(t, protocol.PositionEncodingKindUTF16)
	fold := func(text string) (got []string) {
		t.Helper()
		list, err := serveFoldingRange(s, context.Background(), s.promptModel(document{text: text}), promptParams{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list.([]protocol.FoldingRange) {
			got = append(got, fmt.Sprintf("%d-%d %s", f.StartLine, f.EndLine, deref(f.CollapsedText)))
		}
		return got
	}
	check := func(text string, want ...string) {
		t.Helper()
		if got := fold(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	text := "intro\n```\nx\n```\n## You\nq\n```go\na\n```\n\n\n## Agent\n\n\n## You\n\n## Agent\r\nA\r\n~~~\r\nb"
	check(text, "4-8 ", "16-19 ", "6-8 ", "18-19 ")
	check("one prompt\n```\nx\n```\nmore", "1-3 ")
	check("## You")
	check("")
	yes, two := true, uint32(2)
	s.peer.caps.TextDocument = &protocol.TextDocumentClientCapabilities{FoldingRange: &protocol.FoldingRangeClientCapabilities{
		RangeLimit: &two, FoldingRange: &protocol.ClientFoldingRangeOptions{CollapsedText: &yes},
	}}
	check(text, "4-8 You: q", "16-19 Agent: A")
	check("## Agent\n[x](command:a)\u202e\n", "0-1 Agent: [x] (command:a)")
}
