package mcp

import (
	"context"
	"errors"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// Of what was lost with a connection, reads and prompts are asked for once more
// on the next one (2026-07-28: a client SHOULD retry what an unexpected end
// took). A tool may have acted: its call is not repeated, and said to be of
// unknown outcome.
func TestLostRequests(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), ExitFirst: []string{"resources/read", "prompts/get", "tools/call"}}})
	eventually(t, "its lists", func() bool { i := h.status("fake"); return i.Resources != nil && i.Prompts != nil })
	if contents, err := h.Read(t.Context(), "fake", "file://doc1.md"); err != nil || len(contents) != 1 {
		t.Errorf("read: %+v, %v", contents, err)
	}
	if p, err := h.GetPrompt(t.Context(), "fake", "review", map[string]string{"focus": "tests"}); err != nil || len(p.Messages) == 0 {
		t.Errorf("prompt: %+v, %v", p, err)
	}
	if _, err := h.call("fake", "echo", args{"text": "once"}); !errors.Is(err, ErrUnknownOutcome) || !errors.Is(err, errLost) {
		t.Errorf("call: %v", err)
	}
	if got := h.mustCall("fake", "echo", args{"text": "again"}); got != "again" {
		t.Errorf("%q", got)
	}
	for method, want := range map[string]int{"resources/read": 2, "prompts/get": 2, "tools/call": 2} { // the second call is ours
		if n := len(log.Method(t, method)); n != want {
			t.Errorf("%s came %d times, want %d", method, n, want)
		}
	}
}

// A server that ends at every read is asked twice, not for ever, and what it
// says last is told.
func TestReadThatEndsItsServer(t *testing.T) {
	log := mcptest.NewLog(t)
	h := open(t, map[string]mcptest.Options{"fake": {Log: string(log), ExitOn: []string{"resources/read"}, Stderr: "cannot read this\n"}})
	if _, err := h.Read(t.Context(), "fake", "file://doc1.md"); !errors.Is(err, errLost) {
		t.Errorf("%v", err)
	}
	if n := len(log.Method(t, "resources/read")); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// A request that nobody waits for any more is not asked again, and a server
// that does not come back holds nobody longer than a start may take.
func TestLostRequestIsNotWaitedForInVain(t *testing.T) {
	log := mcptest.NewLog(t)
	tm := fast()
	tm.use = 200 * time.Millisecond
	h := newHouse(t, Options{}, tm)
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Log: string(log), Once: true, ExitOn: []string{"resources/read"}})})
	h.started()
	within(t, 5*time.Second, "the read", func() {
		if _, err := h.Read(t.Context(), "fake", "file://doc1.md"); !errors.Is(err, errLost) {
			t.Errorf("%v", err)
		}
	})
	log = mcptest.NewLog(t)
	h = newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{fakeConfig(t, "fake", mcptest.Options{Log: string(log), ExitOn: []string{"resources/read"}, Delays: map[string]time.Duration{"initialize": 300 * time.Millisecond}})})
	h.started()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user's cancel")
	done := make(chan error, 1)
	go func() {
		_, err := h.Read(ctx, "fake", "file://doc1.md")
		done <- err
	}()
	h.await("fake", EventLost)
	cancel(why)
	if err := <-done; err == nil {
		t.Error("no error")
	}
	h.await("fake", EventRecovered)
	if n := len(log.Method(t, "resources/read")); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
