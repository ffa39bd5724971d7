package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// remoteFaults are what may come back to a call, without regard to what it is
// good for.
var remoteFaults = map[string]mcptest.Fault{
	"hangs":                 mcptest.Hang,
	"hangs after a header":  mcptest.HangOpen,
	"breaks off":            mcptest.Cut,
	"500":                   mcptest.Status(500),
	"503":                   mcptest.Status(503),
	"429":                   mcptest.Answer(429, "text/plain", "slow down", "Retry-After", "3600"),
	"404 with a page":       mcptest.Answer(404, "text/html", "<title>Not found</title>"),
	"400 with an error":     mcptest.Answer(400, "application/json", `{"jsonrpc":"2.0","id":{id},"error":{"code":-32602,"message":"bad"}}`),
	"400 with half of one":  mcptest.Answer(400, "application/json", `{"jsonrpc":"2.0","id":{id},"error":7}`),
	"202":                   mcptest.Answer(202, "text/plain", ""),
	"204":                   mcptest.Answer(204, "application/json", ""),
	"a login page":          mcptest.HTML(),
	"no type":               mcptest.Answer(200, "", "hello"),
	"an empty body":         mcptest.Answer(200, "application/json", ""),
	"null":                  mcptest.Answer(200, "application/json", "null"),
	"an empty batch":        mcptest.Answer(200, "application/json", "[]"),
	"half a text":           mcptest.Answer(200, "application/json", `{"jsonrpc":"2.0","id":{id},"result":{"content":[{"type":"te`),
	"no UTF-8":              mcptest.Answer(200, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\xfe\"}]}}"),
	"another's answer":      mcptest.Answer(200, "application/json", `{"jsonrpc":"2.0","id":999999,"result":{}}`),
	"result and error":      mcptest.Answer(200, "application/json", `{"jsonrpc":"2.0","id":{id},"result":{},"error":{"code":1,"message":"both"}}`),
	"neither":               mcptest.Answer(200, "application/json", `{"jsonrpc":"2.0","id":{id}}`),
	"a request":             mcptest.Answer(200, "application/json", `{"jsonrpc":"2.0","id":{id},"method":"ping"}`),
	"an unknown event":      mcptest.Events("event: hello\ndata: {}\n\n"),
	"events of nothing":     mcptest.Events("\n\n\n", ":\n\n", "data\n\n", "id\n\n", "retry: -1\n\n", "data:\n\n"),
	"an event without end":  mcptest.Events("data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}"),
	"a NUL in an id":        mcptest.Events("id: a\x00b\ndata: {}\n\n"),
	"a long way to go":      mcptest.Redirect(308, "http://127.0.0.1:1/mcp"),
	"a redirect to nowhere": mcptest.Redirect(307, "://"),
	"a redirect to itself":  mcptest.Redirect(307, "/mcp"),
	"gzip that is none":     mcptest.Answer(200, "application/json", "no gzip", "Content-Encoding", "gzip"),
	"too long a header":     mcptest.Answer(200, "application/json", "{}", "X-Long", strings.Repeat("x", 2<<20)),
}

// refusals are those that the status alone tells.
var refusals = regexp.MustCompile(`^[45]\d\d|^a (long|redirect)`)

// Whatever a server answers to one call, that call ends, soon and in words,
// and the next one is served: nobody has to restart anything.
// charmbracelet/crush#3327: the status and the tools agree. MoonshotAI/kimi-code#2109:
// nothing waits for the whole timeout but what hangs.
func TestRemoteFaultsOfACall(t *testing.T) {
	t.Parallel()
	const secret = "token-0123456789abcdef"
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		for name, fault := range remoteFaults {
			hangs := strings.HasPrefix(name, "hangs")
			if o.Mode == mcptest.SSE && !hangs && !refusals.MatchString(name) {
				continue // the answer comes on the stream, whatever the POST brings
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				srv := mcptest.ServeHTTP(t, o)
				tm := fast()
				tm.tries = 100
				h := newHouse(t, Options{}, tm)
				c := remoteConfig("fake", srv.URL)
				c.Timeout, c.Headers = time.Second, map[string]string{"Authorization": "Bearer " + secret}
				h.Configure([]ServerConfig{c})
				h.started()
				srv.Break(mcptest.Call("echo"), fault)
				began := time.Now()
				text, err := h.call("fake", "echo", args{"text": "x"})
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %v: %q %v", took, text, err)
				}
				if err != nil && (strings.Contains(err.Error(), secret) || len(err.Error()) > 1000) {
					t.Errorf("%v", err)
				}
				if hangs != errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("hangs: %v, but: %q %v", hangs, text, err)
				}
				srv.Mend()
				eventually(t, "the next call is served", func() bool {
					got, err := h.call("fake", "echo", args{"text": "alive"})
					return err == nil && got == "alive"
				})
				if i := h.status("fake"); i.Status != StatusReady || *i.Tools == 0 || len(h.tools("fake")) != *i.Tools {
					t.Errorf("%+v with %d tools", i, len(h.tools("fake")))
				}
				for _, e := range h.seen() {
					if strings.Contains(fmt.Sprintf("%+v", e), secret) {
						t.Errorf("%+v", e)
					}
				}
			})
		}
	})
}

// A stream that ends under a call ends that call at once, and no more.
func TestRemoteStreamsBreakUnderACall(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, srv := remote(t, o)
		for round := range 3 {
			ended := make(chan error, 1)
			go func() {
				_, err := h.callCtx(t.Context(), "fake", "sleep", args{"seconds": 60})
				ended <- err
			}()
			srv.Await(t, round+1, mcptest.Call("sleep"))
			if o.JSON {
				srv.Restart(t)
			} else {
				eventually(t, "the streams are dropped", func() bool { return srv.DropStreams() > 0 })
			}
			within(t, time.Second, "the end of the call", func() {
				if err := <-ended; err == nil {
					t.Error("half an answer is taken for one")
				}
			})
			eventually(t, "a call is served", func() bool {
				got, err := h.call("fake", "echo", args{"text": "alive"})
				return err == nil && got == "alive"
			})
		}
	})
}

// anthropics/claude-code#43177, #36308: a server that is away for long is
// given up, and comes back when it is used.
func TestRemoteServerThatStaysAwayComesBackOnUse(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		srv := mcptest.ServeHTTP(t, o)
		tm := fast()
		tm.tries = 3
		h := newHouse(t, Options{}, tm)
		h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
		h.started()
		eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
		srv.Stop()
		if _, err := h.call("fake", "echo", nil); err == nil { // without a stream only a use tells
			t.Error("answered by nobody")
		}
		if e := h.await("fake", EventFailed); !strings.Contains(e.Err, "refused") {
			t.Errorf("%+v", e)
		}
		if list, err := h.Resources("fake"); err != nil || len(list.Resources) != 3 || !list.Stale {
			t.Errorf("%d resources, stale %v, %v", len(list.Resources), list.Stale, err)
		}
		if n := len(h.tools("fake")); n != 0 {
			t.Errorf("%d tools of a server that is not there", n)
		}
		if _, err := h.call("fake", "echo", nil); !errors.Is(err, ErrNotReady) {
			t.Errorf("%v", err)
		}
		srv.Restart(t)
		if got := h.mustCall("fake", "echo", args{"text": "back"}); got != "back" {
			t.Errorf("%q", got)
		}
		eventually(t, "fresh lists", func() bool {
			list, err := h.ListResources(t.Context(), "fake")
			return err == nil && !list.Stale && len(list.Resources) == 3
		})
	})
}

// charmbracelet/crush#3327, over HTTP: each reconnect leaves a connection, a
// session or a stream behind.
func TestRemoteConnectionsDoNotPileUp(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		srv := mcptest.ServeHTTP(t, o)
		tm := fast()
		tm.tries = 100
		h := newHouse(t, Options{}, tm)
		h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
		h.started()
		var err error
		served := func() bool {
			var got string
			got, err = h.call("fake", "echo", args{"text": "x"})
			return err == nil && got == "x"
		}
		for round := range 8 {
			switch round % 3 {
			case 0:
				srv.ForgetSessions()
			case 1:
				srv.DropStreams()
			default:
				srv.Restart(t)
			}
			eventually(t, "a call is served", served)
			failed := 0 // one may meet what is only now seen to be gone
			for range 5 {
				if !served() {
					failed++
				}
			}
			if failed > 1 {
				t.Errorf("round %d: %d calls after the first fail, the last with: %v", round, failed, err)
			}
		}
		sessions, streams := 1, 1
		if o.Mode == mcptest.Modern || o.Mode == mcptest.Stateless {
			sessions = 0
		}
		if o.Mode == mcptest.Stateless {
			streams = 0
		}
		eventually(t, "one of each is left", func() bool {
			return srv.Sessions() == sessions && srv.Listeners() == streams && srv.Connections() <= 4
		})
		h.Close()
		eventually(t, "nothing is left", func() bool {
			return srv.Sessions() == 0 && srv.Listeners() == 0 && srv.Connections() == 0
		})
	})
}

// google-gemini/gemini-cli#21050, over HTTP: a burst is few refreshes, and the
// last state wins.
func TestRemoteBurstOfChanges(t *testing.T) {
	t.Parallel()
	for _, mode := range []mcptest.HTTPMode{mcptest.Streamable, mcptest.Modern, mcptest.SSE} {
		srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mode})
		h := newHouse(t, Options{}, defaultTiming())
		h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
		h.started()
		listenersUp(t, srv)
		before := len(srv.Requests(mcptest.Method("tools/list")))
		began := time.Now()
		h.mustCall("fake", "storm", args{"n": 20_000})
		eventually(t, "the last state", func() bool { return slices.Contains(h.tools("fake"), "late_tool") })
		s, err := h.find("fake")
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the burst is over", func() bool { return !s.conn.inbox.pending() })
		// A burst that takes long is refreshed on the way.
		most := 3 + int(time.Since(began)/defaultTiming().debounceMax)
		if n := len(srv.Requests(mcptest.Method("tools/list"))) - before; n > most {
			t.Errorf("mode %v: %d refreshes, want %d at most", mode, n, most)
		}
		if e := h.await("fake", EventTools); e.AddedN != 1 || e.Added[0] != "late_tool" {
			t.Errorf("%+v", e)
		}
	}
}

// vercel/ai#19240, kirodotdev/Kiro#9935, Factory-AI/factory#7, over HTTP.
func TestRemoteListsAreFetchedToTheEnd(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		o.Resources, o.Page, o.EmptyCursor = mcptest.Int(7), 3, true
		h, srv := remote(t, o)
		if got := h.tools("fake"); len(got) < 20 || !slices.Contains(got, "structured") {
			t.Errorf("%v", got)
		}
		list, err := h.ListResources(t.Context(), "fake")
		if err != nil || len(list.Resources) != 7 {
			t.Errorf("%d resources, %v", len(list.Resources), err)
		}
		if n := len(srv.Requests(mcptest.Method("resources/list"))); n < 3 {
			t.Errorf("%d requests for 3 pages", n)
		}
		if n := len(srv.Requests(func(r mcptest.HTTPRequest) bool {
			return r.Status >= http.StatusBadRequest && r.Verb == http.MethodPost
		})); n != 0 && o.Mode != mcptest.Modern {
			t.Errorf("%d requests were refused:\n%s", n, srv.Transcript())
		}
	})
}
