package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"agentls/mcp/mcptest"
)

// clocked is a connection whose server never answers, on a fake clock.
func clocked(t *testing.T, timeout, longest time.Duration) *connection {
	t.Helper()
	c := &connection{timeout: timeout, longest: longest, redact: func(s string) string { return s }, note: func(string, string) {}}
	c.ctx, c.cancel = context.WithCancelCause(t.Context())
	return c
}

// unanswered attends to a request that is never answered, and returns after
// how long it was given up.
func unanswered(t *testing.T, c *connection, during func(token any)) time.Duration {
	t.Helper()
	var wg sync.WaitGroup
	defer wg.Wait()
	start := time.Now()
	_, err := c.attend(t.Context(), &exchange{}, attended{what: "tools/call of slow", send: func(ctx context.Context, meta *mcpgo.Meta) error {
		wg.Go(func() { during(meta.ProgressToken) })
		<-ctx.Done()
		return ctx.Err()
	}})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer to tools/call of slow within") {
		t.Errorf("%v", err)
	}
	return time.Since(start)
}

func TestClockCountsAnewFromProgressUpToItsMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout, longest = time.Minute, 15 * time.Minute
		if took := unanswered(t, clocked(t, timeout, longest), func(any) {}); took != timeout {
			t.Errorf("nothing reported: %v", took)
		}
		report := func(c *connection, token any, n int, every time.Duration) {
			for i := range n {
				time.Sleep(every)
				c.progress.deliver(args{"progressToken": token, "progress": float64(i + 1)})
			}
		}
		c := clocked(t, timeout, longest)
		if took := unanswered(t, c, func(token any) { report(c, token, 9, 50*time.Second) }); took != 9*50*time.Second+timeout {
			t.Errorf("9 reports: %v", took)
		}
		c = clocked(t, timeout, longest)
		if took := unanswered(t, c, func(token any) { report(c, token, 100, 50*time.Second) }); took != longest {
			t.Errorf("reports without end: %v", took)
		}
		// A value that does not grow is no sign of life.
		c = clocked(t, timeout, longest)
		if took := unanswered(t, c, func(token any) {
			for range 100 {
				time.Sleep(30 * time.Second)
				c.progress.deliver(args{"progressToken": token, "progress": 1.0})
			}
		}); took != 30*time.Second+timeout {
			t.Errorf("the same report again and again: %v", took)
		}
		// A configured timeout over the maximum is the user's word.
		if took := unanswered(t, clocked(t, time.Hour, longest), func(any) {}); took != time.Hour {
			t.Errorf("a long timeout: %v", took)
		}
	})
}

func TestClockStandsStillWhileAPersonIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout, longest = time.Minute, 15 * time.Minute
		c := clocked(t, timeout, longest)
		took := unanswered(t, c, func(any) {
			time.Sleep(40 * time.Second)
			first, second := c.waitsForPerson(), c.waitsForPerson()
			time.Sleep(5 * time.Minute)
			first()
			first()
			time.Sleep(5 * time.Minute)
			second()
		})
		if want := 10*time.Minute + timeout; took != want {
			t.Errorf("given up after %v, want %v: what was left goes on", took, want)
		}
		c = clocked(t, timeout, longest)
		end := c.waitsForPerson()
		if took := unanswered(t, c, func(any) { time.Sleep(2 * time.Minute); end() }); took != 3*time.Minute {
			t.Errorf("asked before the request: %v", took)
		}
	})
}

// anomalyco/opencode#32477, anthropics/claude-code#470: 60 s although progress
// flows. The operation of CASES takes 90 s; here each report comes within the
// timeout and the whole takes longer.
func TestReadsAndPromptsGoOnWhileProgressFlows(t *testing.T) {
	reports := map[string]int{"resources/read": 10, "prompts/get": 10}
	for name, c := range everyTransport(t, mcptest.Options{Reports: reports}, func(c *ServerConfig) { c.Timeout = 700 * time.Millisecond }) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := c(t)
			start := time.Now()
			if _, err := h.Read(t.Context(), "fake", "file://doc0.md"); err != nil {
				t.Error(err)
			}
			if _, err := h.GetPrompt(t.Context(), "fake", "review", map[string]string{"focus": "speed"}); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took < 2*time.Second {
				t.Errorf("the fake reported nothing, it took %v", took)
			}
		})
	}
}

func TestProgressThatDoesNotGrowIsDropped(t *testing.T) {
	var r progressRoutes
	token, values := r.add()
	other, others := r.add()
	if token == other {
		t.Fatalf("%q twice", token)
	}
	for _, line := range []string{
		`{"progressToken": "` + token + `", "progress": 1, "total": 4, "message": "one"}`,
		`{"progressToken": "` + token + `", "progress": 1, "total": 4, "message": "one"}`,
		`{"progressToken": "` + token + `", "progress": 1, "total": 4, "message": "still one"}`,
		`{"progressToken": "` + token + `", "progress": 0.5}`,
		`{"progressToken": "` + token + `", "progress": 2.5, "total": "many", "message": 7}`,
		`{"progressToken": "` + token + `", "progress": "3", "message": "words alone"}`,
		`{"progressToken": 1, "progress": 3}`,
		`{"progress": 3}`,
	} {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		r.deliver(fields)
	}
	var got []Progress
	for len(values) > 0 {
		got = append(got, <-values)
	}
	want := []Progress{{1, 4, "one"}, {1, 4, "still one"}, {2.5, 0, ""}, {2.5, 0, "words alone"}}
	if len(got) != len(want) || len(others) != 0 {
		t.Fatalf("%+v, of another request %d", got, len(others))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}
