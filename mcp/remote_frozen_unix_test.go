//go:build unix

package mcp

import (
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// topcheer/ggcode#717, charmbracelet/crush#2854, over HTTP: a server hangs with
// all its connections open. That is noticed without a call, and when it goes
// on, so do we.
func TestRealRemoteServerThatFreezes(t *testing.T) {
	t.Parallel()
	for _, r := range realRemotes {
		t.Run(strings.TrimSpace(r.server+" "+r.protocol), func(t *testing.T) {
			t.Parallel()
			srv := mcptest.RealHTTP(t, r.server)
			tm := fast()
			tm.tries, tm.use = 10_000, time.Second
			tm.ping, tm.pong = 200*time.Millisecond, 500*time.Millisecond
			h := newHouse(t, Options{}, tm)
			c := remoteConfig("real", srv.URL)
			c.Protocol, c.StartupTimeout, c.Timeout = r.protocol, 5*time.Second, 2*time.Second
			h.Configure([]ServerConfig{c})
			h.started()
			if i := h.status("real"); i.Status != StatusReady {
				t.Fatalf("%+v", i)
			}
			// A request under way would have its own deadline.
			eventually(t, "its lists", func() bool {
				i := h.status("real")
				return len(h.uris("real")) == r.resources && i.Prompts != nil && *i.Prompts == r.prompts
			})
			srv.Freeze(t)
			h.await("real", EventLost)
			if i := h.status("real"); i.Status == StatusReady {
				t.Errorf("%+v", i)
			}
			srv.Thaw(t)
			h.backAfter(r, func() {})
		})
	}
}
