package lsp

import (
	"strings"
	"testing"
	"unicode/utf8"

	"agentls/agent"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "hello", "hello"},
		{"empty", "", ""},
		{"one line", "a\r\n\tb\u2028c\u00a0d", "a b c d"},
		{"spaces at the ends", "  a  b  ", "a b"},
		{"bidi", "safe\u202Eexe.txt\u2066x\u2069", "safeexe.txtx"},
		{"zero width", "a\u200bb\u200dc\ufeffd\u00ade", "abcde"},
		{"tags and selectors", "a\U000E0041b\ufe0fc\U000E0100d", "abcd"},
		{"fillers", "a\u3164b\u115fc\u2800d", "abcd"},
		{"controls", "a\x00b\x07c\u0085d\x7fe", "abc de"},
		{"ANSI colour", "\x1b[31mred\x1b[0m", "red"},
		{"8-bit ANSI", "\u009b1mx", "x"},
		{"OSC title", "\x1b]0;evil\x07ok", "ok"},
		{"OSC link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"lone ESC", "a\x1b", "a"},
		{"link", "[ok](command:x)", "[ok] (command:x)"},
		{"link hidden by a zero-width", "[ok]\u200b(command:x)", "[ok] (command:x)"},
		{"link twice", "](](", "] (] ("},
		{"bad UTF-8", "a\xffb", "a\uFFFDb"},
		{"limit", strings.Repeat("ä", 300), strings.Repeat("ä", 300)},
		{"over the limit", strings.Repeat("ä", 301), strings.Repeat("ä", 300) + "…"},
		{"huge", strings.Repeat("x", 1<<20), strings.Repeat("x", 300) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := clean(c.text); got != c.want {
				t.Errorf("clean(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a](b")
	f.Add("\x1b[31m]\u202e(")
	f.Add("\xff\x1b]")
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text)
		if strings.Contains(got, "](") || !utf8.ValidString(got) || utf8.RuneCountInString(got) > 2*cleanLimit {
			t.Errorf("clean(%q) = %q", text, got)
		}
		for _, r := range got {
			if r != ' ' && (agent.Unseen(r) || r < ' ') {
				t.Errorf("clean(%q) holds %q", text, r)
			}
		}
	})
}
