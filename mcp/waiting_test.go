package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// cancels returns the notifications/cancelled that a server got, and of what.
func cancels(srv *mcptest.HTTPServer) []string {
	var out []string
	for _, r := range srv.Requests(mcptest.Method("notifications/cancelled")) {
		out = append(out, string(r.Params))
	}
	return out
}

// openai/codex#26956, anomalyco/opencode#24312: the server is never told of a
// cancel. anthropics/claude-code#47724: a cancel ends the server.
func TestRemoteCancelIsToldOnce(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, srv := remote(t, o)
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := h.callCtx(ctx, "fake", "sleep", args{"seconds": 60})
			ended <- err
		}()
		call := srv.Await(t, 1, mcptest.Call("sleep"))[0]
		why := errors.New("the user said so")
		within(t, time.Second, "the cancel", func() {
			cancel(why)
			if err := <-ended; !errors.Is(err, why) {
				t.Errorf("%v", err)
			}
		})
		if o.Mode == mcptest.Modern { // the end of the stream is the cancel
			eventually(t, "the stream is closed", func() bool { return srv.Requests(mcptest.Call("sleep"))[0].Aborted })
		} else {
			srv.Await(t, 1, mcptest.Method("notifications/cancelled"))
		}
		if got := h.mustCall("fake", "echo", args{"text": "alive"}); got != "alive" {
			t.Errorf("%q", got)
		}
		h.Close()
		// A list that was being fetched is cancelled by the end.
		got := slices.DeleteFunc(cancels(srv), func(params string) bool { return strings.Contains(params, errStopped.Error()) })
		switch {
		case o.Mode == mcptest.Modern && len(got) != 0, o.Mode != mcptest.Modern && len(got) != 1:
			t.Fatalf("%v", got)
		case len(got) == 1 && !strings.Contains(got[0], fmt.Sprintf(`"requestId":%s`, call.ID)):
			t.Errorf("%s of request %s", got[0], call.ID)
		}
		if n := len(h.kind("fake", EventLost)); n != 0 {
			t.Errorf("%+v", h.seen())
		}
	})
}

func TestRemoteTimeoutCancelsToo(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		srv := mcptest.ServeHTTP(t, o)
		h := newHouse(t, Options{}, fast())
		c := remoteConfig("fake", srv.URL)
		c.Timeout = 300 * time.Millisecond
		h.Configure([]ServerConfig{c})
		h.started()
		// anthropics/claude-code#15945
		if _, err := h.call("fake", "never", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if o.Mode != mcptest.Modern {
			srv.Await(t, 1, mcptest.Method("notifications/cancelled"))
		}
		if got := h.mustCall("fake", "echo", args{"text": "alive"}); got != "alive" {
			t.Errorf("%q", got)
		}
	})
}

// initialize must not be cancelled (2025-11-25, cancellation).
func TestRemoteStartIsNotCancelled(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	srv.Break(mcptest.Method("initialize"), mcptest.Hang)
	h := newHouse(t, Options{}, fast())
	c := remoteConfig("fake", srv.URL)
	c.StartupTimeout = 300 * time.Millisecond
	h.Configure([]ServerConfig{c})
	if e := h.await("fake", EventFailed); !strings.Contains(e.Err, "300ms") {
		t.Errorf("%+v", e)
	}
	h.Close()
	if got := cancels(srv); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// anomalyco/opencode#32477, anthropics/claude-code#470, aaif-goose/goose#9100:
// a call ends after its timeout though its server reports progress.
func TestRemoteProgressKeepsACallAlive(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		srv := mcptest.ServeHTTP(t, o)
		h := newHouse(t, Options{}, fast())
		c := remoteConfig("fake", srv.URL)
		c.Timeout = 1500 * time.Millisecond
		h.Configure([]ServerConfig{c})
		h.started()
		var steps int
		_, err := h.CallTool(t.Context(), "fake", "progress", []byte(`{"steps":8,"every":0.4}`), func(Progress) { steps++ })
		if o.JSON && o.Mode != mcptest.Streamable { // there is no stream that could bring it
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			return
		}
		if err != nil || steps < 8 || steps > 9 { // one more follows the result
			t.Errorf("%d steps, %v", steps, err)
		}
	})
}

// A run that is cancelled because everything ends: its server is told first.
func TestRemoteCancelIsToldBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for _, mode := range []mcptest.HTTPMode{mcptest.Streamable, mcptest.Stateless, mcptest.SSE} {
		h, srv := remote(t, mcptest.HTTPOptions{Mode: mode})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := h.callCtx(ctx, "fake", "sleep", args{"seconds": 60})
			ended <- err
		}()
		call := srv.Await(t, 1, mcptest.Call("sleep"))[0]
		cancel()
		<-ended
		within(t, 2*time.Second, "Close", h.Close)
		told := 0
		for _, c := range cancels(srv) {
			if strings.Contains(c, fmt.Sprintf(`"requestId":%s}`, call.ID)) {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%v of request %s", cancels(srv), call.ID)
		}
	}
}
