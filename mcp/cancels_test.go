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

// ear tells what a fake server heard, however it is reached.
type ear struct {
	requests func(method string) []mcptest.Entry
	// aborted reports whether the client closed the exchange of a request;
	// nil: there is nothing to close but the connection.
	aborted func(id json.RawMessage) bool
	modern  bool
}

// cancelled lists the ids that notifications/cancelled named, with the reasons.
func (e ear) cancelled() (ids, reasons []string) {
	for _, m := range e.requests("notifications/cancelled") {
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
			Reason    string          `json:"reason"`
		}
		_ = json.Unmarshal(m.Params, &p)
		ids, reasons = append(ids, string(p.RequestID)), append(reasons, p.Reason)
	}
	return ids, reasons
}

// everyTransport gives, for each transport and era, how to open a house with a fake
// server named "fake".
func everyTransport(t *testing.T, o mcptest.Options, change func(*ServerConfig)) map[string]func(*testing.T) (*house, ear) {
	t.Helper()
	return everyTransportWith(t, Options{}, o, change)
}

// everyTransportWith is everyTransport of a house with its own options.
func everyTransportWith(t *testing.T, own Options, o mcptest.Options, change func(*ServerConfig)) map[string]func(*testing.T) (*house, ear) {
	t.Helper()
	if change == nil {
		change = func(*ServerConfig) {}
	}
	start := func(t *testing.T, c ServerConfig) *house {
		h := newHouse(t, own, fast())
		change(&c)
		h.Configure([]ServerConfig{c})
		h.started()
		want := StatusReady
		if slices.Contains(o.Unanswered, "initialize") {
			want = StatusFailed
		}
		if i := h.status("fake"); i.Status != want {
			t.Fatalf("%+v", i)
		}
		return h
	}
	ways := map[string]func(*testing.T) (*house, ear){}
	for name, modern := range map[string]bool{"stdio legacy": false, "stdio modern": true} {
		ways[name] = func(t *testing.T) (*house, ear) {
			log, o := mcptest.NewLog(t), o
			o.Log, o.Modern = string(log), modern
			c := fakeConfig(t, "fake", o)
			if modern {
				c.Protocol = "modern"
			}
			return start(t, c), ear{modern: modern, requests: func(method string) []mcptest.Entry { return log.Method(t, method) }}
		}
	}
	for name, mode := range map[string]mcptest.HTTPMode{"HTTP legacy": mcptest.Streamable, "HTTP modern": mcptest.Modern, "HTTP+SSE": mcptest.SSE} {
		ways[name] = func(t *testing.T) (*house, ear) {
			srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Options: o, Mode: mode})
			h := start(t, remoteConfig("fake", srv.URL))
			e := ear{modern: mode == mcptest.Modern, requests: func(method string) (out []mcptest.Entry) {
				for _, r := range srv.Requests(mcptest.Method(method)) {
					out = append(out, mcptest.Entry{Method: r.Method, ID: r.ID, Params: r.Params})
				}
				return out
			}}
			if mode == mcptest.Modern {
				e.aborted = func(id json.RawMessage) bool {
					return slices.ContainsFunc(srv.Requests(), func(r mcptest.HTTPRequest) bool { return string(r.ID) == string(id) && r.Aborted })
				}
			}
			return h, e
		}
	}
	return ways
}

// slowKinds are requests of each kind that [slowServer] never answers.
var slowKinds = []struct {
	method string
	send   func(context.Context, *house, *connection) error
}{
	{"tools/call", func(ctx context.Context, h *house, _ *connection) error {
		_, err := h.callCtx(ctx, "fake", "never", nil)
		return err
	}},
	{"resources/read", func(ctx context.Context, h *house, _ *connection) error {
		_, err := h.Read(ctx, "fake", "file://doc0.md")
		return err
	}},
	{"prompts/get", func(ctx context.Context, h *house, _ *connection) error {
		_, err := h.GetPrompt(ctx, "fake", "review", map[string]string{"focus": "speed"})
		return err
	}},
	{"completion/complete", func(ctx context.Context, _ *house, c *connection) error {
		_, _, err := c.complete(ctx, argumentQuery{ref: CompletionRef{Prompt: "review"}, argument: "focus"})
		return err
	}},
	{"resources/list", func(ctx context.Context, _ *house, c *connection) error {
		_, err := c.page(ctx, resourcesList(), nil)
		return err
	}},
}

// slowServer answers none of slowKinds. It does not say that it has resources,
// so that nothing asks for their list meanwhile.
var slowServer = mcptest.Options{Unanswered: []string{"resources/read", "prompts/get", "completion/complete", "resources/list"}, Without: []string{"resources"}}

// MCP basic/utilities/cancellation of both eras, and the transports: what is
// given up is told to the server once, by its id, or by the end of the
// exchange; initialize never. openai/codex#26956, anomalyco/opencode#24312,
// aaif-goose/goose#9100 (the configured timeout counts for each kind).
func TestEveryRequestIsCancelledOnEveryWay(t *testing.T) {
	for name, open := range everyTransport(t, slowServer, func(c *ServerConfig) { c.Timeout = 3 * time.Second }) {
		for _, end := range []string{"cancel", "timeout"} {
			t.Run(name+"/"+end, func(t *testing.T) {
				t.Parallel()
				h, heard := open(t)
				conn := current(t, h.Manager, "fake")
				ctx, cancel := context.WithCancelCause(t.Context())
				why := errors.New("a person's cancel")
				errs := map[string]chan error{}
				for _, kind := range slowKinds {
					done := make(chan error, 1)
					errs[kind.method] = done
					go func() { done <- kind.send(ctx, h, conn) }()
				}
				ids := map[string]json.RawMessage{}
				for _, kind := range slowKinds {
					eventually(t, kind.method, func() bool { return len(heard.requests(kind.method)) == 1 })
					ids[kind.method] = heard.requests(kind.method)[0].ID
				}
				if end == "cancel" {
					cancel(why)
				}
				defer cancel(nil)
				for method, err := range errs {
					switch err := <-err; {
					case end == "cancel" && !errors.Is(err, why):
						t.Errorf("%s: %v", method, err)
					case end == "timeout" && (!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), method)):
						t.Errorf("%s: %v", method, err)
					}
				}
				if heard.aborted != nil {
					for method, id := range ids {
						eventually(t, "the end of the exchange of "+method, func() bool { return heard.aborted(id) })
					}
				} else {
					eventually(t, "the cancels", func() bool { told, _ := heard.cancelled(); return len(told) >= len(slowKinds) })
				}
				logged(t, h, end)
				h.Close() // what is still to be said is said
				checkCancels(t, heard, ids, end)
			})
		}
	}
}

// MCP basic/utilities/cancellation: "The initialize request MUST NOT be
// cancelled by clients".
func TestStartIsNeverCancelled(t *testing.T) {
	silent := mcptest.Options{Unanswered: []string{"initialize", "server/discover"}}
	for name, open := range everyTransport(t, silent, func(c *ServerConfig) { c.StartupTimeout = time.Second }) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, heard := open(t)
			h.Close()
			if asked := len(heard.requests("initialize")) + len(heard.requests("server/discover")); asked == 0 {
				t.Error("nothing was asked")
			}
			if told, _ := heard.cancelled(); len(told) > 0 {
				t.Errorf("cancelled %v", told)
			}
		})
	}
}

// current is the connection of a server that is ready.
func current(t *testing.T, m *Manager, server string) *connection {
	t.Helper()
	s, err := m.find(server)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// logged holds that the server's log says of each request that it was given
// up, and why.
func logged(t *testing.T, h *house, end string) {
	t.Helper()
	lines, err := h.Logs("fake")
	if err != nil {
		t.Fatal(err)
	}
	reason := map[string]string{"cancel": "a person's cancel", "timeout": "no answer to"}[end]
	for _, kind := range slowKinds {
		if !slices.ContainsFunc(lines, func(l LogLine) bool {
			return l.Source == logOwn && strings.HasPrefix(l.Text, "gave up "+kind.method) && strings.Contains(l.Text, reason)
		}) {
			t.Errorf("the log does not say that %s was given up", kind.method)
		}
	}
}

func checkCancels(t *testing.T, heard ear, ids map[string]json.RawMessage, end string) {
	t.Helper()
	told, reasons := heard.cancelled()
	if heard.aborted != nil {
		if len(told) > 0 {
			t.Errorf("told of %v, where the end of the exchange is the cancel", told)
		}
		return
	}
	var want []string
	for _, id := range ids {
		want = append(want, string(id))
	}
	if heard.modern { // the listening stream is one more request
		for _, m := range heard.requests("subscriptions/listen") {
			told = slices.DeleteFunc(told, func(id string) bool { return id == string(m.ID) })
		}
	}
	slices.Sort(want)
	slices.Sort(told)
	if !slices.Equal(told, want) {
		t.Errorf("cancelled %v, want %v", told, want)
	}
	for _, m := range append(heard.requests("initialize"), heard.requests("server/discover")...) {
		if slices.Contains(told, string(m.ID)) {
			t.Errorf("%s was cancelled", m.Method)
		}
	}
	n := 0
	for _, reason := range reasons {
		if end == "cancel" && reason == "a person's cancel" || end == "timeout" && strings.HasPrefix(reason, "no answer to ") {
			n++
		}
	}
	if n != len(want) {
		t.Errorf("reasons %q", reasons)
	}
}

// The specification: late responses to what was cancelled are ignored, and
// the server's own cancel of what it was asked means nothing.
func TestLateAnswersAndTheServersCancelsAreIgnored(t *testing.T) {
	for name, open := range everyTransport(t, mcptest.Options{}, nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, heard := open(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := h.callCtx(ctx, "fake", "stubborn", args{"seconds": 0.3})
				done <- err
			}()
			eventually(t, "the call", func() bool { return len(heard.requests("tools/call")) == 1 })
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			// The late answer comes while this one waits for its own.
			if got := h.mustCall("fake", "sleep", args{"seconds": 0.6}); got != "slept" {
				t.Errorf("%q", got)
			}
			if got := h.mustCall("fake", "notify", args{"method": "notifications/cancelled"}); got != "notified" {
				t.Errorf("%q", got)
			}
			if i := h.status("fake"); i.Status != StatusReady || len(h.kind("fake", EventProblem)) > 0 {
				t.Errorf("%+v, %+v", i, h.seen())
			}
		})
	}
}

// Row 59: a server of 2026-07-28 must not log unless a request says from which
// level on; up to 2025-11-25 logging/setLevel says it once.
func TestLogLevelIsAskedForInBothEras(t *testing.T) {
	for name, open := range everyTransport(t, mcptest.Options{}, nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, heard := open(t)
			h.mustCall("fake", "log", args{"level": "warning", "text": "look"})
			if e := h.await("fake", EventLog); e.LogLevel != "warning" || e.Text != "fake: look" {
				t.Errorf("%+v", e)
			}
			if !heard.modern {
				eventually(t, "logging/setLevel", func() bool { return len(heard.requests("logging/setLevel")) == 1 })
				if p := string(heard.requests("logging/setLevel")[0].Params); !strings.Contains(p, `"level":"info"`) {
					t.Error(p)
				}
				return
			}
			for _, method := range []string{"tools/list", "tools/call"} {
				for _, m := range heard.requests(method) {
					if !strings.Contains(string(m.Params), `"io.modelcontextprotocol/logLevel":"info"`) {
						t.Errorf("%s: %s", method, m.Params)
					}
				}
			}
			if n := len(heard.requests("logging/setLevel")); n > 0 {
				t.Error("there is no logging/setLevel any more")
			}
		})
	}
	t.Run("no capability", func(t *testing.T) {
		t.Parallel()
		for name, open := range everyTransport(t, mcptest.Options{Without: []string{"logging"}}, nil) {
			h, heard := open(t)
			h.mustCall("fake", "echo", args{"text": "x"})
			if p := fmt.Sprint(string(heard.requests("tools/call")[0].Params)); strings.Contains(p, "logLevel") || len(heard.requests("logging/setLevel")) > 0 {
				t.Errorf("%s: a level for a server that does not log: %s", name, p)
			}
		}
	})
}

func TestLogDataIsPutIntoWords(t *testing.T) {
	for data, want := range map[string]string{
		`"plain"`: "plain", `null`: "", `7`: "7", `["a", 1]`: `["a",1]`, `{"b": 2, "a": "<x>"}`: `{"a":"<x>","b":2}`,
		`{"message": "no luck", "code": 5}`: `no luck {"code":5}`, `{"message": 5}`: `{"message":5}`, `{}`: "{}",
		`{"message": "only this"}`: "only this",
		// wonderwhy-er/DesktopCommanderMCP: {message, ...text}
		`{"message": "started", "0": "i", "1": "n", "2": " ", "3": "ü"}`: "started in ü", `{"0": "o", "1": "k"}`: "ok",
		`{"0": "o", "2": "k"}`: `o {"2":"k"}`, `{"0": "word", "1": "word"}`: `{"0":"word","1":"word"}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatal(err)
		}
		if got := logText(map[string]any{"data": v, "logger": "x"}); got != "x: "+want {
			t.Errorf("%s: %q, want %q", data, got, "x: "+want)
		}
	}
}
