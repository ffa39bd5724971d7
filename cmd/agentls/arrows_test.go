package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The arrows of ARCHITECTURE.md: what each package may import of ours.
// cmd/agentls may import everything below it but the test doubles.
var arrows = map[string]string{
	"agentls/mcp":             "agentls/mcp/child agentls/mcp/oauth agentls/mcp/statefile agentls/mcp/workspace",
	"agentls/mcp/child":       "",
	"agentls/mcp/workspace":   "agentls/mcp/child agentls/mcp/watch",
	"agentls/mcp/oauth":       "agentls/mcp/publicnet agentls/mcp/statefile",
	"agentls/mcp/publicnet":   "",
	"agentls/mcp/statefile":   "",
	"agentls/mcp/watch":       "",
	"agentls/agent":           "agentls/mcp agentls/mcp/child agentls/mcp/publicnet agentls/mcp/workspace",
	"agentls/agent/config":    "agentls/agent agentls/mcp agentls/mcp/child agentls/mcp/watch",
	"agentls/agent/openai":    "agentls/agent agentls/mcp",
	"agentls/agent/offline":   "agentls/agent",
	"agentls/lsp":             "agentls/agent agentls/agent/config agentls/mcp agentls/mcp/workspace",
	"agentls/agent/agenttest": "agentls/agent agentls/mcp agentls/mcp/workspace",
	"agentls/mcp/mcptest":     "agentls/mcp agentls/mcp/workspace",
	"agentls/lsp/lsptest":     "agentls/agent agentls/agent/agenttest agentls/agent/config agentls/lsp agentls/mcp agentls/mcp/mcptest agentls/mcp/workspace",

	"agentls/agent/agenttest/auditcheck": "agentls/agent/agenttest",
	"agentls/agent/openai/llamatest":     "",
	"agentls/mcp/mcptest/proofs":         "agentls/mcp/mcptest",
	"agentls/lsp/lspclient":              "",
	"agentls/cmd/agentls-bench":          "agentls/lsp/lspclient agentls/mcp/mcptest",
	"agentls/cmd/agentls-conformance":    "agentls/mcp",
	"agentls/cmd/agentls-servers":        "agentls/agent/config agentls/mcp agentls/mcp/workspace",
}

// rooms names the one package that may import a library.
var rooms = map[string]string{
	"go.lsp.dev/":                       "agentls/lsp agentls/lsp/lsptest",
	"github.com/mark3labs/mcp-go":       "agentls/mcp agentls/mcp/mcptest",
	"github.com/sashabaranov/go-openai": "agentls/agent/openai",

	"github.com/modelcontextprotocol/go-sdk": "agentls/mcp/oauth",
	"golang.org/x/oauth2":                    "agentls/mcp/oauth",

	"charm.land/":              "agentls/cmd/agentls", // which is not looked at
	"github.com/charmbracelet": "agentls/cmd/agentls",
}

func TestNothingPointsUp(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "agentls/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pkg == "agentls/cmd/agentls" {
			for imp := range strings.FieldsSeq(imports) {
				if strings.HasPrefix(imp, "agentls/") && strings.HasSuffix(imp, "test") {
					t.Errorf("%s imports the test double %s", pkg, imp)
				}
			}
			continue
		}
		allowed, known := arrows[pkg]
		if !known {
			t.Errorf("%s has no place in the house; give it its arrows here and in ARCHITECTURE.md", pkg)
		}
		seen++
		for imp := range strings.FieldsSeq(imports) {
			if strings.HasPrefix(imp, "agentls/") && !contains(allowed, imp) {
				t.Errorf("%s imports %s: nothing points up", pkg, imp)
			}
			for lib, room := range rooms {
				if strings.HasPrefix(imp, lib) && !contains(room, pkg) {
					t.Errorf("%s imports %s, which belongs to %s", pkg, imp, room)
				}
			}
		}
	}
	if seen != len(arrows) {
		t.Errorf("%d packages, %d have arrows", seen, len(arrows))
	}
}

func contains(words, word string) bool { return slices.Contains(strings.Fields(words), word) }
