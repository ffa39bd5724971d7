package mcp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// everyRemote runs a test against each kind of server over HTTP.
func everyRemote(t *testing.T, f func(t *testing.T, o mcptest.HTTPOptions)) {
	t.Helper()
	for _, mode := range []struct {
		name string
		mode mcptest.HTTPMode
	}{{"legacy", mcptest.Streamable}, {"stateless", mcptest.Stateless}, {"modern", mcptest.Modern}, {"sse", mcptest.SSE}} {
		for _, asJSON := range []bool{false, true} {
			if mode.mode == mcptest.SSE && asJSON {
				continue
			}
			t.Run(fmt.Sprintf("%s json=%v", mode.name, asJSON), func(t *testing.T) {
				t.Parallel()
				f(t, mcptest.HTTPOptions{Mode: mode.mode, JSON: asJSON})
			})
		}
	}
}

func TestRemoteServerIsAServerLikeAnyOther(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, srv := remote(t, o)
		i := h.status("fake")
		if i.Status != StatusReady || i.URL != srv.URL || i.Tools == nil || *i.Tools == 0 {
			t.Fatalf("%+v", i)
		}
		eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
		if list, err := h.ListResources(t.Context(), "fake"); err != nil || len(list.Templates) != 1 {
			t.Errorf("%+v %v", list, err)
		}
		if prompts, err := h.ListPrompts(t.Context(), "fake"); err != nil || len(prompts) != 1 {
			t.Errorf("%+v %v", prompts, err)
		}
		if contents, err := h.Read(t.Context(), "fake", "file://doc1.md"); err != nil || contents[0].Text != "# Content of file://doc1.md v0\n" {
			t.Errorf("%+v %v", contents, err)
		}
		if _, err := h.Read(t.Context(), "fake", "file://none.md"); !errors.Is(err, ErrUnknownResource) {
			t.Errorf("%v", err)
		}
		if got := h.mustCall("fake", "echo", args{"text": "hellö"}); got != "hellö" {
			t.Errorf("%q", got)
		}
		if _, err := h.call("fake", "error", nil); err == nil || strings.Contains(err.Error(), "transport error") {
			t.Errorf("%v", err)
		}
	})
}

func TestRemoteServerTellsOfChanges(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		h, srv := remote(t, o)
		eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
		uri := "file://doc1.md"
		if _, err := h.Read(t.Context(), "fake", uri); err != nil {
			t.Fatal(err)
		}
		h.mustCall("fake", "add_resource", nil)
		if o.Mode == mcptest.Stateless { // it cannot tell: the list is asked for at each use
			list, err := h.ListResources(t.Context(), "fake")
			if err != nil || len(list.Resources) != 4 {
				t.Errorf("%d resources, %v", len(list.Resources), err)
			}
			if n := len(srv.Requests(mcptest.Method("resources/subscribe"))); n != 0 {
				t.Errorf("subscribed %d times without a stream", n)
			}
			return
		}
		eventually(t, "the new one", func() bool { return len(h.uris("fake")) == 4 })
		h.await("fake", EventResources)
		h.mustCall("fake", "add_tool", nil)
		h.await("fake", EventTools)
		eventually(t, "the body is kept once we are told of its changes", func() bool {
			before := len(srv.Requests(mcptest.Method("resources/read")))
			if _, err := h.Read(t.Context(), "fake", uri); err != nil {
				t.Fatal(err)
			}
			return len(srv.Requests(mcptest.Method("resources/read"))) == before
		})
		h.mustCall("fake", "touch", args{"uri": uri})
		h.await("fake", EventUpdated)
		if contents, err := h.Read(t.Context(), "fake", uri); err != nil || contents[0].Text != "# Content of "+uri+" v1\n" {
			t.Errorf("%+v %v", contents, err)
		}
	})
}

func TestRemoteServerMayAsk(t *testing.T) {
	t.Parallel()
	for _, mode := range []mcptest.HTTPMode{mcptest.Streamable, mcptest.SSE} {
		h, srv := remote(t, mcptest.HTTPOptions{Mode: mode})
		eventually(t, "it listens", func() bool { return srv.Listeners() == 1 })
		if got := string(srv.Request(t, "roots/list", nil)); !strings.Contains(got, `"roots"`) {
			t.Errorf("%s", got)
		}
		if got := string(srv.Request(t, "ping", nil)); !strings.Contains(got, `"result"`) {
			t.Errorf("%s", got)
		}
		if got := string(srv.Request(t, "no/such", nil)); !strings.Contains(got, "-32601") {
			t.Errorf("%s", got)
		}
		// On the stream of an answer.
		if got := h.mustCall("fake", "ask", args{"method": "roots/list"}); !strings.Contains(got, `"roots"`) {
			t.Errorf("%s", got)
		}
	}
}

func TestRemoteHeadersOfTheProtocol(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		srv := mcptest.ServeHTTP(t, o)
		h := newHouse(t, Options{}, fast())
		c := remoteConfig("fake", srv.URL)
		c.Headers = map[string]string{
			"authorization": "Bearer 0123456789abcdef", "X-Team": "blue", "accept": "text/plain", "Content-Type": "text/plain", "Mcp-Session-Id": "mine",
			"MCP-Protocol-Version": "1999-01-01", "host": "mcp.example",
		}
		h.Configure([]ServerConfig{c})
		h.started()
		h.mustCall("fake", "echo", args{"text": "x"})
		if s := h.status("fake"); s.Status != StatusReady {
			t.Fatalf("%+v", s)
		}
		h.await("fake", EventProblem) // what is passed over is told
		h.Close()
		for _, r := range srv.Requests() {
			if r.Header.Get("Authorization") != "Bearer 0123456789abcdef" || r.Header.Get("X-Team") != "blue" || r.Host != "mcp.example" {
				t.Errorf("%s with %v at %s", r, r.Header, r.Host)
			}
			if r.Header.Get("Mcp-Session-Id") == "mine" || r.Header.Get("Mcp-Protocol-Version") == "1999-01-01" || r.Header.Get("Accept") == "text/plain" {
				t.Errorf("%s with %v", r, r.Header)
			}
		}
	})
}

func TestRemoteSessionIsEnded(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{})
	if n := srv.Sessions(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	within(t, 2*time.Second, "Close", h.Close)
	if n := srv.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	if n := len(srv.Requests(mcptest.Verb(http.MethodDelete))); n != 1 {
		t.Errorf("%d times DELETE", n)
	}
}

func TestRemoteEndIsBounded(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{})
	srv.Break(mcptest.Any, mcptest.Hang)
	ended := make(chan error, 1)
	go func() {
		_, err := h.call("fake", "never", nil)
		ended <- err
	}()
	srv.Await(t, 1, mcptest.Call("never"))
	within(t, 2*time.Second, "Close", h.Close)
	if err := <-ended; err == nil {
		t.Error("the call goes on")
	}
}

func TestRemoteListsComeAfterTheStream(t *testing.T) {
	t.Parallel()
	for _, o := range []mcptest.HTTPOptions{{Mode: mcptest.Streamable}, {Mode: mcptest.Modern}} {
		_, srv := remote(t, o)
		all := srv.Requests()
		list := slices.IndexFunc(all, mcptest.Method("tools/list"))
		listen := slices.IndexFunc(all, func(r mcptest.HTTPRequest) bool {
			return r.Verb == http.MethodGet || r.Method == "subscriptions/listen"
		})
		if listen < 0 || list < listen {
			t.Errorf("asked for the tools before it listened:\n%s", srv.Transcript())
		}
	}
}

// Each answer's stream is read to its end, so that the next request need not
// connect anew.
func TestRemoteConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		fake := mcptest.ServeHTTP(t, mcptest.HTTPOptions{JSON: asJSON})
		var connections atomic.Int64
		srv := httptest.NewUnstartedServer(fake)
		srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		srv.Start()
		t.Cleanup(srv.Close)
		h := newHouse(t, Options{}, fast())
		h.Configure([]ServerConfig{remoteConfig("fake", srv.URL+"/mcp")})
		h.started()
		for range 50 {
			h.mustCall("fake", "echo", args{"text": "x"})
		}
		if n := connections.Load(); n > 10 {
			t.Errorf("%d connections for 50 calls", n)
		}
		h.Close()
	}
}
