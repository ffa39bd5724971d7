package mcp

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// Over HTTP/2 all of it goes through one connection, on which an end of one
// exchange must not be the end of the others.
func TestRemoteServerOverHTTP2(t *testing.T) {
	t.Parallel()
	for _, mode := range []mcptest.HTTPMode{mcptest.Streamable, mcptest.Modern} {
		srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mode, TLS: true, H2: true})
		h := newHouse(t, Options{HTTP: func() *http.Transport {
			return &http.Transport{TLSClientConfig: srv.TLSConfig(), ForceAttemptHTTP2: true}
		}}, fast())
		h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
		h.started()
		if i := h.status("fake"); i.Status != StatusReady {
			t.Fatalf("%+v", i)
		}
		var wg sync.WaitGroup
		for n := range 30 {
			wg.Go(func() {
				if got, err := h.call("fake", "echo", args{"text": fmt.Sprint(n)}); err != nil || got != fmt.Sprint(n) {
					t.Errorf("%q %v", got, err)
				}
			})
		}
		wg.Wait()
		if n := srv.Connections(); n != 1 {
			t.Errorf("%d connections", n)
		}
		h.mustCall("fake", "add_tool", nil)
		h.await("fake", EventTools)

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := h.callCtx(ctx, "fake", "never", nil)
			ended <- err
		}()
		srv.Await(t, 1, mcptest.Call("never"))
		cancel()
		if err := <-ended; err == nil {
			t.Error("a cancelled call has an answer")
		}
		if got := h.mustCall("fake", "echo", args{"text": "after a cancel"}); got != "after a cancel" {
			t.Errorf("%q", got)
		}
		srv.Restart(t)
		eventually(t, "it is back", func() bool {
			got, err := h.call("fake", "echo", args{"text": "after a restart"})
			return err == nil && got == "after a restart"
		})
		h.Close()
	}
}

// zed-industries/zed#56775: a stream that is reset under a call (an idle balancer,
// a lost network) leaves the call waiting for ever; modelcontextprotocol/typescript-sdk#2509: one that
// was taken up and breaks again is asked for without its id.
func TestRemoteStreamThatIsResetIsTakenUp(t *testing.T) {
	t.Parallel()
	for _, h2 := range []bool{false, true} {
		srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{TLS: true, H2: h2})
		h := newHouse(t, Options{HTTP: func() *http.Transport {
			return &http.Transport{TLSClientConfig: srv.TLSConfig(), ForceAttemptHTTP2: true}
		}}, fast())
		h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
		h.started()
		breaks := func(event string) mcptest.Fault {
			return func(_ *mcptest.HTTPServer, w http.ResponseWriter, _ *http.Request, _ mcptest.HTTPRequest) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, event)
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		}
		resumes := func(r mcptest.HTTPRequest) bool { return r.Header.Get("Last-Event-ID") == "s/1" }
		var tries atomic.Int64
		srv.Break(mcptest.Call("echo"), breaks("id: s/1\nretry: 10\ndata:\n\n"))
		srv.Break(resumes, func(s *mcptest.HTTPServer, w http.ResponseWriter, r *http.Request, in mcptest.HTTPRequest) {
			if tries.Add(1) < 3 {
				breaks(": nothing yet\n\n")(s, w, r, in)
			}
			call := s.Requests(mcptest.Call("echo"))[0]
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"in the end\"}]}}\n\n", call.ID)
		})
		if got := h.mustCall("fake", "echo", nil); got != "in the end" {
			t.Errorf("%q", got)
		}
		if n := len(srv.Requests(mcptest.Call("echo"))); n != 1 || len(srv.Requests(resumes)) != 3 {
			t.Errorf("called %d times, resumed %d times", n, len(srv.Requests(resumes)))
		}
		h.Close()
	}
}

// Epistates/turbomcp#21: an answer waits until the server closes its stream.
func TestRemoteAnswerIsTakenBeforeItsStreamEnds(t *testing.T) {
	t.Parallel()
	for _, mode := range []mcptest.HTTPMode{mcptest.Streamable, mcptest.Modern} {
		h, srv := remote(t, mcptest.HTTPOptions{Mode: mode})
		srv.Break(mcptest.Call("echo"), func(s *mcptest.HTTPServer, w http.ResponseWriter, r *http.Request, in mcptest.HTTPRequest) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"soon\"}]}}\n\n", in.ID)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		within(t, 5*time.Second, "the call", func() {
			if got := h.mustCall("fake", "echo", nil); got != "soon" {
				t.Errorf("%q", got)
			}
		})
		eventually(t, "the stream is let go", func() bool { return srv.Requests(mcptest.Call("echo"))[0].Aborted })
	}
}

func TestRemoteAnswersThatAreCompressed(t *testing.T) {
	t.Parallel()
	everyRemote(t, func(t *testing.T, o mcptest.HTTPOptions) {
		o.Gzip = true
		h, srv := remote(t, o)
		if got := h.mustCall("fake", "big", args{"bytes": 1 << 20}); len(got) < 1<<20 {
			t.Errorf("%d bytes", len(got))
		}
		eventually(t, "it listens", func() bool { return o.Mode == mcptest.Stateless || srv.Listeners() == 1 })
		h.mustCall("fake", "add_tool", nil)
		if o.Mode != mcptest.Stateless { // events of a compressed stream come one by one
			h.await("fake", EventTools)
		}
	})
}

// What is bounded is what comes out of an answer, not what was sent of it.
func TestRemoteAnswerThatIsABomb(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(z, &endless{left: 100 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"application/json", "text/event-stream"} {
		h, srv := remote(t, mcptest.HTTPOptions{})
		srv.Break(mcptest.Call("echo"), mcptest.First(1, mcptest.Answer(http.StatusOK, kind, packed.String(), "Content-Encoding", "gzip")))
		within(t, 10*time.Second, "the answer", func() {
			if _, err := h.call("fake", "echo", nil); err == nil {
				t.Error("a bomb is an answer")
			}
		})
		if got := h.mustCall("fake", "echo", args{"text": "alive"}); got != "alive" {
			t.Errorf("%q", got)
		}
	}
}

// 2025-11-25, transports, "Session Management" and "Protocol Version Header";
// 2026-07-28, transports, "Standard Headers".
func TestRemoteRequestsCarryWhatTheProtocolAsks(t *testing.T) {
	t.Parallel()
	const uri, tool = "file://größe.md", "größe"
	o := mcptest.Options{Listed: []string{uri}, Tools: []mcptest.Tool{{Name: tool, Answer: "done"}}}
	for _, mode := range []mcptest.HTTPMode{mcptest.Streamable, mcptest.Stateless, mcptest.Modern} {
		h, srv := remote(t, mcptest.HTTPOptions{Mode: mode, Options: o})
		h.mustCall("fake", tool, nil)
		if _, err := h.Read(t.Context(), "fake", uri); err != nil {
			t.Error(err)
		}
		if _, err := h.GetPrompt(t.Context(), "fake", "review", map[string]string{"focus": "all"}); err != nil {
			t.Error(err)
		}
		h.Close()
		for _, r := range srv.Requests() {
			get := r.Header.Get
			first := r.Method == "initialize" || mode == mcptest.Modern && r.Method == "" && r.Verb != http.MethodPost
			if mode == mcptest.Modern && first {
				continue // how the era was found
			}
			version := map[bool]string{true: "2026-07-28", false: "2025-11-25"}[mode == mcptest.Modern]
			if first {
				version = ""
			}
			if get("Mcp-Protocol-Version") != version {
				t.Errorf("%s with the version %q, want %q", r, get("Mcp-Protocol-Version"), version)
			}
			if has := get("Mcp-Session-Id") != ""; has != (mode == mcptest.Streamable && !first) {
				t.Errorf("%s with a session: %v", r, has)
			}
			switch accept := get("Accept"); r.Verb {
			case http.MethodPost:
				if !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream") || get("Content-Type") != "application/json" {
					t.Errorf("%s accepts %q and sends %q", r, accept, get("Content-Type"))
				}
			case http.MethodGet:
				if mode == mcptest.Modern || accept != "text/event-stream" {
					t.Errorf("%s accepts %q", r, accept)
				}
			}
			wantMethod := map[bool]string{true: r.Method}[mode == mcptest.Modern]
			if get("Mcp-Method") != wantMethod {
				t.Errorf("%s with Mcp-Method %q", r, get("Mcp-Method"))
			}
			wantName := ""
			if mode == mcptest.Modern {
				switch r.Method { // base64 of UTF-8, between sentinels
				case "tools/call":
					wantName = "=?base64?Z3LDtsOfZQ==?="
				case "resources/read":
					wantName = "=?base64?ZmlsZTovL2dyw7bDn2UubWQ=?="
				case "prompts/get":
					wantName = "review"
				}
			}
			if get("Mcp-Name") != wantName {
				t.Errorf("%s with Mcp-Name %q, want %q", r, get("Mcp-Name"), wantName)
			}
		}
	}
}
