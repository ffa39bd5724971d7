package mcp

import (
	"context"
	"sync"
	"time"
)

// requests brings questions to the one reader of [Manager.Requests]; one that
// nobody takes in time is declined.
type requests struct {
	ctx     context.Context //nolint:containedctx // the manager's lifetime
	out     chan Request
	timeout time.Duration
	wg      sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

func newRequests(ctx context.Context, timeout time.Duration) *requests {
	return &requests{ctx: ctx, out: make(chan Request), timeout: timeout}
}

// ask offers a question, whose answer goes once to reply, also when it is
// declined. ctx ends when the question has no more use; nothing is replied
// after that.
func (q *requests) ask(ctx context.Context, r Request, reply func(RequestAnswer)) {
	var once sync.Once
	r.Done = ctx.Done()
	r.Reply = func(a RequestAnswer) {
		once.Do(func() {
			if ctx.Err() == nil {
				reply(a)
			}
		})
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.wg.Go(func() { // ends when it is taken, out of use, or too old
		timer := time.NewTimer(q.timeout)
		defer timer.Stop()
		select {
		case q.out <- r:
		case <-timer.C:
			r.Reply(RequestAnswer{})
		case <-ctx.Done():
		case <-q.ctx.Done():
		}
	})
}

// close waits for what waits and closes the channel; q.ctx has ended.
func (q *requests) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wg.Wait()
	close(q.out)
}
