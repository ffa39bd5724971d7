package mcp

import (
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// Whoever looks at the servers only when they are said to have changed sees
// each of their states in the end.
func TestChangesAreToldOfStatesListsAndNames(t *testing.T) {
	h := newHouse(t, Options{}, fast())
	c := fakeConfig(t, "fake", mcptest.Options{})
	see := func(what string, cond func(ServerInfo, bool) bool) {
		t.Helper()
		deadline := time.After(20 * time.Second)
		for {
			select {
			case <-h.Changes():
			case <-deadline:
				t.Fatalf("nothing told of %s", what)
			}
			var info ServerInfo
			list := h.Servers()
			for _, i := range list {
				if i.Name == "fake" {
					info = i
				}
			}
			if cond(info, info.Name != "") {
				return
			}
		}
	}
	ready := func(i ServerInfo, _ bool) bool { return i.Status == StatusReady }
	h.Configure([]ServerConfig{c})
	see("the first lists", func(i ServerInfo, _ bool) bool {
		return i.Status == StatusReady && i.Resources != nil && *i.Resources == 3 && i.Prompts != nil
	})
	h.mustCall("fake", "add_resource", nil)
	see("one more resource", func(i ServerInfo, _ bool) bool { return *i.Resources == 4 })
	if _, err := h.Restart("fake"); err != nil {
		t.Fatal(err)
	}
	see("the restart", ready)
	c.Disabled = true
	h.Configure([]ServerConfig{c})
	see("the end", func(i ServerInfo, _ bool) bool { return i.Status == StatusDisabled })
	h.Configure(nil)
	see("its absence", func(_ ServerInfo, there bool) bool { return !there })
}
