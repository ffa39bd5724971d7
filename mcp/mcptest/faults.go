package mcptest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Fault answers a request in the place of the server.
type Fault func(s *HTTPServer, w http.ResponseWriter, r *http.Request, in HTTPRequest)

// Break makes the requests that match meet a fault from now on. The latest
// that matches decides.
func (s *HTTPServer) Break(match Match, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, rule{match, f})
}

// Mend takes all faults back that Break made.
func (s *HTTPServer) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

type rule struct {
	match Match
	fault Fault
}

func (s *HTTPServer) fault(in HTTPRequest) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range slices.Backward(s.faults) {
		if f.match(in) {
			return f.fault
		}
	}
	return nil
}

// First meets the first n requests that it is asked about; later ones are
// answered properly.
func First(n int, f Fault) Fault {
	var met atomic.Int64
	return func(s *HTTPServer, w http.ResponseWriter, r *http.Request, in HTTPRequest) {
		if met.Add(1) <= int64(n) {
			f(s, w, r, in)
			return
		}
		s.proper(w, r, in)
	}
}

// Hang answers nothing, not even a header.
func Hang(s *HTTPServer, _ http.ResponseWriter, r *http.Request, _ HTTPRequest) { s.wait(r) }

// HangOpen opens a stream of events and says nothing on it.
func HangOpen(s *HTTPServer, w http.ResponseWriter, r *http.Request, _ HTTPRequest) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	s.wait(r)
}

// wait waits until the client is gone or the server is over.
func (s *HTTPServer) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.alive().Done():
	}
}

// Cut opens a stream of events, writes half of one, and breaks off.
func Cut(_ *HTTPServer, w http.ResponseWriter, _ *http.Request, _ HTTPRequest) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "event: message\ndata: {\"jsonrpc\":")
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Answer answers with a status, a type and a body, in which {id} stands for
// the request's id. headers are pairs of a name and a value.
func Answer(status int, contentType, body string, headers ...string) Fault {
	return func(_ *HTTPServer, w http.ResponseWriter, _ *http.Request, in HTTPRequest) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		id := string(in.ID)
		if id == "" {
			id = "null"
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "{id}", id))
	}
}

// Status answers with a status and a text.
func Status(status int) Fault { return Answer(status, "text/plain", http.StatusText(status)+"\n") }

// Unauthorized answers 401 with a challenge for WWW-Authenticate.
func Unauthorized(challenge string) Fault {
	return Answer(http.StatusUnauthorized, "application/json", `{"error":"invalid_token"}`, "WWW-Authenticate", challenge)
}

// Redirect answers with a redirect to a URL.
func Redirect(status int, to string) Fault {
	return Answer(status, "text/plain", "elsewhere\n", "Location", to)
}

// HTML answers 200 with a page, as a portal does that wants a login.
func HTML() Fault {
	return Answer(http.StatusOK, "text/html", "<!doctype html><title>Log in</title><p>Please log in.</p>")
}

// Events answers with raw events: each must end with an empty line.
func Events(events ...string) Fault {
	return Answer(http.StatusOK, "text/event-stream", strings.Join(events, ""))
}

// Huge answers with an event whose one line has about n bytes.
func Huge(n int) Fault {
	return Answer(http.StatusOK, "text/event-stream", fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"content\":[{\"type\":\"text\",\"text\":%q}]}}\n\n", strings.Repeat("x", n)))
}

// Slow answers properly, but a byte each time.
func Slow(each time.Duration) Fault {
	return func(s *HTTPServer, w http.ResponseWriter, r *http.Request, in HTTPRequest) {
		s.proper(slowWriter{w, each, s}, r, in)
	}
}

type slowWriter struct {
	http.ResponseWriter
	each time.Duration
	s    *HTTPServer
}

func (w slowWriter) Write(p []byte) (int, error) {
	for i := range p {
		if err := pause(w.s.alive(), w.each.Seconds()); err != nil {
			return i, err
		}
		if _, err := w.ResponseWriter.Write(p[i : i+1]); err != nil {
			return i, err
		}
		if err := http.NewResponseController(w.ResponseWriter).Flush(); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// Unwrap lets http.ResponseController flush.
func (w slowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
