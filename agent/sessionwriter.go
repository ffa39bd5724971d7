package agent

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// How long a run waits for its disk before it goes on in memory; one that was
// cancelled is to be answered in 500 ms (CONTRACT §5), of which a call that does
// not react may have taken the grace.
const (
	sessionWriteWait  = 2 * time.Second
	sessionCancelWait = 150 * time.Millisecond
)

var errSlowDisk = errors.New("the disk did not take it in time")

// sessionOutput is what a sessionWriter writes to, an *os.File.
type sessionOutput interface {
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Stat() (os.FileInfo, error)
	Sync() error
	Close() error
}

// sessionWriter writes the lines of a session on a goroutine of its own, so
// that no disk holds up a run or its cancel. What came while it wrote it
// writes at once. After a failure it writes nothing more.
type sessionWriter struct {
	out  sessionOutput
	fail func(error) // called once, with the first failure; never under mu
	wake chan struct{}
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	lines   []byte
	waiting []chan struct{}
	size    int64 // of what is written whole
	err     error
	closed  bool
}

// newSessionWriter goes on behind size bytes. Its goroutine ends with close.
func newSessionWriter(out sessionOutput, size int64, fail func(error)) *sessionWriter {
	w := &sessionWriter{out: out, fail: fail, wake: make(chan struct{}, 1), done: make(chan struct{}), size: size}
	go w.run()
	return w
}

// put takes a line, without waiting.
func (w *sessionWriter) put(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.lines = append(w.lines, line...)
	w.kick()
}

func (w *sessionWriter) kick() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// flush waits until all lines are written, or cannot be. A disk that takes
// longer than most has failed, and so has one that takes longer than cancelled
// after the end of ctx; where that is 0 the end of ctx only ends the wait.
func (w *sessionWriter) flush(ctx context.Context, most, cancelled time.Duration) {
	w.mu.Lock()
	if w.err != nil {
		w.mu.Unlock()
		return
	}
	written := make(chan struct{})
	w.waiting = append(w.waiting, written)
	w.kick()
	w.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-written:
		return
	case <-ctx.Done():
		if cancelled == 0 {
			return
		}
		timer.Reset(cancelled)
	case <-timer.C:
		w.failed(errSlowDisk)
		return
	}
	select {
	case <-written:
	case <-timer.C:
		w.failed(errSlowDisk)
	}
}

// failed notes the first failure; what waits goes on.
func (w *sessionWriter) failed(err error) {
	w.mu.Lock()
	first := w.err == nil
	if first {
		w.err = err
	}
	w.lines = nil
	w.release()
	w.mu.Unlock()
	if first {
		w.fail(err)
	}
}

// release lets go who waits; w.mu is held.
func (w *sessionWriter) release() {
	for _, c := range w.waiting {
		close(c)
	}
	w.waiting = nil
}

func (w *sessionWriter) run() {
	defer close(w.done)
	for range w.wake {
		w.mu.Lock()
		lines, waiting, at, closed := w.lines, w.waiting, w.size, w.closed
		w.lines, w.waiting = nil, nil
		w.mu.Unlock()
		n, err := w.write(lines, at)
		w.mu.Lock()
		w.size += int64(n)
		more := len(w.lines) > 0
		w.mu.Unlock()
		if err != nil {
			w.failed(err)
		}
		for _, c := range waiting {
			close(c)
		}
		if closed && !more {
			return
		}
	}
}

// write writes whole lines or nothing: half of them would be of no use.
func (w *sessionWriter) write(lines []byte, at int64) (n int, err error) {
	if len(lines) == 0 {
		return 0, nil
	}
	if n, err = w.out.WriteAt(lines, at); err == nil {
		return n, nil
	}
	_ = w.out.Truncate(at) // else it is done before the next run
	return 0, err
}

// close ends the goroutine when it has written what is there.
func (w *sessionWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.kick()
}

// state says how much is written, and why not all of it.
func (w *sessionWriter) state() (size int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size, w.err
}
