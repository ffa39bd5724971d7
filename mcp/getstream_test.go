package mcp

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// listenersUp waits until the server can tell n clients something.
func listenersUp(t *testing.T, srv *mcptest.HTTPServer) {
	t.Helper()
	eventually(t, "it listens", func() bool { return srv.Listeners() == 1 })
}

func TestStreamFromTheServerIsOpenedAgain(t *testing.T) {
	t.Parallel()
	for _, replay := range []bool{false, true} {
		h, srv := remote(t, mcptest.HTTPOptions{Replay: replay})
		eventually(t, "resources", func() bool { return len(h.uris("fake")) == 3 })
		listenersUp(t, srv)
		for round := range 3 {
			lists := len(srv.Requests(mcptest.Method("resources/list")))
			tools := len(srv.Requests(mcptest.Method("tools/list")))
			srv.DropStreams()
			gets := srv.Await(t, round+2, mcptest.Opened)
			if id := gets[round+1].Header.Get("Last-Event-ID"); replay != (id != "") {
				t.Errorf("Last-Event-ID %q", id)
			}
			// What was missed is asked for.
			srv.Await(t, lists+1, mcptest.Method("resources/list"))
			srv.Await(t, tools+1, mcptest.Method("tools/list"))
			listenersUp(t, srv)
		}
		h.mustCall("fake", "add_resource", nil)
		eventually(t, "the new one", func() bool { return len(h.uris("fake")) == 4 })
		if n := len(h.kind("fake", EventLost)); n != 0 {
			t.Errorf("%+v", h.seen())
		}
		if n := len(srv.Requests(mcptest.Method("initialize"))); n != 1 {
			t.Errorf("%d sessions were begun", n)
		}
	}
}

func TestBodiesAreNotKeptWhileNothingIsTold(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{})
	listenersUp(t, srv)
	uri := "file://doc1.md"
	reads := func() int {
		before := len(srv.Requests(mcptest.Method("resources/read")))
		if _, err := h.Read(t.Context(), "fake", uri); err != nil {
			t.Error(err)
		}
		return len(srv.Requests(mcptest.Method("resources/read"))) - before
	}
	eventually(t, "the body is kept", func() bool { return reads() == 0 })
	srv.Break(mcptest.Verb(http.MethodGet), mcptest.Status(http.StatusServiceUnavailable))
	srv.DropStreams()
	eventually(t, "it is asked for", func() bool { return reads() == 1 })
	for range 3 {
		if reads() != 1 {
			t.Error("a body is kept that nobody tells of")
		}
	}
	srv.Mend()
	eventually(t, "the body is kept again", func() bool { return reads() == 0 })
}

func TestServerSaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	const retry = 400 * time.Millisecond
	_, srv := remote(t, mcptest.HTTPOptions{Replay: true, Retry: retry})
	listenersUp(t, srv)
	began := time.Now()
	srv.DropStreams()
	srv.Await(t, 2, mcptest.Opened)
	if took := time.Since(began); took < retry {
		t.Errorf("back after %v", took)
	}
}

// A server that ends each stream after one event is not asked in a circle,
// even if it says so: a ping and all lists go with each.
func TestStreamsThatEndAtOnceAreOpenedMoreAndMoreSlowly(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	opened := make(chan time.Time, 100)
	short := mcptest.Events("retry: 0\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/foo\"}\n\n")
	srv.Break(mcptest.Verb(http.MethodGet), func(s *mcptest.HTTPServer, w http.ResponseWriter, r *http.Request, in mcptest.HTTPRequest) {
		select {
		case opened <- time.Now():
		default:
		}
		short(s, w, r, in)
	})
	tm := fast()
	tm.backoff = 100 * time.Millisecond
	h := newHouse(t, Options{}, tm)
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	first := <-opened
	for range 2 {
		<-opened
	}
	if took := (<-opened).Sub(first); took < 300*time.Millisecond { // 100+200+400 ms, half of it by chance
		t.Errorf("4 streams in %v", took)
	}
}

func TestServerWithoutAStreamOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]mcptest.Fault{
		"405": mcptest.Status(405), "501": mcptest.Status(501), "404": mcptest.Status(404), "400": mcptest.Status(400), "a page": mcptest.HTML(), "a redirect": mcptest.Redirect(302, "http://other.invalid/"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
			srv.Break(mcptest.Verb(http.MethodGet), fault)
			var log lockedBuffer
			h := newHouse(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, fast())
			h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
			h.started()
			eventually(t, "the first lists", func() bool { return h.status("fake").Prompts != nil }) // a use joins one under way
			for range 3 {                                                                            // each use asks
				lists := len(srv.Requests(mcptest.Method("resources/list")))
				if _, err := h.ListResources(t.Context(), "fake"); err != nil {
					t.Error(err)
				}
				prompts := len(srv.Requests(mcptest.Method("prompts/list")))
				if _, err := h.ListPrompts(t.Context(), "fake"); err != nil {
					t.Error(err)
				}
				if len(srv.Requests(mcptest.Method("resources/list"))) == lists || len(srv.Requests(mcptest.Method("prompts/list"))) == prompts {
					t.Error("an old list is taken for fresh")
				}
			}
			if n := len(srv.Requests(mcptest.Verb(http.MethodGet))); n != 1 {
				t.Errorf("%d times GET", n)
			}
			if n := strings.Count(log.String(), "sends no notifications"); n != 1 {
				t.Errorf("told %d times: %s", n, log.String())
			}
			if i := h.status("fake"); i.Status != StatusReady || len(h.kind("fake", EventLost)) != 0 {
				t.Errorf("%+v %+v", i, h.seen())
			}
		})
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestStreamThatOpensLate(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	srv.Break(mcptest.Verb(http.MethodGet), mcptest.First(2, mcptest.Status(http.StatusBadGateway)))
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	listenersUp(t, srv)
	h.mustCall("fake", "add_tool", nil)
	h.await("fake", EventTools)
}

// A stream without an answer does not hold up the start.
func TestStreamThatNeverOpens(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	srv.Break(mcptest.Verb(http.MethodGet), mcptest.Hang)
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	within(t, 5*time.Second, "the start", h.started)
	if got := h.mustCall("fake", "echo", args{"text": "here"}); got != "here" {
		t.Errorf("%q", got)
	}
}

// A notification has no answer, but some servers begin a stream.
func TestStreamInPlaceOfNoAnswer(t *testing.T) {
	t.Parallel()
	for _, mode := range []mcptest.HTTPMode{mcptest.Streamable, mcptest.SSE} {
		srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mode})
		srv.Break(mcptest.Method("notifications/initialized"), mcptest.HangOpen)
		h := newHouse(t, Options{}, fast())
		h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
		within(t, 5*time.Second, "the start", h.started)
		if got := h.mustCall("fake", "echo", args{"text": "here"}); got != "here" {
			t.Errorf("%q", got)
		}
	}
}

// An id that the server no longer takes must not keep the stream closed.
func TestLastEventIDThatIsRefused(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{Replay: true})
	listenersUp(t, srv)
	srv.Break(func(r mcptest.HTTPRequest) bool { return r.Header.Get("Last-Event-ID") != "" }, mcptest.Status(http.StatusBadRequest))
	srv.DropStreams()
	srv.Await(t, 2, mcptest.Opened)
	listenersUp(t, srv)
	h.mustCall("fake", "add_tool", nil)
	h.await("fake", EventTools)
}

// An answer whose stream ends first is fetched by GET (SEP-1699).
func TestAnswerIsFetchedWhereItsStreamEnded(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{Replay: true, Retry: 20 * time.Millisecond, Polling: []string{"tools/call"}})
	if got := h.mustCall("fake", "echo", args{"text": "in the end"}); got != "in the end" {
		t.Errorf("%q", got)
	}
	eventually(t, "the stream is taken up", func() bool {
		return len(srv.Requests(mcptest.Opened, func(r mcptest.HTTPRequest) bool { return r.Header.Get("Last-Event-ID") != "" })) == 1
	})
	// Not for ever.
	srv.Break(func(r mcptest.HTTPRequest) bool { return r.Header.Get("Last-Event-ID") != "" }, mcptest.Events(": nothing\n\n"))
	within(t, 5*time.Second, "the call", func() {
		if _, err := h.call("fake", "echo", args{"text": "x"}); err == nil {
			t.Error("answered")
		}
	})
}

// The TypeScript SDK says 409 until it sees that the stream before has ended.
func TestStreamsThatAreTakenForOpen(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusConflict, http.StatusServiceUnavailable} {
		h, srv := remote(t, mcptest.HTTPOptions{Replay: true, Retry: 10 * time.Millisecond, Polling: []string{"tools/call"}})
		listenersUp(t, srv)
		srv.Break(mcptest.Verb(http.MethodGet), mcptest.First(2, mcptest.Status(status)))
		if got := h.mustCall("fake", "echo", args{"text": "in the end"}); got != "in the end" {
			t.Errorf("%q", got)
		}
		opened := len(srv.Requests(mcptest.Opened))
		srv.Break(mcptest.Verb(http.MethodGet), mcptest.First(2, mcptest.Status(status)))
		srv.DropStreams()
		srv.Await(t, opened+1, mcptest.Opened)
		listenersUp(t, srv)
		h.mustCall("fake", "add_tool", nil)
		h.await("fake", EventTools)
	}
}

// A server that works for long lets us poll, with an event that has an id alone.
func TestAnswerIsPolledForAsLongAsItTakes(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{Replay: true, Retry: 10 * time.Millisecond, Polling: []string{"tools/call"}})
	var polls atomic.Int64
	srv.Break(func(r mcptest.HTTPRequest) bool { return r.Header.Get("Last-Event-ID") != "" },
		mcptest.First(3*maxResumes, func(_ *mcptest.HTTPServer, w http.ResponseWriter, r *http.Request, _ mcptest.HTTPRequest) {
			stream, _, _ := strings.Cut(r.Header.Get("Last-Event-ID"), "/")
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "id: %s/%s\ndata:\n\n", stream, strings.Repeat("0", int(polls.Add(1))+1))
		}))
	if got := h.mustCall("fake", "echo", args{"text": "in the end"}); got != "in the end" {
		t.Errorf("%q", got)
	}
	if n := polls.Load(); n != 3*maxResumes {
		t.Errorf("polled %d times", n)
	}
}

// A server may answer on another stream than that of the request.
func TestAnswerMayComeOnTheStreamFromTheServer(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	gate := make(chan string, 1)
	srv.Break(mcptest.Verb(http.MethodGet), func(_ *mcptest.HTTPServer, w http.ResponseWriter, r *http.Request, _ mcptest.HTTPRequest) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case id := <-gate:
				_, _ = w.Write([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"elsewhere\"}]}}\n\n"))
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	srv.Break(mcptest.Call("echo"), func(s *mcptest.HTTPServer, w http.ResponseWriter, r *http.Request, in mcptest.HTTPRequest) {
		gate <- string(in.ID)
		mcptest.HangOpen(s, w, r, in)
	})
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	if got := h.mustCall("fake", "echo", nil); got != "elsewhere" {
		t.Errorf("%q", got)
	}
}

// github/copilot-cli#3125: a new tool is not seen in the same run. Here no
// notification can tell of it.
func TestToolsOfAServerThatCannotTell(t *testing.T) {
	t.Parallel()
	h, srv := remote(t, mcptest.HTTPOptions{Mode: mcptest.Stateless, JSON: true})
	h.mustCall("fake", "add_tool", nil)
	eventually(t, "the new tool is there before a model is asked", func() bool {
		h.Settle(t.Context())
		return slices.Contains(h.tools("fake"), "late_tool")
	})
	lists := len(srv.Requests(mcptest.Method("tools/list")))
	for range 20 {
		h.Settle(t.Context())
	}
	if n := len(srv.Requests(mcptest.Method("tools/list"))) - lists; n > 5 {
		t.Errorf("asked %d times at once", n)
	}
}

// A stream that is none of HTTP+SSE ends the attempt, and the next way is tried.
func TestStreamWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.Modern})
	srv.Break(mcptest.Method("initialize"), mcptest.Status(http.StatusNotFound))
	srv.Break(mcptest.Verb(http.MethodGet), mcptest.HangOpen)
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	if i := h.status("fake"); i.Status != StatusReady {
		t.Errorf("%+v", i)
	}
	old := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mcptest.SSE})
	old.Break(mcptest.Verb(http.MethodGet), mcptest.Events("event: endpoint\ndata: http://other.invalid/message\n\n"))
	h.Configure([]ServerConfig{remoteConfig("old", old.URL)})
	if e := h.await("old", EventFailed); !strings.Contains(e.Err, "endpoint at another origin, http://other.invalid") {
		t.Errorf("%+v", e)
	}
}

// What changed before a stream that was long in opening is not missed.
func TestChangesBeforeAStreamThatOpensLate(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	gate := make(chan struct{})
	proper := mcptest.First(0, mcptest.Hang)
	srv.Break(mcptest.Verb(http.MethodGet), func(s *mcptest.HTTPServer, w http.ResponseWriter, r *http.Request, in mcptest.HTTPRequest) {
		select {
		case <-gate:
			proper(s, w, r, in)
		case <-r.Context().Done():
		}
	})
	h := newHouse(t, Options{}, fast())
	h.Configure([]ServerConfig{remoteConfig("fake", srv.URL)})
	h.started()
	h.mustCall("fake", "add_tool", nil)
	if slices.Contains(h.tools("fake"), "late_tool") {
		t.Fatal("it was told by nobody")
	}
	close(gate)
	eventually(t, "the tools are asked for", func() bool { return slices.Contains(h.tools("fake"), "late_tool") })
}
