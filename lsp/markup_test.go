package lsp

import (
	"strings"
	"testing"

	"go.lsp.dev/protocol"
)

func TestMarkup(t *testing.T) {
	check := func(want string, build func(*markup)) {
		t.Helper()
		m := newMarkup([]protocol.MarkupKind{"rtf", protocol.MarkupKindMarkdown, protocol.MarkupKindPlainText})
		build(m)
		if got := m.content(); got.Value != want || got.Kind != protocol.MarkupKindMarkdown {
			t.Errorf("%q, want %q", got.Value, want)
		}
	}
	for text, want := range map[string]string{
		"plain words, with (some) marks: ok!": "plain words, with (some) marks: ok!",
		"a_b __c__ *d* `e`":                   "a_b \\_\\_c\\_\\_ \\*d\\* \\`e\\`",
		"<img src=x> &lt; & co":               `\<img src=x> \&lt; & co`,
		"# no heading #":                      `\# no heading #`,
		"> no quote, a -> b [c]":              `\> no quote, a -> b [c]`,
		"- no item":                           `\- no item`,
		"12. no item 3.":                      `12\. no item 3.`,
		"[x]: command:y":                      `\[x]: command:y`,
		`C:\dir ~~x~~ $y$ a|b ~z`:             `C:\\dir \~\~x\~\~ $y$ a|b ~z`,
	} {
		check(want, func(m *markup) { m.text(text) })
	}
	for text, want := range map[string]string{
		"x": "`x`", "a`b": "``a`b``", "`": "`` ` ``", "a``b`": "``` a``b` ```", " x ": "`  x  `", `a"\é…`: "`a\"\\é…`", "": "",
	} {
		check(want, func(m *markup) { m.code(text) })
	}
	check("**a\\*b**  \n`c`\n\nd\n\n````go\n```\n````", func(m *markup) {
		m.line()
		m.paragraph()
		m.strong("a*b")
		m.line()
		m.code("c")
		m.paragraph()
		m.text("d")
		m.block("```", "go")
	})
	check("```\nx\n```", func(m *markup) { m.block("x", "no `name\n") })
	for _, formats := range [][]protocol.MarkupKind{nil, {}, {"rtf"}, {protocol.MarkupKindPlainText, protocol.MarkupKindMarkdown}} {
		m := newMarkup(formats)
		m.strong("a*b")
		m.block("x\ny", "go")
		if got := m.content(); got.Kind != protocol.MarkupKindPlainText || got.Value != "a*b\n\n│ x\n│ y" {
			t.Errorf("%v: %+v", formats, got)
		}
	}
}

func TestCleanLines(t *testing.T) {
	check := func(text, want string, more bool) {
		t.Helper()
		if got, gotMore := cleanLines(text, 3, 5); got != want || gotMore != more {
			t.Errorf("%q: %q %v, want %q %v", text, got, gotMore, want, more)
		}
	}
	check("", "", false)
	check("a\n", "a", false)
	check("a\nb\nc", "a\nb\nc", false)
	check("a\nb\nc\n", "a\nb\nc", false)
	check("a\nb\nc\nd", "a\nb\nc", true)
	check("a\r\nb\rc", "a\nb\nc", false)
	check("\t  x \t", "\t  x", false)
	check("12345", "12345", false)
	check("éééééé", "ééééé…", true)
	check("a\x1b[31mb\u202e\u200bc\x00\u00a0d", "abc d", false)
	check("a[b](c)", "a[b](…", true)
	check("\n\n", "", false)
	check("\xffx", "\uFFFDx", false)
	check(strings.Repeat("\u200b", 100_000)+"x", "", true)
}
