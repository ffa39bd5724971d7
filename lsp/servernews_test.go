package lsp

import (
	"slices"
	"testing"

	"agentls/agent"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// A client that looks at the servers only when it is told that they changed
// sees each of their states in the end; one that does not ask to be told is not.
func TestServersThatChangeAreTold(t *testing.T) {
	const news = "agentls/didChangeServers"
	w := newWorld(t, setup{llm: onTool(t, "add_resource", `{}`), servers: fake(mcptest.Options{}), options: allowed(), init: lsptest.Init{Features: []string{"servers"}}})
	seen := 0
	see := func(what string, cond func() bool) {
		t.Helper()
		for done := false; !done; done = cond() {
			w.AwaitNotification(news, seen+1)
			seen = len(w.Notifications(news))
		}
	}
	resources := func() []resourceInfo {
		return commandAs[resourcesResult](w, "agentls.mcp.resources", "fake").Resources
	}
	see("its lists", func() bool {
		info := w.serverInfo("fake")
		return info.Status == mcp.StatusReady && info.Resources != nil && *info.Resources == 3 && info.Prompts != nil
	})
	result[agent.Result](t, w.ask("call", nil))
	see("one more resource", func() bool { return len(resources()) == 4 })
	commandAs[mcp.ServerInfo](w, "agentls.mcp.disable", "fake")
	see("the end", func() bool { return w.serverInfo("fake").Status == mcp.StatusDisabled })
	for _, raw := range w.Notifications(news) {
		if string(raw) != "{}" {
			t.Errorf("params %s", raw)
		}
	}
}

func TestUpdatedResourceIsTold(t *testing.T) {
	w := newWorld(t, setup{llm: onTool(t, "touch", `{"uri":"file://doc1.md"}`), servers: fake(mcptest.Options{}), options: allowed(), init: lsptest.Init{Features: []string{"servers"}}})
	poll(t, "the lists", func() bool { return w.serverInfo("fake").Prompts != nil })
	stale := func() bool {
		list := commandAs[resourcesResult](w, "agentls.mcp.resources", "fake").Resources
		return slices.ContainsFunc(list, func(r resourceInfo) bool { return r.URI == "file://doc1.md" && r.Stale })
	}
	if stale() {
		t.Fatal("it is stale before it changed")
	}
	result[agent.Result](t, w.ask("call", nil))
	for n := 1; !stale(); n++ {
		w.AwaitNotification("agentls/didChangeServers", n)
	}
}

func TestServersAreNotToldUnasked(t *testing.T) {
	w := newWorld(t, setup{llm: onTool(t, "add_resource", `{}`), servers: fake(mcptest.Options{}), options: allowed()})
	result[agent.Result](t, w.ask("call", nil))
	w.Await("news of the list", func() bool { return len(w.messages("window/showMessage")) > 0 })
	if n := len(w.Notifications("agentls/didChangeServers")); n > 0 {
		t.Errorf("told %d times", n)
	}
}
