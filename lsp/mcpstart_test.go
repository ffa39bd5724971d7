package lsp

import (
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// Servers that do not come up (anthropics/claude-code#35287) hold up neither
// initialize nor a prompt (charmbracelet/crush#660, charmbracelet/crush#3521):
// it begins with the servers that are ready, says which are not, and what never
// starts is told by its name when its time is over.
func TestServersThatHangAtTheStart(t *testing.T) {
	servers := serverEntries(t, map[string]mcptest.Options{"fake": {}, "silent": {Silent: true}})
	servers["silent"].(map[string]any)["startupTimeoutSeconds"] = 1000
	servers["asleep"] = obj{"command": "sleep", "args": []string{"1000"}, "startupTimeoutSeconds": 4}
	options := allowed()
	options["mcpServers"] = servers
	began := time.Now()
	w := newWorld(t, setup{llm: onTools(t), options: options})
	if took := time.Since(began); took > 3*time.Second { // the servers take hours
		t.Errorf("initialize took %v", took)
	}
	r := result[agent.Result](t, w.ask(`call echo {"text":"pong"}`, nil))
	if r.Text != "saw: pong" {
		t.Errorf("%+v", r)
	}
	const told = "agentls: This prompt begins without MCP servers that are still starting: asleep, silent"
	for _, method := range []string{"window/showMessage", "window/logMessage"} {
		w.Await(method, func() bool { return slices.Contains(w.messages(method), told) })
	}
	w.Await("the one whose time is over", func() bool {
		return slices.ContainsFunc(w.messages("window/showMessage"), func(m string) bool {
			return strings.HasPrefix(m, "asleep: cannot be used: ") && strings.Contains(m, "within 4s")
		})
	})
	if i := w.serverInfo("silent"); i.Status != mcp.StatusStarting {
		t.Errorf("%+v", i)
	}
}

// Who wants no popups finds it in the log.
func TestMissingServersDoNotPopUpUnwanted(t *testing.T) {
	options := allowed()
	options["notifications"] = "off"
	options["mcpServers"] = obj{"asleep": obj{"command": "sleep", "args": []string{"1000"}}}
	w := newWorld(t, setup{llm: onTools(t), options: options})
	result[agent.Result](t, w.ask("hello", nil))
	w.Await("the log", func() bool {
		return slices.ContainsFunc(w.messages("window/logMessage"), func(m string) bool { return strings.HasSuffix(m, "still starting: asleep") })
	})
	if got := w.messages("window/showMessage"); got != nil {
		t.Errorf("%q", got)
	}
}
