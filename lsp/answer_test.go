package lsp

import (
	"strings"
	"testing"
)

// escapeAnswer takes an answer as a whole.
func escapeAnswer(text string) string {
	var e escaper
	return e.escape(text) + e.end()
}

func TestEscapeAnswerInParts(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "a\nb", "a\nb"},
		{"turn headings", "## You\n## Agent\n##you\n  ## AGENT x\n## Your\n### You", "\\## You\n\\## Agent\n\\##you\n  \\## AGENT x\n## Your\n\\### You"},
		{"other headings", "# Title\n## Section", "# Title\n## Section"},
		{"image", "![a](http://evil/x) `![b`", `!\[a](http://evil/x) ` + "`!\\[b`"},
		{"html image", `<img src="x"> <IMG/>`, `\<img src="x"> \<IMG/>`},
		{"fence", "```go\n## You\n![x]\n```\n## You", "```go\n## You\n![x]\n```\n\\## You"},
		{"carriage returns", "a\r## You\r\n## Agent\r", "a\n\\## You\n\\## Agent\n"},
		{"open fence", "```\nx", "```\nx\n```"},
		{"open tildes", "~~~~ md\n```\n~~~\nx", "~~~~ md\n```\n~~~\nx\n~~~~"},
		{"a longer fence closes", "```\nx\n````", "```\nx\n````"},
		{"a fence with text does not close", "```\nx\n``` y", "```\nx\n``` y\n```"},
		{"inline code is no fence", "```x``` y\n## You", "```x``` y\n\\## You"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := escapeAnswer(c.text); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// However an answer is cut into lines, it is escaped alike, and outside of
// fences no line of it is a turn heading.
func FuzzEscapeAnswerInParts(f *testing.F) {
	f.Add("## You\n```\n## You")
	f.Add("~~~\n```\n~~~\n![")
	f.Fuzz(func(t *testing.T, text string) {
		want := escapeAnswer(text)
		var parts escaper
		var got strings.Builder
		for line := range strings.Lines(text) {
			got.WriteString(parts.escape(line))
		}
		got.WriteString(parts.end())
		if got.String() != want {
			t.Errorf("in parts %q, whole %q", got.String(), want)
		}
		var grown escaper
		got.Reset()
		for rest, i := "", 0; i < len(text); i++ { // as it grows byte by byte
			rest += text[i : i+1]
			out, n := grown.take(rest)
			got.WriteString(out)
			if rest = rest[n:]; i == len(text)-1 {
				got.WriteString(grown.escape(rest))
			}
		}
		got.WriteString(grown.end())
		if got.String() != want && !strings.Contains(text, "\r") { // a lone CR ends a line, and may yet become CRLF
			t.Errorf("growing %q, whole %q", got.String(), want)
		}
		if again := escapeAnswer(want + "\n"); strings.TrimRight(again, "\n") != strings.TrimRight(escapeAnswer(want), "\n") {
			t.Errorf("%q is not closed", want)
		}
	})
}
