package mcp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// recovered waits until the server was lost and is back.
func (h *house) recovered(times int) {
	h.t.Helper()
	eventually(h.t, "lost and recovered", func() bool {
		merged := 0
		for _, e := range h.kind("fake", EventRecovered) {
			merged += 1 + e.Merged
		}
		return merged >= times && h.status("fake").Status == StatusReady
	})
}

// openai/codex#28704, #22571, #39990: "Transport closed" for the rest of the
// session. anthropics/claude-code#74329: one call after the restart is served,
// then the tools are gone. charmbracelet/crush#3327: they vanish while the
// status says connected.
func TestRemoteServerThatForgetsComesBack(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]mcptest.HTTPOptions{"stream": {}, "json": {JSON: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, srv := remote(t, o)
			eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
			h.mustCall("fake", "add_resource", nil)
			eventually(t, "the new one", func() bool { return len(h.uris("fake")) == 4 })
			srv.ForgetSessions()
			h.await("fake", EventLost)
			if n := len(h.uris("fake")); n != 4 {
				t.Errorf("the old list is gone: %d", n)
			}
			h.recovered(1)
			for range 3 {
				if got := h.mustCall("fake", "echo", args{"text": "again"}); got != "again" {
					t.Errorf("%q", got)
				}
			}
			eventually(t, "a fresh list", func() bool {
				list, err := h.Resources("fake")
				return err == nil && !list.Stale && len(list.Resources) == 4
			})
			if n := len(srv.Requests(mcptest.Method("initialize"))); n != 2 {
				t.Errorf("%d sessions were begun", n)
			}
		})
	}
}

// A call that is refused because the session is not known was not looked at: it
// is made once more, in a new one. Some servers say 400 in place of 404.
func TestCallThatIsRefusedForWantOfASessionIsMadeAgain(t *testing.T) {
	t.Parallel()
	for status, body := range map[int]string{
		400: `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`,
		404: `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`,
	} {
		gone := mcptest.Answer(status, "application/json", body)
		h, srv := remote(t, mcptest.HTTPOptions{})
		eventually(t, "the first lists", func() bool { return h.status("fake").Prompts != nil })
		srv.Break(mcptest.Method("tools/call"), mcptest.First(1, gone))
		if got := h.mustCall("fake", "echo", args{"text": "once"}); got != "once" {
			t.Errorf("%q", got)
		}
		h.recovered(1)
		srv.Break(mcptest.Method("resources/read"), mcptest.First(1, gone))
		if contents, err := h.Read(t.Context(), "fake", "file://doc1.md"); err != nil || len(contents) != 1 {
			t.Errorf("%v %v", contents, err)
		}
		h.recovered(2)
		srv.Break(mcptest.Method("prompts/get"), mcptest.First(1, gone))
		if r, err := h.GetPrompt(t.Context(), "fake", "review", map[string]string{"focus": "all"}); err != nil || len(r.Messages) == 0 {
			t.Errorf("%v %v", r, err)
		}
		h.recovered(3)
		// Once, not for ever.
		calls := len(srv.Requests(mcptest.Call("echo")))
		srv.Break(mcptest.Method("tools/call"), gone)
		if _, err := h.call("fake", "echo", nil); !errors.Is(err, errLost) {
			t.Errorf("%v", err)
		}
		if n := len(srv.Requests(mcptest.Call("echo"))) - calls; n != 2 {
			t.Errorf("made %d times", n)
		}
	}
}

// Nothing is wrong with a server that forgot a session: a new one is begun at
// once. With one that forgets each, there is.
func TestNewSessionIsBegunAtOnce(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	tm := fast()
	tm.backoff, tm.backoffMax, tm.use = time.Hour, time.Hour, 100*time.Millisecond
	h := newHouse(t, Options{}, tm)
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	gone := mcptest.Answer(404, "text/plain", "no session")
	srv.Break(mcptest.Call("echo"), mcptest.First(1, gone))
	if got := h.mustCall("fake", "echo", args{"text": "at once"}); got != "at once" {
		t.Errorf("%q", got)
	}
	srv.Break(mcptest.Call("echo"), gone)
	if _, err := h.call("fake", "echo", nil); err == nil {
		t.Error("a session that is forgotten each time is begun for ever")
	}
	eventually(t, "it waits", func() bool { return h.status("fake").Status == StatusRestarting })
	if n := len(srv.Requests(mcptest.Method("initialize"))); n != 2 {
		t.Errorf("%d sessions were begun", n)
	}
}

// What was under way when the session ended may have been done.
func TestCallUnderWayWhenTheSessionEndsIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{})
	ended := make(chan error, 1)
	go func() {
		_, err := h.callCtx(t.Context(), "fake", "never", nil)
		ended <- err
	}()
	srv.Await(t, 1, mcptest.Call("never"))
	srv.Break(mcptest.Call("echo"), mcptest.First(1, mcptest.Answer(404, "text/plain", "no session")))
	if got := h.mustCall("fake", "echo", args{"text": "again"}); got != "again" {
		t.Errorf("%q", got)
	}
	if err := <-ended; !errors.Is(err, errLost) {
		t.Errorf("%v", err)
	}
	if n := len(srv.Requests(mcptest.Call("never"))); n != 1 {
		t.Errorf("made %d times", n)
	}
}

// A server that hangs is not taken for busy because somebody calls it all the
// time.
func TestRemoteServerThatHangsIsLostThoughItIsCalled(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	tm := fast()
	tm.ping, tm.pong = 50*time.Millisecond, 100*time.Millisecond
	h := newHouse(t, Options{}, tm)
	c := remoteConfig("fake", srv.URL)
	c.Timeout = 200 * time.Millisecond
	h.Configure([]ServerConfig{c})
	h.started()
	eventually(t, "prompts", func() bool { return h.status("fake").Prompts != nil })
	srv.Break(mcptest.Verb(http.MethodPost), mcptest.Hang)
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 2 { // one waits whenever the other's time is over
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = h.call("fake", "never", nil)
				}
			}
		})
		srv.Await(t, i+1, mcptest.Call("never"))
	}
	h.await("fake", EventLost)
	close(stop)
	srv.Mend()
	callers.Wait()
}

// The stream of HTTP+SSE may outlive who was at its other end.
func TestRemoteEndpointThatIsGone(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusGone} {
		h, srv := remote(t, mcptest.HTTPOptions{Mode: mcptest.SSE})
		eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
		srv.Break(mcptest.Call("echo"), mcptest.First(1, mcptest.Status(status)))
		if _, err := h.call("fake", "echo", nil); err == nil {
			t.Error("answered")
		}
		h.await("fake", EventLost)
		h.recovered(1)
	}
}

// An error of a tool that speaks of a session of its own ends nothing; some
// servers word the loss of ours like that.
func TestRemoteErrorThatSpeaksOfASession(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{})
	refusal := mcptest.Answer(400, "application/json", `{"jsonrpc":"2.0","id":{id},"error":{"code":-32602,"message":"no browser session is open"}}`)
	srv.Break(mcptest.Call("echo"), refusal)
	if _, err := h.call("fake", "echo", nil); errors.Is(err, errLost) || err == nil || !strings.Contains(err.Error(), "no browser session is open") {
		t.Errorf("%v", err)
	}
	srv.Await(t, 1, mcptest.Method("ping")) // it is looked whether it is ours
	srv.Mend()
	h.mustCall("fake", "echo", args{"text": "alive"})
	if n := len(h.kind("fake", EventLost)); n != 0 {
		t.Errorf("%+v", h.seen())
	}
	srv.Break(mcptest.Any, mcptest.First(3, refusal)) // the call, ping and what may be beside them
	_, _ = h.call("fake", "echo", nil)
	h.await("fake", EventLost)
	h.recovered(1)
}

// What a status says by itself does not wait for a body that does not end.
func TestRemoteRefusalWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusUnauthorized} {
		h, srv := remote(t, mcptest.HTTPOptions{})
		srv.Break(mcptest.Call("echo"), mcptest.First(1, func(_ *mcptest.HTTPServer, w http.ResponseWriter, r *http.Request, _ mcptest.HTTPRequest) {
			w.WriteHeader(status)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		within(t, 5*time.Second, "the call", func() {
			// One that was refused for want of its session, or of a login that
			// the next session does not want, is made again.
			if _, err := h.call("fake", "echo", nil); err != nil {
				t.Errorf("%d: %v", status, err)
			}
		})
		if status == http.StatusUnauthorized {
			if len(h.kind("fake", EventLost))+len(h.kind("fake", EventFailed)) > 0 {
				t.Errorf("%+v", h.seen())
			}
			continue
		}
		h.await("fake", EventLost)
		h.recovered(1)
	}
}

func TestRemoteServerIsRestartedUnderUs(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, srv := remote(t, o)
		eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
		for round := range 2 {
			srv.Stop()
			if o.Mode == mcptest.Stateless { // nothing is open that could end
				within(t, time.Second, "the call", func() {
					if _, err := h.call("fake", "echo", nil); err == nil {
						t.Error("answered by nobody")
					}
				})
			}
			eventually(t, "lost", func() bool { return h.status("fake").Status != StatusReady })
			srv.Restart(t)
			h.recovered(round + 1)
			for range 3 {
				if got := h.mustCall("fake", "echo", args{"text": "again"}); got != "again" {
					t.Errorf("%q", got)
				}
			}
		}
	})
}

// MoonshotAI/kimi-code#2109: a call to a dead server waits for its timeout.
func TestRemoteServerDiesInACall(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, srv := remote(t, o)
		ended := make(chan error, 1)
		go func() {
			_, err := h.call("fake", "never", nil)
			ended <- err
		}()
		srv.Await(t, 1, mcptest.Call("never"))
		within(t, time.Second, "the end of the call", func() {
			srv.Stop()
			if err := <-ended; err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
		eventually(t, "lost", func() bool { return h.status("fake").Status != StatusReady })
		srv.Restart(t)
		h.recovered(1)
		for range 3 { // anthropics/claude-code#74329
			h.mustCall("fake", "echo", args{"text": "again"})
		}
	})
}

// topcheer/ggcode#717, charmbracelet/crush#2854, over HTTP: a server that
// takes everything and answers nothing is not ready for ever.
func TestRemoteServerThatHangsIsLost(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		srv := mcptest.ServeHTTP(t, o)
		tm := fast()
		tm.ping, tm.pong = 100*time.Millisecond, 300*time.Millisecond
		h := newHouse(t, Options{}, tm)
		c := remoteConfig("fake", srv.URL)
		c.StartupTimeout = 5 * time.Second
		h.Configure([]ServerConfig{c})
		h.started()
		eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
		probe := "ping"
		if o.Mode == mcptest.Modern {
			probe = "server/discover"
		}
		srv.Await(t, 3, mcptest.Method(probe)) // it is looked after
		if n := len(h.kind("fake", EventLost)); n != 0 {
			t.Fatalf("%+v", h.seen())
		}
		srv.Break(mcptest.Verb(http.MethodPost), mcptest.Hang)
		if e := h.await("fake", EventLost); !strings.Contains(e.Err, "no answer to ping within 300ms") {
			t.Errorf("%+v", e)
		}
		srv.Mend()
		h.recovered(1)
	})
}

// A server that does one thing at a time does not answer a ping meanwhile.
func TestRemoteServerThatIsBusyIsNotLost(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{JSON: true})
	tm := fast()
	tm.ping, tm.pong = 50*time.Millisecond, 100*time.Millisecond
	h := newHouse(t, Options{}, tm)
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	eventually(t, "prompts", func() bool { return h.status("fake").Prompts != nil })
	srv.Break(mcptest.Method("ping"), mcptest.Hang)
	ended := make(chan error, 1)
	go func() {
		_, err := h.call("fake", "sleep", args{"seconds": 1})
		ended <- err
	}()
	srv.Await(t, 1, mcptest.Call("sleep"))
	srv.DropStreams() // something broke: a look is due
	srv.Await(t, 1, mcptest.Method("ping"))
	if err := <-ended; err != nil {
		t.Errorf("%v", err)
	}
	if n := len(h.kind("fake", EventLost)); n != 0 {
		t.Errorf("%+v", h.seen())
	}
}

func TestRemoteServerThatWantsALoginAllOfASudden(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{})
	srv.Break(mcptest.Any, mcptest.Unauthorized("Bearer"))
	if _, err := h.call("fake", "echo", nil); err == nil || !strings.Contains(err.Error(), "wants a login") {
		t.Errorf("%v", err)
	}
	h.await("fake", EventFailed)
	if i := h.status("fake"); i.Status != StatusNeedsLogin || !strings.Contains(i.Error, `"headers"`) {
		t.Errorf("%+v", i)
	}
	if n := len(srv.Requests(mcptest.Method("initialize"))); n != 2 { // it is not asked over and over
		t.Errorf("%d sessions were begun", n)
	}
	srv.Mend()
	if got := h.mustCall("fake", "echo", args{"text": "in"}); got != "in" {
		t.Errorf("%q", got)
	}
}
