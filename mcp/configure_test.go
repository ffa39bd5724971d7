package mcp

import (
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

func TestServerStartsOnlyWhenTheOneBeforeIsGone(t *testing.T) {
	// Two children of one server fight over its port, its lock, its database.
	check := func(name string, between ...func(c ServerConfig) []ServerConfig) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			log := mcptest.NewLog(t)
			h := newHouse(t, Options{}, fast())
			c := fakeConfig(t, "fake", mcptest.Options{Log: string(log), IgnoreEOF: true}) // it takes a second to end
			h.Configure([]ServerConfig{c})
			old := log.AwaitEvent(t, 1, "start")[0].PID
			for _, list := range between {
				h.Configure(list(c))
			}
			c.Timeout += time.Second
			h.Configure([]ServerConfig{c})
			log.AwaitEvent(t, 2, "start")
			if alive(old) {
				t.Error("the old child still runs beside the new one")
			}
			h.started()
			if n := len(log.Events(t, "start")); n != 2 {
				t.Errorf("%d children were started", n)
			}
		})
	}
	same := func(c ServerConfig) []ServerConfig { return []ServerConfig{c} }
	none := func(ServerConfig) []ServerConfig { return nil }
	disabled := func(c ServerConfig) []ServerConfig { c.Disabled = true; return []ServerConfig{c} }
	other := func(c ServerConfig) []ServerConfig { c.Timeout += time.Minute; return []ServerConfig{c} }
	check("changed", same)
	check("changed twice", other) // the one between starts nothing
	check("taken out", none)
	check("disabled", disabled)
	check("disabled, then taken out", disabled, none)
	check("taken out, back disabled", none, disabled)
}

// A restart that is asked for while the server before is still ending is the
// start that comes then, not one more.
func TestRestartBeforeAStartIsThatStart(t *testing.T) {
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, fast())
	c := fakeConfig(t, "fake", mcptest.Options{Log: string(log), IgnoreEOF: true})
	h.Configure([]ServerConfig{c})
	log.AwaitEvent(t, 1, "start")
	h.started()
	c.Timeout += time.Second
	h.Configure([]ServerConfig{c})
	for range 3 {
		if i, err := h.Restart("fake"); err != nil || i.Status != StatusStarting {
			t.Errorf("%+v %v", i, err)
		}
	}
	h.started()
	eventually(t, "its last list", func() bool { return h.status("fake").Prompts != nil })
	for range 10 { // a restart would fail these
		h.mustCall("fake", "echo", args{"text": "hello"})
	}
	if n := len(log.Events(t, "start")); n != 2 {
		t.Errorf("%d starts", n)
	}
}
