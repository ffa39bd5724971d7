package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"agentls/agent"
)

// Each line fits into the terminal, wide characters counted as they are shown,
// and the columns stand below each other.
func TestAuditTableFits(t *testing.T) {
	entries := []agent.AuditEntry{
		{Time: time.Now(), Tool: "run_command", Arguments: json.RawMessage(`{"command":"` + strings.Repeat("x", 500) + `"}`), Outcome: agent.Completed, DecidedBy: "user", Reason: "once"},
		{Time: time.Now(), Server: "日本", Tool: "検索", Arguments: json.RawMessage(`{"q":"表示幅のテスト` + strings.Repeat("長", 200) + `"}`), Outcome: agent.Failed, DecidedBy: "rule:日本/*"},
		{Time: time.Now(), Tool: "e\u0301", Outcome: agent.Denied, DecidedBy: "policy", Reason: "a\x1b[31m\u202eb\r\n\tc"},
	}
	for _, most := range []int{0, 1, 20, 79, 80, 200} {
		var out bytes.Buffer
		if err := writeAudit(&out, entries, most); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 4 {
			t.Fatalf("%d lines", len(lines))
		}
		at := -1
		for i, line := range lines {
			if n := cells(line); most > 0 && n > most {
				t.Errorf("%d columns of %d: %s", n, most, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
				t.Errorf("%q", line)
			}
			if outcome := []string{"OUTCOME", "completed", "failed", "denied"}[i]; most == 0 {
				before, _, _ := strings.Cut(line, outcome)
				if at >= 0 && cells(before) != at {
					t.Errorf("%s begins at %d, not at %d", outcome, cells(before), at)
				}
				at = cells(before)
			}
		}
	}
	var out bytes.Buffer
	if err := writeJSON(&out, []string{"a\x1b\u009b\u202e\U000E0041<&é"}); err != nil {
		t.Fatal(err)
	}
	var back []string
	if got := out.String(); got != "[\n  \"a\\u001b\\u009b\\u202e\\udb40\\udc41<&é\"\n]\n" || json.Unmarshal(out.Bytes(), &back) != nil || back[0] != "a\x1b\u009b\u202e\U000E0041<&é" {
		t.Errorf("%q, %q", got, back)
	}
}
