package agent

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// QwenLM/qwen-code#2439, charmbracelet/crush#3480
func FuzzTruncate(f *testing.F) {
	f.Add("short", 100)
	f.Add(strings.Repeat("long é😀 ", 100), 120)
	f.Add(strings.Repeat("\xff\xf0\x9f", 100), 90)
	f.Add("x", 0)
	f.Add("日本", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = min(max(limit, -1), 1<<16)
		got := truncate(text, limit)
		if !utf8.ValidString(got) || len(got) > max(limit, 0) {
			t.Errorf("%d bytes at a limit of %d: %q", len(got), limit, got)
		}
		if limit > 200 && utf8.ValidString(text) && len(text) > limit && (!strings.Contains(got, fmt.Sprintf("of %d bytes here]", len(text))) || len(got) < limit/2) {
			t.Errorf("cut to %q", got)
		}
	})
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\n b\t c":               "a b c",
		"x\u202ey\u200b\x00\x1bz": "xyz",
		"\xffbad":                 "bad",
		"long long":               "long…",
		"":                        "",
	} {
		n := 20
		if in == "long long" {
			n = 5
		}
		if got := oneLine(in, n); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if got := oneLine(strings.Repeat("é", 1<<20), 300); utf8.RuneCountInString(got) != 300 {
		t.Errorf("%d characters", utf8.RuneCountInString(got))
	}
}
