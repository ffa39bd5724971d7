package openai

import (
	"context"
	"errors"
	"io"
	"time"
)

// errIdle is the cause of a request that was given up for silence.
var errIdle = errors.New("idle timeout")

// idle ends a request when the provider is silent for too long while somebody
// waits for it. Time that the reader spends elsewhere does not count.
type idle struct {
	timer *time.Timer
	limit time.Duration
}

func newIdle(limit time.Duration, cancel context.CancelCauseFunc) *idle {
	t := time.AfterFunc(limit, func() { cancel(errIdle) })
	t.Stop()
	return &idle{timer: t, limit: limit}
}

func (i *idle) start() { i.timer.Reset(i.limit) }
func (i *idle) stop()  { i.timer.Stop() }

// errStreamSize ends an answer that has no end.
var errStreamSize = errors.New("answer too large")

// idleReader reads under the watch of idle, left bytes at most.
type idleReader struct {
	r    io.Reader
	idle *idle
	left int64
}

func (r *idleReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errStreamSize
	}
	r.idle.start()
	n, err := r.r.Read(p)
	r.idle.stop()
	r.left -= int64(n)
	return n, err
}
