package agent

import (
	"strings"
	"testing"
	"unicode/utf8"

	"agentls/mcp"
)

// A description is data: never empty, never longer than OpenAI takes, and
// without what a person cannot see (tool poisoning, MCP.md row 73).
func TestDescriptionOfATool(t *testing.T) {
	for name, c := range map[string]struct {
		tool       mcp.Tool
		rule, want string
	}{
		"as given":         {mcp.Tool{Description: " Reads a file.\n\tOr two. "}, "", "Reads a file.\n\tOr two."},
		"the title":        {mcp.Tool{Title: "Read"}, "", "Read"},
		"nothing":          {mcp.Tool{Server: "s", Name: "t"}, "", `Tool "t" of the MCP server "s". The server gives no description.`},
		"hidden":           {mcp.Tool{Description: "Adds\u200b two\U000E0149 \U000E0049\U000E0047numbers\u202e\x00\xff"}, "", "Adds two numbers\uFFFD"},
		"hidden alone":     {mcp.Tool{Description: "\u200b", Title: "Add"}, "", "Add"},
		"a rule":           {mcp.Tool{Description: "d"}, "r", "d\n\nr"},
		"long":             {mcp.Tool{Description: strings.Repeat("é", 2000)}, "", strings.Repeat("é", 1024-len(" [cut by agentls]")) + " [cut by agentls]"},
		"long with a rule": {mcp.Tool{Description: strings.Repeat("é", 1020)}, "rule", strings.Repeat("é", 1018-len(" [cut by agentls]")) + " [cut by agentls]\n\nrule"},
	} {
		if got := describe(c.tool, c.rule); got != c.want || utf8.RuneCountInString(got) > maxDescription {
			t.Errorf("%s: %q", name, got)
		}
	}
}
