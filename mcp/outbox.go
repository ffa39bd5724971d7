package mcp

import (
	"context"
	"io"
	"sync"
)

const (
	outboxFull  = 32 << 20  // bytes queued from which requests wait for room
	outboxLimit = 128 << 20 // bytes queued at which the reader is given up
)

// outbox writes to a child's stdin from a queue, so that a child that does
// not read blocks nobody: mcp-go writes under a lock and without a context.
type outbox struct {
	w        io.WriteCloser
	overflow func() // called once, when outboxLimit is passed
	done     chan struct{}

	mu       sync.Mutex
	queue    [][]byte
	size     int           // bytes in queue and in the write under way
	closing  bool          // what is queued is still written, nothing is added
	broken   bool          // nothing is written any more
	more     chan struct{} // capacity 1: the queue grew, or closing was set
	room     chan struct{} // closed and replaced when size shrinks
	overOnce sync.Once
}

func newOutbox(w io.WriteCloser, overflow func()) *outbox {
	return &outbox{w: w, overflow: overflow, done: make(chan struct{}), more: make(chan struct{}, 1), room: make(chan struct{})}
}

// Write queues p and never blocks. It reports success also when the child is
// gone: its end is told by the end of its stdout, and mcp-go would log the
// error where nobody wants it.
func (o *outbox) Write(p []byte) (int, error) {
	o.mu.Lock()
	full := false
	if !o.closing && !o.broken {
		if full = o.size+len(p) > outboxLimit; !full {
			o.queue = append(o.queue, append([]byte(nil), p...))
			o.size += len(p)
		}
	}
	o.mu.Unlock()
	if full {
		o.overOnce.Do(o.overflow)
	}
	o.signal()
	return len(p), nil
}

// Close lets what is queued be written, then closes the stream. It does not
// wait; see done.
func (o *outbox) Close() error {
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	o.signal()
	return nil
}

// abort closes the stream at once; a write under way fails.
func (o *outbox) abort() {
	o.mu.Lock()
	o.broken, o.closing, o.queue = true, true, nil
	o.mu.Unlock()
	_ = o.w.Close()
	o.signal()
}

// waitRoom waits until the queue has room for another request.
func (o *outbox) waitRoom(ctx context.Context) error {
	for {
		o.mu.Lock()
		full, room := o.size >= outboxFull, o.room
		o.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-room:
		case <-o.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// run writes until Close and an empty queue, a failed write, or abort.
func (o *outbox) run() {
	defer close(o.done)
	defer func() { _ = o.w.Close() }()
	for range o.more {
		for {
			o.mu.Lock()
			if len(o.queue) == 0 {
				closing := o.closing
				o.mu.Unlock()
				if closing {
					return
				}
				break
			}
			p := o.queue[0]
			o.queue[0] = nil
			o.queue = o.queue[1:]
			o.mu.Unlock()
			_, err := o.w.Write(p)
			o.wrote(len(p), err)
		}
	}
}

func (o *outbox) wrote(n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size -= n
	if err != nil {
		o.broken, o.closing, o.queue, o.size = true, true, nil, 0
	}
	close(o.room)
	o.room = make(chan struct{})
}

func (o *outbox) signal() {
	select {
	case o.more <- struct{}{}:
	default:
	}
}
