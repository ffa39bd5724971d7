package mcptest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// HTTPRequest is one request that a fake server over HTTP received.
type HTTPRequest struct {
	Verb   string // GET, POST, DELETE
	Path   string // with the query
	Host   string
	Header http.Header
	Body   string

	// Of the JSON-RPC message in the body. An answer of the client's has no
	// Method.
	Method string
	ID     json.RawMessage
	Params json.RawMessage

	Status  int  // of the answer; 0: none yet
	Done    bool // the answer is whole, or will never be
	Aborted bool // the client closed the connection before that
}

// Tool returns the name of the tool that the request calls.
func (r HTTPRequest) Tool() string { return toolName(r.Params) }

// Match says which requests are meant.
type Match func(HTTPRequest) bool

// Any matches every request.
func Any(HTTPRequest) bool { return true }

// Verb matches the requests with an HTTP method.
func Verb(verb string) Match { return func(r HTTPRequest) bool { return r.Verb == verb } }

// Method matches the requests that carry a JSON-RPC method.
func Method(method string) Match { return func(r HTTPRequest) bool { return r.Method == method } }

// Call matches the calls of a tool.
func Call(tool string) Match {
	return func(r HTTPRequest) bool { return r.Method == "tools/call" && r.Tool() == tool }
}

// Path matches the requests for a path, without a query.
func Path(path string) Match {
	return func(r HTTPRequest) bool {
		got, _, _ := strings.Cut(r.Path, "?")
		return got == path
	}
}

// Opened matches the GET requests whose stream was opened.
func Opened(r HTTPRequest) bool { return r.Verb == http.MethodGet && r.Status == http.StatusOK }

// And matches what all of them match.
func And(all ...Match) Match {
	return func(r HTTPRequest) bool {
		for _, m := range all {
			if !m(r) {
				return false
			}
		}
		return true
	}
}

// Requests returns the requests that match so far, in the order of their
// arrival; all of them without a match.
func (s *HTTPServer) Requests(match ...Match) []HTTPRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []HTTPRequest
	for _, r := range s.requests {
		if And(match...)(*r) {
			out = append(out, *r)
		}
	}
	return out
}

// Await waits until n requests match, and returns them.
func (s *HTTPServer) Await(tb testing.TB, n int, match ...Match) []HTTPRequest {
	tb.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := s.Requests(match...)
		if len(got) >= n {
			return got
		}
		if time.Now().After(deadline) {
			tb.Fatalf("the fake server did not get there in 10 s: %d of %d requests; all:\n%s", len(got), n, s.Transcript())
		}
	}
}

// Transcript lists all requests so far, a line each.
func (s *HTTPServer) Transcript() string {
	var b strings.Builder
	for _, r := range s.Requests() {
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// String is the request in a line.
func (r HTTPRequest) String() string {
	what := r.Method
	if what == "" {
		what = r.Body
	}
	status := "no answer"
	if r.Status > 0 {
		status = http.StatusText(r.Status)
	}
	if r.Aborted {
		status += ", closed by the client"
	}
	return strings.Join([]string{r.Verb, r.Path, what, string(r.ID), "-", status}, " ")
}

// record notes a request. The pointer is to be read and changed under s.mu.
func (s *HTTPServer) record(r *http.Request, body []byte, m message) *HTTPRequest {
	rec := &HTTPRequest{
		Verb: r.Method, Path: r.URL.RequestURI(), Host: r.Host, Header: r.Header.Clone(), Body: string(body),
		Method: m.Method, ID: m.ID, Params: m.Params,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, rec)
	return rec
}

// recorder notes the status of an answer.
type recorder struct {
	http.ResponseWriter
	s   *HTTPServer
	rec *HTTPRequest
}

func (w recorder) WriteHeader(status int) {
	w.s.mu.Lock()
	if w.rec.Status == 0 {
		w.rec.Status = status
	}
	w.s.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

func (w recorder) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	if w.rec.Status == 0 {
		w.rec.Status = http.StatusOK
	}
	w.s.mu.Unlock()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController flush.
func (w recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
