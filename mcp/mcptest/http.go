package mcptest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// HTTPMode is the transport that a fake server over HTTP speaks.
type HTTPMode int

const (
	// Streamable is Streamable HTTP up to 2025-11-25: Mcp-Session-Id, a GET
	// stream for what is no answer, DELETE.
	Streamable HTTPMode = iota
	// Stateless is the same without sessions: GET and DELETE are refused.
	Stateless
	// Modern is Streamable HTTP of 2026-07-28: server/discover,
	// subscriptions/listen, and the headers and _meta of each request checked.
	Modern
	// SSE is HTTP+SSE of 2024-11-05: a GET stream that names where to POST.
	SSE
)

// HTTPOptions script a fake server over HTTP. Of Options, what concerns a
// process (its start, its end, its log) has no meaning here and is refused.
type HTTPOptions struct {
	Options
	Mode HTTPMode
	JSON bool // answers as application/json; else as server-sent events
	TLS  bool // https, with the certificate of [HTTPServer.CertPEM]
	H2   bool // and HTTP/2
	Gzip bool // answers compressed, event by event, who takes it

	// Server-sent events that go wrong, or are rarely seen.
	Replay    bool          // ids on events, which are sent again after a Last-Event-ID
	Retry     time.Duration // told to the client at the start of each stream; 0: not told
	Polling   []string      // methods whose stream ends before the answer, to be resumed by GET (SEP-1699); with Replay
	Duplicate bool          // each answer twice

	LostStatus int // answered to a session that is not known; 0: 404, as it must be
}

// HTTPServer is a fake MCP server over HTTP in the test's process. It is
// stopped at the test's end.
type HTTPServer struct {
	URL string // of the MCP endpoint; stays the same when it is restarted

	o    HTTPOptions
	fake *fake
	host string
	cert tls.Certificate
	work sync.WaitGroup // handlers, and requests under way
	open atomic.Int64   // connections; not under mu, because Close waits for who counts

	mu       sync.Mutex // guards everything below
	server   *http.Server
	life     context.Context // ends when the server is stopped
	end      context.CancelFunc
	sessions map[string]*httpSession
	streams  map[string]*stream // by name, to be resumed or dropped
	names    int
	requests []*HTTPRequest
	faults   []rule
}

// ServeHTTP starts a fake server on a free port of 127.0.0.1.
func ServeHTTP(tb testing.TB, o HTTPOptions) *HTTPServer {
	tb.Helper()
	for _, name := range []string{
		"Log", "Junk", "Chatty", "Banner", "Stderr", "ExitCode", "Once", "Child", "ExitOn", "ExitFirst", "ExitOnOther", "IgnoreEOF",
	} {
		if !reflect.ValueOf(o.Options).FieldByName(name).IsZero() {
			tb.Fatalf("Options.%s is of a process, and does nothing over HTTP", name)
		}
	}
	if len(o.Polling) > 0 && !o.Replay {
		tb.Fatal("Polling needs Replay")
	}
	o.Modern = o.Mode == Modern
	s := &HTTPServer{o: o, fake: newFake(o.Options)}
	s.fake.say = s.say
	s.fake.exit = func(bool) { s.kill() }
	path, scheme := "/mcp", "http"
	if o.Mode == SSE {
		path = "/sse"
	}
	if o.H2 && !o.TLS {
		tb.Fatal("H2 needs TLS")
	}
	if o.TLS {
		scheme = "https"
		borrowed := httptest.NewUnstartedServer(nil)
		borrowed.StartTLS()
		s.cert = borrowed.TLS.Certificates[0]
		borrowed.Close()
	}
	s.listen(tb, "127.0.0.1:0")
	s.URL = scheme + "://" + s.host + path
	tb.Cleanup(s.Stop)
	return s
}

// CertPEM returns the certificate of a server with TLS, as a file of
// certificates to trust holds it.
func (s *HTTPServer) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Certificate[0]})
}

// TLSConfig returns a client's configuration that trusts a server with TLS.
func (s *HTTPServer) TLSConfig() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.CertPEM())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func (s *HTTPServer) listen(tb testing.TB, address string) {
	tb.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	s.host = l.Addr().String()
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), ConnState: s.count, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(!s.o.H2)
	server.Protocols.SetHTTP2(s.o.H2)
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{s.cert}, MinVersion: tls.VersionTLS12}
	serve := server.Serve
	if s.o.TLS {
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	s.mu.Lock()
	s.server = server
	s.life, s.end = context.WithCancel(context.Background())
	s.sessions, s.streams = map[string]*httpSession{}, map[string]*stream{}
	s.mu.Unlock()
	s.work.Go(func() { _ = serve(l) }) // ends by kill
}

// Stop ends the server as a kill does: every connection is closed, and
// sessions are forgotten. What its tools changed stays.
func (s *HTTPServer) Stop() {
	s.kill()
	s.work.Wait()
}

// kill is Stop that does not wait for the handlers, so that they may call it.
func (s *HTTPServer) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.server.Close()
	s.end()
	s.sessions, s.streams = map[string]*httpSession{}, map[string]*stream{}
}

// Restart stops the server and starts it again on the same port.
func (s *HTTPServer) Restart(tb testing.TB) {
	tb.Helper()
	s.Stop()
	s.listen(tb, s.host)
}

// alive returns the context of the server's life since the last start.
func (s *HTTPServer) alive() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

// ForgetSessions ends all sessions: their streams end, and requests with
// their ids get 404.
func (s *HTTPServer) ForgetSessions() {
	s.mu.Lock()
	old := s.sessions
	s.sessions = map[string]*httpSession{}
	s.mu.Unlock()
	for _, sess := range old {
		sess.stream.finish()
	}
}

// Sessions returns how many sessions are open.
func (s *HTTPServer) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// Connections returns how many connections are open.
func (s *HTTPServer) Connections() int { return int(s.open.Load()) }

func (s *HTTPServer) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	}
}

// DropStreams closes the connections of all open streams of events and
// returns how many there were: GET streams, listening ones, and answers under
// way. With Replay they can be resumed.
func (s *HTTPServer) DropStreams() (n int) {
	for _, st := range s.openStreams() {
		if st.drop() {
			n++
		}
	}
	return n
}

// Listeners returns how many streams are open on which Notify is heard.
func (s *HTTPServer) Listeners() int {
	n := 0
	for _, st := range s.listening() {
		if st.held() {
			n++
		}
	}
	return n
}

// Notify sends a notification to every client that listens: on GET streams,
// or on each subscriptions/listen that asks for it.
func (s *HTTPServer) Notify(method string, params map[string]any) {
	s.fake.notify(context.Background(), method, params)
}

// Request sends every client that listens a request, and returns the first
// answer. Servers of 2026-07-28 have no requests.
func (s *HTTPServer) Request(tb testing.TB, method string, params map[string]any) json.RawMessage {
	tb.Helper()
	if s.o.Mode == Modern {
		tb.Fatal("a server of 2026-07-28 sends no requests")
	}
	ctx, cancel := context.WithTimeout(s.alive(), 10*time.Second)
	defer cancel()
	answer, err := s.fake.ask(ctx, method, encodeParams(params))
	if err != nil {
		tb.Fatalf("no answer to %s: %v; all requests:\n%s", method, err, s.Transcript())
	}
	return json.RawMessage(answer)
}

func (s *HTTPServer) openStreams() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*stream
	for _, st := range s.streams {
		out = append(out, st)
	}
	return out
}

// origin is where a request came from; its context leads to it.
type origin struct {
	session *httpSession
	stream  *stream // of its answer; nil: it has none
}

type originKey struct{}

// say sends what is no answer: what belongs to a request on the stream of its
// answer, if that has one and is not over; the rest to all who listen.
func (s *HTTPServer) say(ctx context.Context, m message) {
	data := encodeMessage(m)
	from, known := ctx.Value(originKey{}).(origin)
	own := len(m.ID) > 0 || s.o.Modern || strings.HasSuffix(m.Method, "/progress")
	if !known || !own {
		for _, st := range s.listening() {
			st.push(data)
		}
		return
	}
	if from.stream != nil && from.stream.push(data) || s.o.Modern {
		return
	}
	if from.session.stream != nil {
		from.session.stream.push(data)
	}
}

// listening returns the streams for what is no answer.
func (s *HTTPServer) listening() (out []*stream) {
	if s.o.Modern {
		s.fake.mu.Lock()
		defer s.fake.mu.Unlock()
		for l := range s.fake.listeners {
			if from, ok := l.ctx.Value(originKey{}).(origin); ok {
				out = append(out, from.stream)
			}
		}
		return out
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sess := range s.sessions {
		out = append(out, sess.stream)
	}
	return out
}
