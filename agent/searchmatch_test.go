package agent

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// matches is what a matcher finds.
func matches(t *testing.T, m matcher, text string) (out []string) {
	t.Helper()
	var scratch []byte
	m.lines(t.Context(), []byte(text), &scratch, func(n int, line []byte) bool {
		out = append(out, fmt.Sprintf("%d:%s", n, line))
		return true
	})
	return out
}

// plainly is the same without any art.
func plainly(query string, isRegexp bool, text string) (out []string) {
	re, err := regexp.Compile(query)
	if !isRegexp || err != nil {
		re = regexp.MustCompile(regexp.QuoteMeta(query))
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimRight(line, "\r\n"); re.MatchString(line) {
			out = append(out, fmt.Sprintf("%d:%s", n, line))
		}
	}
	return out
}

func TestRequired(t *testing.T) {
	for _, c := range []struct {
		query, want string
		fold        bool
	}{
		{"abc", "abc", false},
		{`frob[a-z]+Widget\(`, "Widget(", false},
		{"a+bcd*", "bc", false},
		{"(?:abc)?d", "d", false},
		{"abc|abd", "ab", false},
		{"abc|xyz", "", false},
		{`^\s*func (\w+)$`, "func ", false},
		{"(?i)Hello", "hello", true},
		{"(?i)task", "ta", true}, // ſ and K are s and k, too
		{"(?i)ſ", "", true},
		{`\d+`, "", false},
		{"(ab){3}", "ab", false},
		{"x{0,3}", "", false},
	} {
		got, fold := required(c.query)
		if string(got) != c.want || fold != c.fold && c.want != "" {
			t.Errorf("%s: %q %v, want %q %v", c.query, got, fold, c.want, c.fold)
		}
	}
}

func FuzzSearchMatch(f *testing.F) {
	text := "one\ntwo one\r\n\n  func Main() {\nTaſK TASK task\xff\none"
	for _, q := range []string{"one", "(?i)task", "^one$", `\bone\b`, "o.e", "", `[^x]`, `\s`, "one\r", "two|one", `(?s)o.*e`, `\xff`, "ſ", `(?i)\x{212A}`, "a^b", `\z`, "(?m)^", "\\Qone\\E"} {
		f.Add(q, true, text)
		f.Add(q, false, text)
	}
	f.Fuzz(func(t *testing.T, query string, isRegexp bool, text string) {
		if query == "" || !utf8.ValidString(query) {
			return // refused before; JSON has no other strings
		}
		m, _ := newMatcher(query, isRegexp)
		if got, want := matches(t, m, text), plainly(query, isRegexp, text); !slices.Equal(got, want) {
			t.Errorf("%q (expression: %v) in %q:\n got %q\nwant %q", query, isRegexp, text, got, want)
		}
	})
}

func TestMatcherStops(t *testing.T) {
	text := bytes.Repeat([]byte("hit\n"), 100)
	for _, query := range []string{"hit", "h.t", "[a-z]"} {
		m, err := newMatcher(query, true)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		m.lines(t.Context(), text, new([]byte), func(int, []byte) bool { n++; return n < 3 })
		if n != 3 {
			t.Errorf("%s: %d lines", query, n)
		}
	}
}
