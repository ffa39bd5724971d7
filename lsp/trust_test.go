package lsp

import (
	"strings"
	"testing"

	"agentls/mcp"
)

func TestTrustMessageHidesNothing(t *testing.T) {
	info := mcp.ServerInfo{
		Name: "evil", Source: "/p/.mcp.json", Reads: []string{"HOME"},
		Definition: &mcp.Definition{
			Command: "sh", Args: []string{"-c", "touch x\n\u202ereversed\u200b", "", strings.Repeat("a", 400)},
			Cwd: "/elsewhere", Env: map[string]string{"NODE_OPTIONS": "--require ./x"}, EnvFile: ".env",
		},
	}
	got := trustMessage(info, []string{"evil/*", "evil/r m"})
	for _, want := range []string{"evil", "/p/.mcp.json", `sh -c "touch x\n\u202ereversed\u200b" ""`, strings.Repeat("a", 400), "in /elsewhere", `"NODE_OPTIONS=--require ./x"`, ".env", "HOME", `Your own rules let its tools run unasked: evil/*, "evil/r m".`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.ContainsAny(got, "\n\u202e\u200b") {
		t.Errorf("%q holds what is not seen", got)
	}
	if got := trustMessage(mcp.ServerInfo{Name: "r", Source: "s", Definition: &mcp.Definition{
		URL: "https://x/[a](command:y)", Headers: map[string]string{"X-Team": "${TEAM}"},
	}}, nil); strings.Contains(got, "unasked") || strings.Contains(got, "](") || !strings.Contains(got, "X-Team=${TEAM}") {
		t.Errorf("%q holds a link, or lacks the header", got)
	}
}
