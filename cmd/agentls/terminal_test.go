package main

import (
	"strings"
	"testing"

	"agentls/agent"
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
