package mcptest

import (
	"encoding/json"
	"net/http"
)

// sse is HTTP+SSE of 2024-11-05: the stream of a GET carries all that the
// server says, and its first event names where to POST.
func (s *HTTPServer) sse(w http.ResponseWriter, r *http.Request, in HTTPRequest) {
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/sse":
		sess := s.openSession(message{})
		defer func() {
			s.mu.Lock()
			delete(s.sessions, sess.id)
			s.mu.Unlock()
			s.forgetStream(sess.stream)
		}()
		life := s.alive()
		sess.stream.serve(w, r, sess.stream.hold(), 0, "event: endpoint\ndata: /message?sessionId="+sess.id+"\n\n", life.Done())
	case r.Method == http.MethodPost && r.URL.Path == "/message":
		s.mu.Lock()
		sess := s.sessions[r.URL.Query().Get("sessionId")]
		s.mu.Unlock()
		var m message
		switch {
		case sess == nil:
			http.Error(w, "Session not found", http.StatusNotFound)
		case json.Unmarshal([]byte(in.Body), &m) != nil || m.JSONRPC != "2.0":
			http.Error(w, "not one JSON-RPC message", http.StatusBadRequest)
		default:
			s.take(sess, in, m)
			w.WriteHeader(http.StatusAccepted)
		}
	default:
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	}
}

// take takes a message whose answer goes to the session's stream.
func (s *HTTPServer) take(sess *httpSession, in HTTPRequest, m message) {
	switch {
	case s.fake.mute(m.Method):
	case m.Method == "":
		s.fake.answered([]byte(in.Body), m)
	case len(m.ID) == 0:
		s.fake.notified(sess.id, m)
	default:
		ctx, end := s.begin(sess, m, nil)
		s.work.Go(func() { // ends with the request or the server
			defer end()
			out, ok := s.fake.answer(ctx, m)
			if !ok {
				return
			}
			sess.stream.push(encodeMessage(out))
			if s.o.Duplicate {
				sess.stream.push(encodeMessage(out))
			}
			s.fake.after(m)
		})
	}
}
