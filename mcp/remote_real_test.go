package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// realRemote is a server of mcptest.RealHTTP in one of the eras that it speaks,
// with what it is known to have.
type realRemote struct {
	server, protocol                     string
	modern                               bool // what it must come to
	tools, resources, templates, prompts int  // tools: at least
	uri, says                            string
	tool                                 string // answers with what it is given
	args                                 args
	answer                               string
	long                                 string // a tool that takes as long as it is told
	longArgs                             args
	own                                  bool // has the tools pid, sleep, add_tool, add_resource, touch
	lists, updates                       bool // tells of changes
}

var realRemotes = []realRemote{
	{
		server: "everything", tools: 10, resources: 7, templates: 2, prompts: 4,
		uri: "demo://resource/static/document/architecture.md", says: "Architecture",
		tool: "echo", args: args{"message": "hellö"}, answer: "Echo: hellö",
		long: "trigger-long-running-operation", longArgs: args{"duration": 600, "steps": 600}, updates: true,
	},
	{
		server: "sse", tools: 10, resources: 7, templates: 2, prompts: 4,
		uri: "demo://resource/static/document/architecture.md", says: "Architecture",
		tool: "echo", args: args{"message": "hellö"}, answer: "Echo: hellö",
		long: "trigger-long-running-operation", longArgs: args{"duration": 600, "steps": 600}, updates: true,
	},
	{
		server: "go-sdk", tools: 10, resources: 1, templates: 1, prompts: 2, uri: "embedded:info", says: "hello",
		tool: "greet", args: args{"name": "you"}, answer: "Hi you",
	},
	ownRemote("go-sdk-stateless", "auto", false),
	ownRemote("go-sdk-stateless", "modern", true),
	ownRemote("mcp-go", "auto", false),
	ownRemote("mcp-go", "modern", true),
	ownRemote("mcp-go-stateful", "auto", false),
}

// ownRemote is one of those that we made of the libraries of others.
func ownRemote(server, protocol string, modern bool) realRemote {
	return realRemote{
		server: server, protocol: protocol, modern: modern, tools: 6, resources: 3, templates: 1, prompts: 1,
		uri: "memo://1", says: "The text of memo://1", tool: "echo", args: args{"text": "hellö"}, answer: "hellö",
		long: "sleep", longArgs: args{"seconds": 600}, own: true,
		// Without sessions only 2026-07-28 has a stream for it. mcp-go's server
		// acknowledges subscriptions in subscriptions/listen, but sends no updates.
		lists:   modern || server != "go-sdk-stateless",
		updates: modern != strings.HasPrefix(server, "mcp-go"),
	}
}

// everyRealRemote runs a test against each of them.
func everyRealRemote(t *testing.T, f func(t *testing.T, r realRemote, srv *mcptest.RealHTTPServer, h *house)) {
	t.Helper()
	for _, r := range realRemotes {
		t.Run(strings.TrimSpace(r.server+" "+r.protocol), func(t *testing.T) {
			t.Parallel()
			srv := mcptest.RealHTTP(t, r.server)
			tm := fast()
			tm.tries = 10_000 // a server that is restarted takes what it takes
			tm.use = time.Second
			h := newHouse(t, Options{}, tm)
			c := remoteConfig("real", srv.URL)
			c.Protocol = r.protocol
			h.Configure([]ServerConfig{c})
			h.started()
			if i := h.status("real"); i.Status != StatusReady {
				t.Fatalf("%+v; its output:\n%s", i, srv.Output())
			}
			eventually(t, "resources", func() bool { return len(h.uris("real")) == r.resources })
			f(t, r, srv, h)
		})
	}
}

func TestRealRemoteServers(t *testing.T) {
	everyRealRemote(t, func(t *testing.T, r realRemote, srv *mcptest.RealHTTPServer, h *house) {
		s, err := h.find("real")
		if err != nil {
			t.Fatal(err)
		}
		if s.mu.Lock(); s.conn == nil || s.conn.modern != r.modern {
			t.Errorf("modern is not %v", r.modern)
		}
		s.mu.Unlock()
		i := h.status("real")
		if i.URL != srv.URL || *i.Tools < r.tools || *i.Resources != r.resources {
			t.Errorf("%+v", i)
		}
		list, err := h.ListResources(t.Context(), "real")
		if err != nil || len(list.Resources) != r.resources || len(list.Templates) != r.templates {
			t.Errorf("%+v %v", list, err)
		}
		prompts, err := h.ListPrompts(t.Context(), "real")
		if err != nil || len(prompts) != r.prompts {
			t.Errorf("%+v %v", prompts, err)
		}
		p := prompts[0]
		given := map[string]string{}
		for _, a := range p.Arguments {
			given[a.Name] = "hellö"
		}
		if got, err := h.GetPrompt(t.Context(), "real", p.Name, given); err != nil || len(got.Messages) == 0 || len(given) > 0 && !strings.Contains(got.Messages[0].Contents[0].Text, "hellö") {
			t.Errorf("%+v: %+v %v", p, got, err)
		}
		contents, err := h.Read(t.Context(), "real", r.uri)
		if err != nil || len(contents) != 1 || !strings.Contains(contents[0].Text, r.says) {
			t.Errorf("%+v %v", contents, err)
		}
		if _, err := h.Read(t.Context(), "real", "none://here"); !errors.Is(err, ErrUnknownResource) {
			t.Errorf("a missing resource: %v", err)
		}
		if got := h.mustCall("real", r.tool, r.args); got != r.answer {
			t.Errorf("%q", got)
		}
	})
}

// anthropics/claude-code#13646, anthropics/claude-code#79826, cursor/cursor#2980
// (tools); anthropics/claude-code#47823 (an update of what was read is told once the
// server heard that it is wanted).
func TestRealRemoteServersTellOfChanges(t *testing.T) {
	everyRealRemote(t, func(t *testing.T, r realRemote, _ *mcptest.RealHTTPServer, h *house) {
		switch {
		case r.lists:
			h.mustCall("real", "add_resource", nil)
			eventually(t, "the new resource", func() bool { return slices.Contains(h.uris("real"), "memo://late") })
			h.mustCall("real", "add_tool", nil)
			eventually(t, "the new tool", func() bool { return slices.Contains(h.tools("real"), "late_tool") })
			if got := h.mustCall("real", "late_tool", nil); got != "late tool ran" {
				t.Errorf("%q", got)
			}
		case r.own: // it cannot tell, so it is asked at each use
			h.mustCall("real", "add_resource", nil)
			if list, err := h.ListResources(t.Context(), "real"); err != nil || len(list.Resources) != r.resources+1 {
				t.Errorf("%d resources, %v", len(list.Resources), err)
			}
		}
		if !r.updates {
			return
		}
		if !r.own {
			h.mustCall("real", "toggle-subscriber-updates", nil)
		}
		eventually(t, "an update", func() bool {
			if _, err := h.Read(t.Context(), "real", r.uri); err != nil {
				t.Fatal(err)
			}
			if r.own {
				h.mustCall("real", "touch", args{"uri": r.uri})
			}
			return len(h.kind("real", EventUpdated)) > 0
		})
		if e := h.await("real", EventUpdated); e.URI != r.uri {
			t.Errorf("%+v", e)
		}
	})
}

// begin calls the server's long tool, and returns when that runs.
func (r realRemote) begin(ctx context.Context, h *house, srv *mcptest.RealHTTPServer) <-chan error {
	raw, err := json.Marshal(r.longArgs)
	if err != nil {
		h.t.Fatal(err)
	}
	ended, step := make(chan error, 1), make(chan struct{}, 1)
	go func() { // ends with ctx
		_, err := h.CallTool(ctx, "real", r.long, raw, func(Progress) {
			select {
			case step <- struct{}{}:
			default:
			}
		})
		ended <- err
	}()
	if r.own {
		srv.AwaitOutput(h.t, "sleep began")
		return ended
	}
	select {
	case <-step:
	case err := <-ended:
		h.t.Fatalf("%s ended before its first step: %v", r.long, err)
	}
	return ended
}

// anomalyco/opencode#24312: the cancel reaches the tool. anthropics/claude-code#47724:
// and ends nothing else.
func TestRealRemoteCancel(t *testing.T) {
	everyRealRemote(t, func(t *testing.T, r realRemote, srv *mcptest.RealHTTPServer, h *house) {
		if !r.own {
			return // these log nothing that would show it
		}
		pid := h.mustCall("real", "pid", nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := r.begin(ctx, h, srv)
		within(t, time.Second, "the cancel", func() {
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
		if r.server == "go-sdk-stateless" && !r.modern {
			// Without a session it cannot know what a cancel is about.
			if got := h.mustCall("real", r.tool, r.args); got != r.answer {
				t.Errorf("%q", got)
			}
			return
		}
		srv.AwaitOutput(t, "sleep was cancelled")
		if now := h.mustCall("real", "pid", nil); now != pid || pid != fmt.Sprint(srv.PID()) {
			t.Errorf("pid %s, before %s", now, pid)
		}
		if lost := h.kind("real", EventLost); len(lost) > 0 {
			t.Errorf("%+v", lost)
		}
	})
}

// MoonshotAI/kimi-code#2109: a call of a server that died waits for its
// timeout. openai/codex#28704, #22571, #39990: and the server stays dead for
// the rest of the session.
func TestRealRemoteServerIsKilledAndComesBack(t *testing.T) {
	everyRealRemote(t, func(t *testing.T, r realRemote, srv *mcptest.RealHTTPServer, h *house) {
		if r.long == "" {
			srv.Stop()
		} else {
			ended := r.begin(t.Context(), h, srv)
			srv.Stop()
			within(t, time.Second, "the end of the call", func() {
				if err := <-ended; err == nil {
					t.Error("a call of a dead server succeeded")
				}
			})
			if _, err := h.call("real", r.tool, r.args); err == nil {
				t.Error("a dead server answered")
			}
		}
		h.backAfter(r, func() { srv.Restart(t) })
	})
}

// charmbracelet/crush#3327, anthropics/claude-code#74329: it is restarted
// while nobody looks, and then serves all calls, not one.
func TestRealRemoteServerIsRestartedUnderUs(t *testing.T) {
	everyRealRemote(t, func(t *testing.T, r realRemote, srv *mcptest.RealHTTPServer, h *house) {
		if r.lists {
			h.mustCall("real", "add_tool", nil)
			eventually(t, "the new tool", func() bool { return slices.Contains(h.tools("real"), "late_tool") })
		}
		h.backAfter(r, func() { srv.Restart(t) })
		// What it told before it was restarted is not so any more.
		eventually(t, "the new tool is gone", func() bool { return !slices.Contains(h.tools("real"), "late_tool") })
	})
}

// backAfter restarts a server, and sees that it is used again, without a
// person, with its lists.
func (h *house) backAfter(r realRemote, restart func()) {
	h.t.Helper()
	restart()
	eventually(h.t, "a call is served", func() bool {
		got, err := h.call("real", r.tool, r.args)
		return err == nil && got == r.answer
	})
	for range 3 {
		if got, err := h.call("real", r.tool, r.args); err != nil || got != r.answer {
			h.t.Errorf("a call after the first: %q %v", got, err)
		}
	}
	eventually(h.t, "its lists are back", func() bool {
		list, err := h.ListResources(h.t.Context(), "real")
		return err == nil && !list.Stale && len(list.Resources) == r.resources && len(h.tools("real")) >= r.tools
	})
	if i := h.status("real"); i.Status != StatusReady {
		h.t.Errorf("%+v", i)
	}
}

// anomalyco/opencode#32477, anthropics/claude-code#470, aaif-goose/goose#9100:
// a call that reports progress may take longer than its timeout.
func TestRealRemoteProgress(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"everything", "sse"} {
		srv := mcptest.RealHTTP(t, server)
		h := newHouse(t, Options{}, fast())
		c := remoteConfig("real", srv.URL)
		c.Timeout = time.Second
		h.Configure([]ServerConfig{c})
		h.started()
		var steps []Progress
		_, err := h.CallTool(t.Context(), "real", "trigger-long-running-operation", []byte(`{"duration":2,"steps":5}`), func(p Progress) { steps = append(steps, p) })
		if err != nil || len(steps) < 4 || steps[0].Total != 5 {
			t.Errorf("%s: %+v %v", server, steps, err)
		}
	}
}
