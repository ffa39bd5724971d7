package main

import (
	"strings"
	"testing"

	"agentls/agent"
	"agentls/mcp"
)

// What nothing is remembered of is not offered to be.
func TestChoicesOnATerminal(t *testing.T) {
	if got := choices(agent.Question{}); strings.Contains(got, "ession") || strings.Contains(got, "lways") {
		t.Errorf("%q", got)
	}
	got := choices(agent.Question{Covers: "run_command of\x1b[2K git status"})
	if !strings.Contains(got, "run_command of") || strings.Contains(got, "\x1b") || !strings.Contains(got, "[a]lways") {
		t.Errorf("%q", got)
	}
}

// An edit is shown as a diff, with nothing in it that commands the terminal.
func TestEditOnATerminal(t *testing.T) {
	secrets := mcp.NewSecrets()
	secrets.Add("sk-secret-of-a-file")
	term := &terminal{secrets: secrets}
	got := term.shown(agent.Question{
		Arguments: []byte(`{"path":"a.txt"}`),
		Preview:   &agent.Preview{Path: "a.txt", Added: 1, Removed: 1, Diff: "@@ -1 +1 @@\n-key = sk-secret-of-a-file\n+\x1b[2Kkey\n"},
	})
	if want := "a.txt: +1 −1 lines\n  @@ -1 +1 @@\n  -key = [redacted]\n  +[2Kkey"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := term.shown(agent.Question{Arguments: []byte(`{"a":1}`)}); got != `{"a":1}` {
		t.Errorf("%q", got)
	}
}
