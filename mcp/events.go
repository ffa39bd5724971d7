package mcp

import (
	"container/list"
	"context"
	"slices"
	"sync"
)

// Events that wait for a slow reader, per server and kind; more than that are
// merged into the oldest of their kind that is kept.
const (
	maxPendingLog     = 200
	maxPendingUpdated = 64
	maxPendingProblem = 16
)

// events is the queue between what happens at servers and the one reader of
// [Manager.Events]. put never blocks; the last event of each kind is never
// lost, however far the reader is behind.
type events struct {
	out  chan Event
	more chan struct{} // capacity 1

	mu      sync.Mutex
	pending list.List // of *Event, oldest first
	kinds   map[eventKey][]*list.Element
}

type eventKey struct {
	server string
	kind   EventKind
}

func newEvents() *events {
	return &events{out: make(chan Event), more: make(chan struct{}, 1), kinds: map[eventKey][]*list.Element{}}
}

func (q *events) put(e Event) {
	q.mu.Lock()
	key := eventKey{e.Server, e.Kind}
	same := q.kinds[key]
	if i := q.twin(same, e); i >= 0 {
		old := q.pending.Remove(same[i]).(*Event)
		same = append(same[:i], same[i+1:]...)
		e = merged(old, e)
	}
	same = append(same, q.pending.PushBack(&e))
	if len(same) > pendingLimit(e.Kind) {
		gone := q.pending.Remove(same[0]).(*Event)
		same[0] = nil
		same = same[1:]
		same[0].Value.(*Event).Merged += gone.Merged + 1
	}
	q.kinds[key] = same
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

func pendingLimit(k EventKind) int {
	switch k {
	case EventLog:
		return maxPendingLog
	case EventUpdated:
		return maxPendingUpdated
	case EventProblem:
		return maxPendingProblem
	default:
		return 1
	}
}

// twin returns the index of the pending event that e takes in, or -1.
func (q *events) twin(same []*list.Element, e Event) int {
	switch e.Kind {
	case EventLog, EventProblem:
		return -1
	case EventUpdated:
		for i, have := range slices.Backward(same) {
			if have.Value.(*Event).URI == e.URI {
				return i
			}
		}
		return -1
	default:
		return len(same) - 1
	}
}

// merged is the newer event with what it takes in of the older.
func merged(old *Event, e Event) Event {
	e.Merged += old.Merged + 1
	if e.Kind == EventTools || e.Kind == EventResources || e.Kind == EventPrompts {
		d := difference{added: old.Added, addedN: old.AddedN, goneN: old.RemovedN}.and(difference{added: e.Added, addedN: e.AddedN, goneN: e.RemovedN})
		e.Added, e.AddedN, e.RemovedN = d.added, d.addedN, d.goneN
	}
	return e
}

func (q *events) take() (Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	front := q.pending.Front()
	if front == nil {
		return Event{}, false
	}
	e := q.pending.Remove(front).(*Event)
	key := eventKey{e.Server, e.Kind}
	// The oldest of all is the oldest of its kind.
	if rest := q.kinds[key][1:]; len(rest) == 0 {
		delete(q.kinds, key)
	} else {
		q.kinds[key] = rest
	}
	return *e, true
}

// run hands events to the reader until ctx ends, then closes the channel.
func (q *events) run(ctx context.Context) {
	defer close(q.out)
	for {
		e, ok := q.take()
		if !ok {
			select {
			case <-q.more:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case q.out <- e:
		case <-ctx.Done():
			return
		}
	}
}
