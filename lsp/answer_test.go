package lsp

import (
	"strings"
	"testing"
)

func TestEscapeAnswer(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "a\nb", "a\nb"},
		{"turn headings", "## You\n## Agent\n##you\n  ## AGENT x\n## Your\n### You", "\\## You\n\\## Agent\n\\##you\n  \\## AGENT x\n## Your\n\\### You"},
		{"other headings", "# Title\n## Section", "# Title\n## Section"},
		{"image", "![a](http://evil/x) `![b`", `!\[a](http://evil/x) ` + "`!\\[b`"},
		{"html image", `<img src="x"> <IMG/>`, `\<img src="x"> \<IMG/>`},
		{"fence", "```go\n## You\n![x]\n```\n## You", "```go\n## You\n![x]\n```\n\\## You"},
		{"open fence", "```\nx", "```\nx\n```"},
		{"open tildes", "~~~~ md\n```\n~~~\nx", "~~~~ md\n```\n~~~\nx\n~~~~"},
		{"a longer fence closes", "```\nx\n````", "```\nx\n````"},
		{"a fence with text does not close", "```\nx\n``` y", "```\nx\n``` y\n```"},
		{"inline code is no fence", "```x``` y\n## You", "```x``` y\n\\## You"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e escaper
			if got := e.escape(c.text) + e.end(); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// However an answer is cut into lines, it is escaped alike, and outside of
// fences no line of it is a turn heading.
func FuzzEscapeAnswer(f *testing.F) {
	f.Add("## You\n```\n## You")
	f.Add("~~~\n```\n~~~\n![")
	f.Fuzz(func(t *testing.T, text string) {
		var whole, parts escaper
		want := whole.escape(text) + whole.end()
		var got strings.Builder
		for line := range strings.Lines(text) {
			got.WriteString(parts.escape(line))
		}
		got.WriteString(parts.end())
		if got.String() != want {
			t.Errorf("in parts %q, whole %q", got.String(), want)
		}
		if whole.fence != "" {
			t.Errorf("a fence is open after %q", text)
		}
	})
}
