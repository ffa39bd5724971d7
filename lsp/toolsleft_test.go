package lsp

import (
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// That not all tools find room in a request is told once, cleaned, and each tool
// of the server is listed with the name by which it can be called.
func TestToolsThatFindNoRoomAreTold(t *testing.T) {
	llm := agenttest.NewLLM(t)
	w := newWorld(t, setup{llm: llm, servers: map[string]mcptest.Options{"many](x)": {Tools: mcptest.ManyTools(80)}}})
	w.awaitStatus("many](x)", mcp.StatusReady)
	for range 2 {
		result[agent.Result](t, w.ask("export the roadmap", nil))
	}
	var told []string
	for _, m := range w.messages("window/showMessage") {
		if strings.Contains(m, "do not all find room") {
			told = append(told, m)
		}
	}
	if len(told) != 1 || strings.Contains(told[0], "](") || !strings.Contains(told[0], "enabledTools in a server's configuration chooses them for good") {
		t.Errorf("told %q", told)
	}
	offered := len(llm.Last().Tools)
	listed := commandAs[toolsResult](w, "agentls.mcp.tools", obj{"server": "many](x)"})
	if offered >= 80 || len(listed.Tools) < 80 {
		t.Errorf("%d tools are offered, %d listed", offered, len(listed.Tools))
	}
	for _, tool := range listed.Tools {
		if tool.Model == "" {
			t.Errorf("%s has no name to be called by", tool.Name)
		}
	}
}
