package mcptest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// httpSession is one session of a server of 2025-11-25 or earlier.
type httpSession struct {
	id      string
	version string  // negotiated
	stream  *stream // what is no answer; with SSE answers too
}

// ServeHTTP takes one request.
func (s *HTTPServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.life.Err() != nil {
		s.mu.Unlock()
		return // Stop waits for no more
	}
	s.work.Add(1)
	s.mu.Unlock()
	defer s.work.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client broke off
	}
	var m message
	_ = json.Unmarshal(body, &m) // checked where a message is needed
	rec := s.record(r, body, m)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		rec.Done = true
		rec.Aborted = r.Context().Err() != nil && s.life.Err() == nil
	}()
	s.mu.Lock()
	in := *rec
	s.mu.Unlock()
	if s.o.Gzip {
		z := compressed(w, r)
		defer z.end()
		w = z
	}
	w = recorder{w, s, rec}
	if f := s.fault(in); f != nil {
		f(s, w, r, in)
		return
	}
	s.proper(w, r, in)
}

// proper answers as a server without a fault does.
func (s *HTTPServer) proper(w http.ResponseWriter, r *http.Request, in HTTPRequest) {
	switch path := r.URL.Path; {
	case s.o.Mode == SSE && (path == "/sse" || path == "/message"):
		s.sse(w, r, in)
	case s.o.Mode == SSE || path != "/mcp" && !strings.HasPrefix(path, "/mcp/"):
		http.NotFound(w, r)
	case r.Method == http.MethodPost:
		s.post(w, r, in)
	case s.o.Mode == Streamable && r.Method == http.MethodGet:
		s.get(w, r)
	case s.o.Mode == Streamable && r.Method == http.MethodDelete:
		if sess := s.session(w, r); sess != nil {
			s.mu.Lock()
			delete(s.sessions, sess.id)
			s.mu.Unlock()
			sess.stream.finish()
			w.WriteHeader(http.StatusOK)
		}
	default:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	}
}

// post takes a message of Streamable HTTP, of either era.
func (s *HTTPServer) post(w http.ResponseWriter, r *http.Request, in HTTPRequest) {
	accept := r.Header.Get("Accept")
	var m message
	switch {
	case !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream"):
		refuse(w, http.StatusNotAcceptable, -32000, "Not Acceptable: Client must accept both application/json and text/event-stream")
		return
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		refuse(w, http.StatusUnsupportedMediaType, -32000, "Unsupported Media Type: Content-Type must be application/json")
		return
	case json.Unmarshal([]byte(in.Body), &m) != nil || m.JSONRPC != "2.0":
		refuse(w, http.StatusBadRequest, -32700, "Parse error: not one JSON-RPC message")
		return
	}
	if s.o.Mode == Modern {
		if e, status := s.checkModern(r.Header, m); e != nil {
			writeMessage(w, status, message{ID: orNull(m.ID), Error: e})
			return
		}
	}
	sess := &httpSession{} // of none
	if s.o.Mode == Streamable && m.Method != "initialize" {
		if sess = s.session(w, r); sess == nil {
			return
		}
	}
	switch {
	case m.Method == "":
		s.fake.answered([]byte(in.Body), m)
		w.WriteHeader(http.StatusAccepted)
	case len(m.ID) == 0:
		if !s.fake.mute(m.Method) {
			s.fake.notified(sess.id, m)
		}
		w.WriteHeader(http.StatusAccepted)
	case s.fake.mute(m.Method):
		s.wait(r)
	case m.Method == "initialize":
		s.initialize(w, m)
	case s.o.JSON && m.Method != "subscriptions/listen":
		s.answerJSON(w, r, sess, m)
	default:
		s.answerStream(w, r, sess, m)
	}
}

// session returns the session that a request names, or refuses it: 400
// without an id or with another protocol version than negotiated, 404 for one
// that is not known (basic/transports, 2025-11-25).
func (s *HTTPServer) session(w http.ResponseWriter, r *http.Request) *httpSession {
	id := r.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	sess := s.sessions[id]
	s.mu.Unlock()
	version := r.Header.Get("Mcp-Protocol-Version")
	switch {
	case id == "":
		refuse(w, http.StatusBadRequest, -32000, "Bad Request: Mcp-Session-Id header is required")
	case sess == nil:
		refuse(w, cmp.Or(s.o.LostStatus, http.StatusNotFound), -32001, "Session not found")
	case version == "" && sess.version >= "2025-06-18":
		refuse(w, http.StatusBadRequest, -32000, "Bad Request: MCP-Protocol-Version header is required")
	case version != "" && version != sess.version:
		refuse(w, http.StatusBadRequest, -32000, "Bad Request: Unsupported protocol version: "+version)
	default:
		return sess
	}
	return nil
}

// initialize opens a session.
func (s *HTTPServer) initialize(w http.ResponseWriter, m message) {
	out, ok := s.fake.answer(context.WithValue(s.alive(), overKey{}, s.alive()), m)
	if !ok {
		return // the server is over
	}
	if s.o.Mode == Streamable && out.Error == nil {
		w.Header().Set("Mcp-Session-Id", s.openSession(m).id)
	}
	if s.o.JSON || out.Error != nil {
		writeMessage(w, http.StatusOK, out)
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", encodeMessage(out))
	}
	s.fake.after(m)
}

func (s *HTTPServer) openSession(m message) *httpSession {
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(m.Params, &p)
	st := s.newStream()
	s.mu.Lock()
	defer s.mu.Unlock()
	sess := &httpSession{id: fmt.Sprintf("session-%d-%p", s.names, st), version: p.ProtocolVersion, stream: st}
	s.sessions[sess.id] = sess
	return sess
}

func (s *HTTPServer) newStream() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names++
	st := newStream(fmt.Sprintf("stream-%d", s.names), s.o.Replay)
	s.streams[st.name] = st
	return st
}

func (s *HTTPServer) forgetStream(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st.name)
}

// begin makes the context of a request, which reaches as far as the server's
// life: a connection that ends is no cancel before 2026-07-28. answer is the
// stream of its answer, if it has one.
func (s *HTTPServer) begin(sess *httpSession, m message, answer *stream) (context.Context, func()) {
	life := s.alive()
	ctx := context.WithValue(context.WithValue(life, overKey{}, life), originKey{}, origin{sess, answer})
	return s.fake.begin(ctx, sess.id, m.ID)
}

func (s *HTTPServer) answerJSON(w http.ResponseWriter, r *http.Request, sess *httpSession, m message) {
	ctx, end := s.begin(sess, m, nil)
	defer end()
	if s.o.Modern {
		defer context.AfterFunc(r.Context(), end)()
	}
	out, ok := s.fake.answer(ctx, m)
	if !ok {
		panic(http.ErrAbortHandler) // a cancelled request gets no answer
	}
	status := http.StatusOK
	if s.o.Modern && out.Error != nil {
		status = modernStatus(out.Error.Code)
	}
	writeMessage(w, status, out)
}

func (s *HTTPServer) answerStream(w http.ResponseWriter, r *http.Request, sess *httpSession, m message) {
	st := s.newStream()
	mine := st.hold()
	ctx, end := s.begin(sess, m, st)
	life := s.alive()
	s.work.Go(func() { // ends with the request or the server
		defer end()
		if out, ok := s.fake.answer(ctx, m); ok {
			st.push(encodeMessage(out))
			if s.o.Duplicate {
				st.push(encodeMessage(out))
			}
		}
		st.finish()
		if !st.keep {
			s.forgetStream(st)
		}
	})
	if slices.Contains(s.o.Polling, m.Method) {
		st.drop()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, s.prelude(st))
		return
	}
	st.serve(w, r, mine, 0, s.prelude(st), life.Done())
	if s.o.Modern {
		end() // closing the stream cancels
	}
}

// prelude is what a stream starts with: how soon to come back, and an event
// without data from which to resume (SEP-1699).
func (s *HTTPServer) prelude(st *stream) string {
	var b strings.Builder
	if s.o.Retry > 0 {
		fmt.Fprintf(&b, "retry: %d\n", s.o.Retry.Milliseconds())
	}
	if st.keep {
		fmt.Fprintf(&b, "id: %s/0\ndata:\n", st.name)
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// get opens the stream for what is no answer, or resumes any.
func (s *HTTPServer) get(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, -32000, "Not Acceptable: Client must accept text/event-stream")
		return
	}
	sess := s.session(w, r)
	if sess == nil {
		return
	}
	st, last := sess.stream, r.Header.Get("Last-Event-ID")
	name, _, _ := strings.Cut(last, "/")
	s.mu.Lock()
	if known := s.streams[name]; known != nil {
		st = known
	}
	s.mu.Unlock()
	prelude := ""
	if last == "" {
		prelude = s.prelude(st)
	}
	from := st.since(last)
	st.serve(w, r, st.hold(), from, prelude, s.alive().Done())
}

func refuse(w http.ResponseWriter, status, code int, text string) {
	writeMessage(w, status, message{ID: json.RawMessage("null"), Error: &rpcError{Code: code, Message: text}})
}

func writeMessage(w http.ResponseWriter, status int, m message) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encodeMessage(m))
}

func orNull(id json.RawMessage) json.RawMessage {
	if len(id) == 0 {
		return json.RawMessage("null")
	}
	return id
}
