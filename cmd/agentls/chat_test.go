package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"agentls/agent"
)

// An answer gets a light look, and keeps each of its letters.
func TestLookOfAnswers(t *testing.T) {
	text := "# Title\nA `code` and **strong** word, a * b ** c, `open\n```go\nx := `y` // **no**\n````\n~~~\n```\n> quote\n####### no heading\n- `a`` b`\n"
	want := []string{
		"\x1b[1;36m# Title\x1b[0m", "A \x1b[36m`code`\x1b[0m and \x1b[1m**strong**\x1b[0m word, a * b ** c, `open",
		"\x1b[2m```go\x1b[0m", "\x1b[36mx := `y` // **no**\x1b[0m", "\x1b[2m````\x1b[0m", "\x1b[2m~~~\x1b[0m", "\x1b[36m```\x1b[0m", "\x1b[36m> quote\x1b[0m", "\x1b[36m####### no heading\x1b[0m",
	}
	m := markdown{style: style{on: true, colours: true}}
	var plain []string
	for i, line := range strings.Split(text, "\n") {
		got := m.line(line)
		if i < len(want) && got != want[i] {
			t.Errorf("line %d: %q, want %q", i, got, want[i])
		}
		plain = append(plain, ansi.Strip(got))
	}
	if got := strings.Join(plain, "\n"); got != text {
		t.Errorf("%q, want %q", got, text)
	}
	for _, s := range []style{{}, newStyle(func(string) (string, bool) { return "1", true })} { // NO_COLOR
		if got := s.in(lookRed, "x") + s.in(lookCyan, "y"); got != "xy" {
			t.Errorf("%+v: %q", s, got)
		}
	}
}

// A list of completions opens where a mention or a command is typed, and
// nowhere else.
func TestWhereCompletionOpens(t *testing.T) {
	for text, want := range map[string]bool{
		"/": true, "/mc": true, "/mcp restart ": true, "\n/he": true, "look\n/he": false, "a /he": false,
		"@": true, "see @work": true, "see @w:file://a": true, "see @w:file://a now": false, `see @w:"file://a b`: true,
		"me@corp": true, "plain": false, "": false, "日本 @w": true,
	} {
		if got := wantsCompletion(text, len(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if wantsCompletion("plain @w", 3) {
		t.Error("what stands behind the cursor counts")
	}
}

// A long paste is a word that stands for it, as long as the word is left alone.
func TestLongPastes(t *testing.T) {
	var p pastes
	a, b := p.keep("one\ntwo\n"), p.keep("[paste 1: 2 lines]\tx")
	if a != "[paste 1: 2 lines]" || b != "[paste 2: 1 line]" {
		t.Errorf("%q %q", a, b)
	}
	if got := p.whole("see " + b + " and " + a); got != "see [paste 1: 2 lines]\tx and one\ntwo\n" {
		t.Errorf("%q", got)
	}
	if got := p.whole("see [paste 1: 2 line]"); got != "see [paste 1: 2 line]" {
		t.Errorf("%q", got)
	}
}

// What was typed comes back, once each, also in the next dialogue; a file of a
// newer version is left alone.
func TestPastPrompts(t *testing.T) {
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	p, other := loadPast(dir, log), loadPast(dir, log)
	for i := range pastMost + 5 {
		if i < 3 || i > pastMost {
			p.add(fmt.Sprint("prompt ", i), fmt.Sprint("prompt ", i))
		} else {
			p.list = kept(p.list, fmt.Sprint("prompt ", i))
		}
	}
	other.add("[paste 1: 9 lines]", strings.Repeat("long\n", pastChars))
	other.add("prompt 1", "prompt 1")
	other.add("/mcp login far http://127.0.0.1/?code=secret", "/mcp login far http://127.0.0.1/?code=secret")
	if len(p.list) != pastMost || p.list[0] != "prompt 5" {
		t.Errorf("%d prompts, the oldest is %q", len(p.list), p.list[0])
	}
	p = loadPast(dir, log)
	var got []string
	for text, ok := p.back("typed"); ok; text, ok = p.back(text) {
		got = append(got, text)
	}
	if want := []string{"prompt 1", "[paste 1: 9 lines]", "prompt 504", "prompt 503", "prompt 502", "prompt 501", "prompt 2", "prompt 0"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for range got[1:] {
		if _, ok := p.forward(); !ok {
			t.Fatal("there is no way back")
		}
	}
	if text, ok := p.forward(); text != "typed" || !ok {
		t.Errorf("%q", text)
	}
	if text, ok := p.forward(); ok {
		t.Errorf("%q comes after what is typed", text)
	}

	file := filepath.Join(dir, "chat.json")
	newer := []byte(`{"version": 99, "prompts": {"of": "another shape"}}`)
	if err := os.WriteFile(file, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	p = loadPast(dir, log)
	p.add("x", "x")
	if left, err := os.ReadFile(file); err != nil || string(left) != string(newer) {
		t.Errorf("%s, %v", left, err)
	}
	if text, ok := p.back(""); text != "x" || !ok {
		t.Errorf("%q", text)
	}
}

// What a run took is told in words.
func TestWhatARunTook(t *testing.T) {
	r := agent.Result{Steps: 1, Usage: agent.Usage{PromptTokens: 1234567, CompletionTokens: 1, TotalTokens: 1234568}, Changed: []agent.ChangedFile{{}, {}}}
	if got := resultLine(r, 61*time.Second); got != "1 step · 1:01 min · 1,234,567 in, 1 token out · 2 files changed (/undo)" {
		t.Errorf("%q", got)
	}
	if got := resultLine(agent.Result{}, time.Second); got != "" {
		t.Errorf("%q", got)
	}
	if got := stepLine(agent.PlanStep{Title: "build", Status: agent.StepRunning, Note: "sent back: no test"}); got != "▸ build: sent back: no test" {
		t.Errorf("%q", got)
	}
	if got := stepLine(agent.PlanStep{Title: "build\x1b[2J", Status: agent.StepFailed, Note: "no\ncompiler"}); got != "✗ build[2J: no compiler" {
		t.Errorf("%q", got)
	}
}
