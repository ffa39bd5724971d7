package mcp

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

func TestEarlyNotificationsAreNeitherLostNorDeadly(t *testing.T) {
	// eca CHANGELOG 653: list_changed directly after initialize, and tools/list
	// answered only after it was taken.
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {EarlyOnly: true, Log: string(log)}})
	if i := h.status("fake"); i.Status != StatusReady || *i.Tools == 0 {
		t.Errorf("%+v", i)
	}
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	// Nothing differs, so nothing is told.
	h.Settle(t.Context())
	for _, kind := range []EventKind{EventTools, EventResources, EventPrompts, EventProblem} {
		if got := h.kind("fake", kind); got != nil {
			t.Errorf("%+v", got)
		}
	}
}

// topcheer/ggcode#255: refreshing in the handler deadlocks the reader.
func TestNotificationDuringACallHoldsNeither(t *testing.T) {
	h := open(t, map[string]mcptest.Options{"fake": {}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 5 {
		if _, err := h.callCtx(ctx, "fake", "add_resource", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := h.callCtx(ctx, "fake", "echo", args{"text": "x"}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all of them", func() bool { return len(h.uris("fake")) == 8 })
}

// google-gemini/gemini-cli#21050
func TestNotificationStormIsOneRefreshAndKeepsTheLastState(t *testing.T) {
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, defaultTiming())
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Log: string(log)})})
	h.started()
	before := len(log.Method(t, "tools/list"))
	h.mustCall("fake", "storm", args{"n": 20_000})
	eventually(t, "the last state", func() bool { return slices.Contains(h.tools("fake"), "late_tool") })
	h.Settle(t.Context())
	if n := len(log.Method(t, "tools/list")) - before; n > 3 {
		t.Errorf("%d refreshes", n)
	}
	if e := h.await("fake", EventTools); e.AddedN != 1 || e.Added[0] != "late_tool" {
		t.Errorf("%+v", e)
	}
}

func TestLogFloodKeepsTheLastLine(t *testing.T) {
	// razzmatazz/csharp-language-server#217
	log := mcptest.NewLog(t)
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Log: string(log)})})
	h.started()
	eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
	before := len(log.Method(t, "resources/list"))
	n := 5000
	h.mustCall("fake", "flood", args{"n": n, "level": "warning"})
	eventually(t, "the last line", func() bool {
		got := h.kind("fake", EventLog)
		return len(got) > 0 && got[len(got)-1].Text == fmt.Sprintf("line %d", n-1)
	})
	total := 0
	for _, e := range h.kind("fake", EventLog) {
		total += 1 + e.Merged
		if e.LogLevel != "warning" {
			t.Fatalf("%+v", e)
		}
	}
	if total != n {
		t.Errorf("%d lines are accounted for, want %d", total, n)
	}
	h.Settle(t.Context())
	if n := len(log.Method(t, "resources/list")) - before; n > 10 {
		t.Errorf("%d refreshes", n)
	}
	if got := h.kind("fake", EventResources); got != nil {
		t.Errorf("an identical list is told: %+v", got)
	}
}

func TestLogLinesAreRedactedAndBounded(t *testing.T) {
	secrets := NewSecrets()
	secrets.Add("hunter2hunter2")
	h := newHouse(t, Options{Secrets: secrets}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Stderr: "token hunter2hunter2\n"})})
	h.started()
	h.mustCall("fake", "log", args{"level": "shout", "text": "it is hunter2hunter2 " + strings.Repeat("z", 100_000)})
	e := h.await("fake", EventLog)
	if strings.Contains(e.Text, "hunter2") || !strings.HasPrefix(e.Text, "fake: it is "+Redacted) || len(e.Text) > maxLogText+100 || e.LogLevel != "info" {
		t.Errorf("%d %s", len(e.Text), clip(fmt.Sprintf("%+v", e), 200))
	}
	_, err := h.call("fake", "die", nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), Redacted) {
		t.Errorf("%v", err)
	}
	if e := h.await("fake", EventLost); strings.Contains(e.Err, "hunter2") {
		t.Errorf("%+v", e)
	}
}

func TestUpdateFloodHurtsNobody(t *testing.T) {
	log := mcptest.NewLog(t)
	many := 10_000
	h := open(t, map[string]mcptest.Options{"flood": {Resources: &many, Page: 1000, Log: string(log)}, "calm": {}})
	eventually(t, "resources", func() bool { return len(h.uris("flood")) == many })
	before := len(log.Method(t, "resources/list"))
	var worst time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.mustCall("flood", "updates", args{"rate": 10_000, "seconds": 2})
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		start := time.Now()
		h.mustCall("calm", "echo", args{"text": "x"})
		h.snapshots()
		worst = max(worst, time.Since(start))
	}
	if worst > 3*time.Second {
		t.Errorf("a call to another server took %v", worst)
	}
	if n := len(log.Method(t, "resources/list")) - before; n > 1 {
		t.Errorf("%d refreshes for updates", n)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 100<<20 {
		t.Errorf("%d MiB are held", m.HeapAlloc>>20)
	}
	if list, err := h.Resources("flood"); err != nil || !slices.ContainsFunc(list.Resources, func(r Resource) bool { return r.Stale }) {
		t.Errorf("no resource is marked stale: %v", err)
	}
}

func TestInboxDebounces(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	in := newInbox(300*time.Millisecond, 2*time.Second)
	check := func(ms int, due []listKind, wait int) {
		t.Helper()
		got, w := in.take(at(ms))
		if wait >= 0 {
			wait *= int(time.Millisecond)
		}
		if !slices.Equal(got, due) || int(w) != wait {
			t.Errorf("at %d: %v %v, want %v %v", ms, got, w, due, time.Duration(wait))
		}
		in.fetched()
	}
	check(0, nil, -1)
	in.mark(listTools, at(0))
	check(0, nil, 300)
	in.mark(listTools, at(200))
	in.mark(listPrompts, at(250))
	check(300, nil, 200)
	check(500, []listKind{listTools}, 50)
	check(550, []listKind{listPrompts}, -1)
	for ms := 1000; ms <= 4000; ms += 100 { // it never ends
		in.mark(listResources, at(ms))
	}
	check(2999, nil, 1)
	check(3000, []listKind{listResources}, -1)
	in.mark(listTools, at(5000))
	in.hasten()
	check(5000, []listKind{listTools}, -1)
	in.mark(listTools, at(6000))
	in.clean(listTools)
	if in.pending() {
		t.Error("clean leaves it pending")
	}
}

func TestOddNotificationsAreHarmless(t *testing.T) {
	h := newHouse(t, Options{}, fast())
	s := newSession(&h.hub, ServerConfig{Name: "odd"})
	c := &connection{inbox: newInbox(0, 0)}
	for _, method := range []string{
		"notifications/message", "notifications/progress", "notifications/resources/updated", "notifications/subscriptions/acknowledged",
		"notifications/tools/list_changed", "notifications/elicitation/complete", "notifications/unknown", "",
	} {
		for _, fields := range []map[string]any{nil, {}, {"uri": 5, "data": []any{map[string]any{"a": nil}}, "level": 3, "progressToken": []any{}, "progress": "x", "logger": 1}} {
			n := mcpgo.JSONRPCNotification{}
			n.Method, n.Params.AdditionalFields = method, fields
			s.notified(c, n)
		}
	}
	if e := h.await("odd", EventLog); e.LogLevel != "info" {
		t.Errorf("%+v", e)
	}
	if got := h.kind("odd", EventUpdated); got != nil {
		t.Errorf("%+v", got)
	}
}
