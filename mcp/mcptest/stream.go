package mcptest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// stream is one stream of server-sent events. It may outlive the connection
// that carries it.
type stream struct {
	name string // the first part of its events' ids
	keep bool   // events are numbered, and wait for a client that comes back

	mu      sync.Mutex
	events  []string      // the data of each; the first has the number 1
	written int           // how many were written to a client
	ended   bool          // no more events come
	changed chan struct{} // closed and renewed when one of the above changes
	holder  chan struct{} // closed to end the connection that carries it; nil: none does
}

func newStream(name string, keep bool) *stream {
	return &stream{name: name, keep: keep, changed: make(chan struct{})}
}

// hold makes a new connection carry the stream and ends the one before. The
// channel is closed when the new one must end.
func (st *stream) hold() chan struct{} {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.holder != nil {
		close(st.holder)
	}
	st.holder = make(chan struct{})
	return st.holder
}

// held reports whether a connection carries the stream.
func (st *stream) held() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.holder != nil
}

// push adds an event. With nobody there to hear it, it is lost, unless it is
// kept.
func (st *stream) push(data []byte) (heard bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || st.holder == nil && !st.keep {
		return false
	}
	st.events = append(st.events, string(data))
	st.wake()
	return true
}

// finish says that no more events come.
func (st *stream) finish() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended = true
	st.wake()
}

// drop ends the connection that carries the stream, but not the stream.
func (st *stream) drop() (had bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.holder == nil {
		return false
	}
	close(st.holder)
	st.holder = nil
	return true
}

func (st *stream) wake() {
	close(st.changed)
	st.changed = make(chan struct{})
}

// since returns the number of the event after which a client reads on, with
// the Last-Event-ID that it sent.
func (st *stream) since(lastEventID string) int {
	st.mu.Lock()
	defer st.mu.Unlock()
	_, number, _ := strings.Cut(lastEventID, "/")
	if n, err := strconv.Atoi(number); err == nil && n >= 0 && n <= len(st.events) {
		return n
	}
	return st.written
}

// serve writes the events after the number from to w, until the stream ends
// or mine is closed or the client is gone or the server is over. prelude is
// written before.
func (st *stream) serve(w http.ResponseWriter, r *http.Request, mine chan struct{}, from int, prelude string, over <-chan struct{}) {
	defer func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.holder == mine {
			st.holder = nil
		}
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush
	if _, err := fmt.Fprint(w, prelude); err != nil || flush() != nil {
		return
	}
	for {
		st.mu.Lock()
		batch, ended, changed := st.events[from:], st.ended, st.changed
		st.mu.Unlock()
		for _, data := range batch {
			from++
			if st.keep {
				_, _ = fmt.Fprintf(w, "id: %s/%d\n", st.name, from)
			}
			if _, err := fmt.Fprintf(w, "event: message\ndata: %s\n\n", data); err != nil {
				return
			}
		}
		if flush() != nil {
			return
		}
		st.mu.Lock()
		st.written = max(st.written, from)
		st.mu.Unlock()
		switch {
		case len(batch) > 0:
			continue
		case ended:
			return
		}
		select {
		case <-changed:
		case <-mine:
			return
		case <-r.Context().Done():
			return
		case <-over:
			return
		}
	}
}
