package lsp

import (
	"context"
	"fmt"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"agentls/agent"
)

// request is a request of the client that is not answered yet.
type request struct {
	id     jsonrpc2.ID
	cancel context.CancelCauseFunc
	answer reply
}

// inflight holds the requests that are not answered yet. Each leaves it by
// exactly one answer.
type inflight struct {
	mu     sync.Mutex
	byID   map[jsonrpc2.ID]*request
	closed bool
	empty  chan struct{} // closed when closed and nothing is left
}

func newInflight() *inflight {
	return &inflight{byID: make(map[jsonrpc2.ID]*request), empty: make(chan struct{})}
}

// add fails for an id that is in use, and once the connection ends.
func (f *inflight) add(r *request) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errGone
	}
	if _, used := f.byID[r.id]; used {
		return &refusal{jsonrpc2.InvalidRequest, fmt.Sprintf("id %q is that of another request in flight", r.id)}
	}
	f.byID[r.id] = r
	return nil
}

// finish answers a request, unless it is answered already.
func (f *inflight) finish(r *request, result []byte, err *jsonrpc2.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID[r.id] != r {
		return
	}
	// The answer is queued under the lock, so that an empty inflight means that
	// every answer is in the outbox.
	r.answer(r.id, result, err)
	r.cancel(nil)
	delete(f.byID, r.id)
	f.settle()
}

// settle tells close that nothing is left. f.mu is held.
func (f *inflight) settle() {
	if !f.closed || len(f.byID) > 0 {
		return
	}
	select {
	case <-f.empty:
	default:
		close(f.empty)
	}
}

// cancel ends the ctx of a request; its handler answers.
func (f *inflight) cancel(id jsonrpc2.ID) {
	f.mu.Lock()
	r := f.byID[id]
	f.mu.Unlock()
	if r != nil {
		r.cancel(agent.ErrCancelled)
	}
}

// close takes no more requests, waits until all are answered, and answers
// those that are still left when ctx ends.
func (f *inflight) close(ctx context.Context, late *jsonrpc2.Error) {
	f.mu.Lock()
	f.closed = true
	f.settle()
	f.mu.Unlock()
	select {
	case <-f.empty:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, r := range f.byID {
		r.answer(id, nil, late)
		delete(f.byID, id)
	}
	f.settle()
}
