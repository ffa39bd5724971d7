package lsp

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// maxUnread is how far a client may fall behind before it is disconnected
// (CONTRACT §5).
const maxUnread = 64 << 20

var errUnread = fmt.Errorf("the client left %d MiB unread", maxUnread>>20)

// outbox is what the client has not taken yet. Putting something in never
// blocks, so that a client that does not read stops neither a handler nor the
// read loop.
type outbox struct {
	mu      sync.Mutex
	buf     []byte // frames that the writer has not taken
	writing int    // bytes of the write in flight
	err     error  // why nothing more is written
	closed  bool
	wake    chan struct{} // 1 slot
	failed  chan struct{} // closed with err
	done    chan struct{} // closed when write has returned
}

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), failed: make(chan struct{}), done: make(chan struct{})}
}

// put frames what body appends.
func (o *outbox) put(body func(dst []byte) []byte) error {
	const prefix, suffix = "Content-Length: ", "\r\n\r\n"
	const room = len(prefix) + len(suffix) + 10
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if o.closed {
		return io.ErrClosedPipe
	}
	start := len(o.buf)
	o.buf = append(o.buf, make([]byte, room)...)
	o.buf = body(o.buf)
	n := len(o.buf) - start - room
	header := append(o.buf[:start], prefix...)
	header = strconv.AppendInt(header, int64(n), 10)
	header = append(header, suffix...)
	copy(o.buf[len(header):], o.buf[start+room:])
	o.buf = o.buf[:len(header)+n]
	if len(o.buf)+o.writing > maxUnread {
		o.fail(errUnread)
		return o.err
	}
	o.signal()
	return nil
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// fail ends the outbox; what is unwritten is dropped. o.mu is held.
func (o *outbox) fail(err error) {
	if o.err == nil {
		o.err, o.buf = err, nil
		close(o.failed)
		o.signal()
	}
}

// behind reports how many bytes wait for the client. Whoever sends much may
// merge what it has while the client is behind.
func (o *outbox) behind() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf) + o.writing
}

// write moves frames to w until the outbox is closed and empty, or failed.
// Serve owns its goroutine.
func (o *outbox) write(w io.Writer) {
	defer close(o.done)
	var spare []byte
	for {
		out, ok := o.take(spare)
		if !ok {
			return
		}
		if len(out) == 0 {
			<-o.wake
			spare = out
			continue
		}
		_, err := w.Write(out)
		if err != nil {
			o.mu.Lock()
			o.fail(fmt.Errorf("write to the client: %w", err))
			o.mu.Unlock()
			return
		}
		spare = out
		if cap(spare) > 1<<20 {
			spare = nil // one big answer should not stay in memory
		}
	}
}

// take swaps the waiting frames for an empty buffer; ok is false at the end.
func (o *outbox) take(spare []byte) (out []byte, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing = 0
	if o.err != nil || o.closed && len(o.buf) == 0 {
		return nil, false
	}
	out, o.buf = o.buf, spare[:0]
	o.writing = len(out)
	return out, true
}

// close writes what waits, but no longer than ctx.
func (o *outbox) close(ctx context.Context) {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
	select {
	case <-o.done:
	case <-o.failed:
	case <-ctx.Done():
	}
}

// failure says why the outbox ended early: errUnread, or the error of a client
// that is gone.
func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
