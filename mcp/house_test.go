package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// house is a manager under test with all its events.
type house struct {
	*Manager
	t testing.TB

	mu     sync.Mutex
	events []Event
}

// fast are the timings of tests that wait for something.
func fast() timing {
	t := defaultTiming()
	t.backoff, t.backoffMax = 20*time.Millisecond, 100*time.Millisecond
	t.debounce, t.debounceMax = 50*time.Millisecond, 300*time.Millisecond
	t.question, t.acknowledge = 500*time.Millisecond, 500*time.Millisecond
	t.unheard, t.pong = 50*time.Millisecond, time.Second
	return t
}

func newHouse(t testing.TB, o Options, tm timing) *house {
	t.Helper()
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	o.Name, o.Version = "agentls", "test"
	h := &house{Manager: newManager(o, tm), t: t}
	var wg sync.WaitGroup
	wg.Go(func() {
		for e := range h.Events() {
			h.mu.Lock()
			h.events = append(h.events, e)
			h.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		h.Close()
		wg.Wait()
	})
	return h
}

// open returns a house with fake servers by name, all of them started.
func open(t testing.TB, servers map[string]mcptest.Options) *house {
	t.Helper()
	h := newHouse(t, Options{}, fast())
	var list []ServerConfig
	for name, o := range servers {
		list = append(list, fakeConfig(t, name, o))
	}
	h.Configure(list)
	h.started()
	return h
}

func fakeConfig(t testing.TB, name string, o mcptest.Options) ServerConfig {
	t.Helper()
	command, args, env := mcptest.Command(t, o)
	return ServerConfig{
		Name: name, Source: "user", Type: "stdio", Command: command, Args: args, Env: env, Fingerprint: "fp-" + name,
		Timeout: 20 * time.Second, StartupTimeout: 20 * time.Second,
	}
}

// remote returns a house with one server, over HTTP, that has started.
func remote(t testing.TB, o mcptest.HTTPOptions) (*house, *mcptest.HTTPServer) {
	t.Helper()
	srv := mcptest.ServeHTTP(t, o)
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	return h, srv
}

func remoteConfig(name, url string) ServerConfig {
	kind := "http"
	if strings.HasSuffix(url, "/sse") {
		kind = "sse"
	}
	return ServerConfig{
		Name: name, Source: "user", Type: kind, URL: url, Fingerprint: "fp-" + name, Timeout: 20 * time.Second, StartupTimeout: 20 * time.Second,
	}
}

func (h *house) started() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer cancel()
	if missing := h.WaitStarted(ctx); missing != nil {
		h.t.Fatalf("not started in 30 s: %v", missing)
	}
}

func (h *house) seen() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

func (h *house) kind(server string, kind EventKind) (out []Event) {
	for _, e := range h.seen() {
		if e.Server == server && e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// await waits for an event of a kind and returns the last one.
func (h *house) await(server string, kind EventKind) Event {
	h.t.Helper()
	eventually(h.t, fmt.Sprintf("event %s of %s", kind, server), func() bool { return len(h.kind(server, kind)) > 0 })
	got := h.kind(server, kind)
	return got[len(got)-1]
}

func (h *house) status(server string) ServerInfo {
	h.t.Helper()
	for _, i := range h.Servers() {
		if i.Name == server {
			return i
		}
	}
	h.t.Fatalf("no server %q", server)
	return ServerInfo{}
}

// awaitEvil waits for the status of the server of [project].
func (h *house) awaitEvil(want Status) {
	h.t.Helper()
	eventually(h.t, "evil "+string(want), func() bool { return h.status("evil").Status == want })
}

// call calls a tool with arguments that marshal to an object.
func (h *house) call(server, tool string, args any) (string, error) {
	h.t.Helper()
	return h.callCtx(h.t.Context(), server, tool, args)
}

func (h *house) callCtx(ctx context.Context, server, tool string, args any) (string, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		h.t.Fatal(err)
	}
	if args == nil {
		raw = nil
	}
	r, err := h.CallTool(ctx, server, tool, raw, nil)
	return joined(r), err
}

func (h *house) mustCall(server, tool string, args any) string {
	h.t.Helper()
	text, err := h.call(server, tool, args)
	if err != nil {
		h.t.Fatalf("%s of %s: %v", tool, server, err)
	}
	return text
}

func joined(r ToolResult) string {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, "\n")
}

func (h *house) tools(server string) []string {
	var names []string
	for _, t := range h.Tools() {
		if t.Server == server {
			names = append(names, t.Name)
		}
	}
	return names
}

func (h *house) uris(server string) []string {
	h.t.Helper()
	list, err := h.Resources(server)
	if err != nil {
		h.t.Fatal(err)
	}
	uris := make([]string, 0, len(list.Resources))
	for _, r := range list.Resources {
		uris = append(uris, r.URI)
	}
	return uris
}

func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in 15 s: %s", what)
		}
	}
}

// args is the arguments of a tool.
type args = map[string]any

func touch(t testing.TB, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func pids(t testing.TB, log mcptest.Log) []int {
	t.Helper()
	var out []int
	for _, e := range log.Entries(t) {
		switch e.Event {
		case "start":
			out = append(out, e.PID)
		case "grandchild":
			out = append(out, e.Child)
		}
	}
	return out
}

func gone(t testing.TB, log mcptest.Log) {
	t.Helper()
	all := pids(t, log)
	if len(all) == 0 {
		t.Fatal("nothing was started")
	}
	eventually(t, "every process is gone", func() bool { return !slices.ContainsFunc(all, alive) })
}

// within fails when f takes longer; the bound is far over what it takes.
func within(t testing.TB, d time.Duration, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > d {
		t.Errorf("%s took %v", what, took.Round(time.Millisecond))
	}
}
