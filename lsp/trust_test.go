package lsp

import (
	"strings"
	"testing"

	"agentls/mcp"
)

func TestTrustMessageHidesNothing(t *testing.T) {
	info := mcp.ServerInfo{
		Name: "evil", Source: "/p/.mcp.json", Command: "sh", Args: []string{"-c", "touch x\n\u202ereversed\u200b", "", strings.Repeat("a", 400)},
		Env: []string{"TOKEN"}, Reads: []string{"HOME"},
	}
	got := trustMessage(info)
	for _, want := range []string{"evil", "/p/.mcp.json", `sh -c "touch x\n\u202ereversed\u200b" ""`, strings.Repeat("a", 400), "TOKEN", "HOME"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.ContainsAny(got, "\n\u202e\u200b") {
		t.Errorf("%q holds what is not seen", got)
	}
	if got := trustMessage(mcp.ServerInfo{Name: "r", Source: "s", URL: "https://x/[a](command:y)"}); strings.Contains(got, "](") {
		t.Errorf("%q holds a link", got)
	}
}
