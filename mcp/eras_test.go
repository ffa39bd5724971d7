package mcp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// modelcontextprotocol/go-sdk#1177, the other way about: the server exits on
// initialize. Those that are silent on the probe (MayDay-wpf/snow-app#56) or
// answer it with an odd error (teradata-labs/loom#327) are not probed.
func TestEras(t *testing.T) {
	check := func(name, protocol string, o mcptest.Options, starts int, ready bool, methods ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			log := mcptest.NewLog(t)
			o.Log = string(log)
			h := newHouse(t, Options{}, fast())
			c := fakeConfig(t, "fake", o)
			c.Protocol = protocol
			h.Configure([]ServerConfig{c})
			h.started()
			if i := h.status("fake"); (i.Status == StatusReady) != ready {
				t.Fatalf("%+v", i)
			}
			if n := len(log.Events(t, "start")); n != starts {
				t.Errorf("%d children were started, want %d", n, starts)
			}
			if ready {
				if got := h.mustCall("fake", "echo", args{"text": "hello"}); got != "hello" {
					t.Errorf("%q", got)
				}
			}
			var got []string
			for _, e := range log.Entries(t) {
				if e.Method != "" && !slices.Contains(got, e.Method) {
					got = append(got, e.Method)
				}
			}
			if !slices.Equal(got[:min(len(got), len(methods))], methods) {
				t.Errorf("first methods %v, want %v", got, methods)
			}
		})
	}
	check("legacy", "auto", mcptest.Options{}, 1, true, "initialize", "notifications/initialized", "tools/list")
	check("legacy forced", "legacy", mcptest.Options{}, 1, true, "initialize")
	check("an error means modern", "auto", mcptest.Options{Modern: true}, 2, true, "initialize", "server/discover", "subscriptions/listen", "tools/list")
	check("an exit means modern", "", mcptest.Options{Modern: true, ExitOn: []string{"initialize"}}, 2, true, "initialize", "server/discover")
	check("exits on a first message that is not its own", "auto", mcptest.Options{Modern: true, ExitOnOther: "server/discover"}, 2, true, "initialize", "server/discover")
	check("silent on the probe", "auto", mcptest.Options{Unanswered: []string{"server/discover"}}, 1, true, "initialize", "notifications/initialized")
	check("an odd error on the probe", "auto", mcptest.Options{Broken: []string{"server/discover"}}, 1, true, "initialize", "notifications/initialized")
	check("modern forced", "modern", mcptest.Options{Modern: true}, 1, true, "server/discover", "subscriptions/listen")
	check("modern forced on a legacy server", "modern", mcptest.Options{}, 1, false, "server/discover")
	check("legacy forced on a modern server", "legacy", mcptest.Options{Modern: true}, 1, false, "initialize")
	check("does not acknowledge", "modern", mcptest.Options{Modern: true, NoAck: true}, 1, true, "server/discover", "subscriptions/listen", "tools/list")
	check("has no subscriptions", "modern", mcptest.Options{Modern: true, Missing: []string{"subscriptions/listen"}}, 1, true, "server/discover", "subscriptions/listen", "tools/list")
	check("exits at anything", "auto", mcptest.Options{ExitOn: []string{"initialize", "server/discover"}}, 2, false, "initialize", "server/discover")
	check("exits at once", "auto", mcptest.Options{ExitCode: 9}, 2, false)
}

func TestEraIsRememberedAndForgotten(t *testing.T) {
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, fast())
	c := fakeConfig(t, "fake", mcptest.Options{Modern: true, Log: string(log)})
	h.Configure([]ServerConfig{c})
	h.started()
	if _, err := h.Restart("fake"); err != nil {
		t.Fatal(err)
	}
	log.AwaitMethod(t, 2, "server/discover")
	h.started()
	if n := len(log.Method(t, "initialize")); n != 1 {
		t.Errorf("initialize was tried %d times", n)
	}
	// The same fingerprint, but a server that changed under it.
	_, _, c.Env = mcptest.Command(t, mcptest.Options{Log: string(log)})
	h.Configure([]ServerConfig{c})
	h.started()
	if i := h.status("fake"); i.Status != StatusReady {
		t.Errorf("%+v", i)
	}
}

// anthropics/claude-code#13646
func TestModernServerTellsOfChanges(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Modern: true, Log: string(log)}})
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	listen := log.AwaitMethod(t, 1, "subscriptions/listen")[0]
	for _, want := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged"} {
		if !strings.Contains(string(listen.Params), want) {
			t.Errorf("%s is not asked for: %s", want, listen.Params)
		}
	}
	h.mustCall("fake", "add_tool", nil)
	h.await("fake", EventTools)
	h.mustCall("fake", "add_resource", nil)
	h.await("fake", EventResources)

	// What is read is listened to from then on.
	uri := "file://doc1.md"
	if _, err := h.Read(t.Context(), "fake", uri); err != nil {
		t.Fatal(err)
	}
	listens := log.AwaitMethod(t, 2, "subscriptions/listen")
	if !strings.Contains(string(listens[1].Params), uri) {
		t.Errorf("%s", listens[1].Params)
	}
	eventually(t, "the body is kept once we are told of its changes", func() bool {
		before := len(log.Method(t, "resources/read"))
		if _, err := h.Read(t.Context(), "fake", uri); err != nil {
			t.Fatal(err)
		}
		return len(log.Method(t, "resources/read")) == before
	})
	h.mustCall("fake", "touch", args{"uri": uri})
	h.await("fake", EventUpdated)
	contents, err := h.Read(t.Context(), "fake", uri)
	if err != nil || contents[0].Text != "# Content of "+uri+" v1\n" {
		t.Errorf("%+v %v", contents, err)
	}
}

func TestModernTTLKeepsABodyForItsTime(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Modern: true, NoAck: true, Hints: map[string]any{"ttlMs": 3_600_000}, Log: string(log)}})
	for range 3 {
		if _, err := h.Read(t.Context(), "fake", "file://doc1.md"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(log.Method(t, "resources/read")); n != 1 {
		t.Errorf("read %d times", n)
	}
}

// MayDay-wpf/snow-app#56, teradata-labs/loom#327: a server of the old era that
// is silent at a method that it does not know, or says -32602, is waited for or
// given up. It is never asked for the new one.
func TestServersThatAreOddAboutTheOtherEra(t *testing.T) {
	t.Parallel()
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Unanswered: []string{"server/discover"}, Log: string(log)})})
	within(t, 5*time.Second, "the start", h.started)
	if got := h.mustCall("fake", "echo", args{"text": "hello"}); got != "hello" || len(log.Method(t, "server/discover")) != 0 {
		t.Errorf("%q after %v", got, log.Entries(t))
	}
	// One that is said to be modern, and is silent, is given up in words.
	c := fakeConfig(t, "silent", mcptest.Options{Unanswered: []string{"server/discover"}})
	c.Protocol, c.StartupTimeout = "modern", 300*time.Millisecond
	h.Configure([]ServerConfig{c})
	h.started()
	if i := h.status("silent"); i.Status != StatusFailed || !strings.Contains(i.Error, "no answer to the start within 300ms") {
		t.Errorf("%+v", i)
	}
	// A server of the new era may refuse initialize by whatever code it likes
	// (gopls answers 0 to what it does not know).
	for _, code := range []int{0, -32000, -32600, -32601, -32602, -32603} {
		for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
			srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
			srv.Break(mcptest.Method("initialize"), mcptest.Answer(status, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":{id},"error":{"code":%d,"message":"no"}}`, code)))
			h := newHouse(t, Options{}, fast())
			h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
			h.started()
			if i := h.status("fake"); i.Status != StatusReady {
				t.Errorf("%d with HTTP %d: %+v", code, status, i)
			}
			h.Close()
		}
	}
}
