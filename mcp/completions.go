package mcp

import (
	"container/list"
	"context"
	"maps"
	"strings"
	"sync"
	"time"
)

const (
	maxCompletions     = 512     // answers kept per server
	maxCompletionBytes = 1 << 20 // of their texts
	maxNarrowed        = 32      // bytes of a value that are looked for without
	maxRefusals        = 1024    // arguments kept that a server knows no values of
	maxRefusal         = 4096    // bytes of one, with the values of the others
	// completionAge is how long an answer counts as fresh: no notification says
	// that values changed.
	completionAge = 30 * time.Second
)

// completions asks a connection for values, one request at a time: a person
// types faster than many servers answer. What a newer round asks ends what waits
// of older ones, and what is under way when it had its [patience].
type completions struct {
	mu      sync.Mutex
	waiting []*completion // of one round
	current *completion   // under way; nil: none
	round   uint64        // the newest
	since   time.Time     // when current was asked
	cancel  context.CancelCauseFunc
	hurry   *time.Timer // ends current; nil: nobody waits
}

// begin queues a query, or joins one that is the same.
func (w *completions) begin(c *connection, cache *completionCache, q argumentQuery, old *completion, round uint64) *completion {
	a := &completion{query: q, key: q.key(), round: round, old: old, done: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.round = max(w.round, round)
	if cur := w.current; cur != nil && cur.key == a.key && w.hurry == nil {
		cur.round = max(cur.round, round)
		w.supersede()
		return cur
	}
	for _, have := range w.waiting {
		if have.key == a.key {
			have.round = max(have.round, round)
			w.supersede()
			return have
		}
	}
	if round < w.round {
		return answeredAs(&completion{err: ErrSuperseded, old: old})
	}
	w.waiting = append(w.waiting, a)
	w.supersede()
	if w.current != nil {
		return a
	}
	w.current = w.next()
	if !c.spawn(func() { w.run(c, cache) }) {
		w.current = nil
		return answeredAs(&completion{err: errLost, old: old})
	}
	return a
}

// supersede ends what is of an older round; w.mu is held.
func (w *completions) supersede() {
	kept := w.waiting[:0]
	for _, a := range w.waiting {
		if a.round == w.round {
			kept = append(kept, a)
			continue
		}
		a.err = ErrSuperseded
		close(a.done)
	}
	clear(w.waiting[len(kept):])
	w.waiting = kept
	if w.current != nil && w.current.round < w.round && len(kept) > 0 && w.hurry == nil && w.cancel != nil {
		cancel := w.cancel
		w.hurry = time.AfterFunc(patience-time.Since(w.since), func() { cancel(ErrSuperseded) })
	}
}

// next takes the first that waits; w.mu is held.
func (w *completions) next() *completion {
	if len(w.waiting) == 0 {
		return nil
	}
	a := w.waiting[0]
	w.waiting = w.waiting[1:]
	return a
}

// run asks until nothing waits. It ends with the connection.
func (w *completions) run(c *connection, cache *completionCache) {
	for {
		ctx, cancel := context.WithCancelCause(c.ctx)
		w.mu.Lock()
		a := w.current
		w.since, w.cancel = time.Now(), cancel
		w.supersede()
		w.mu.Unlock()

		at := cache.asking()
		values, more, err := c.complete(ctx, a.query)
		refused := isCode(err, codeMethodNotFound) || isCode(err, codeInvalidParams)
		if refused {
			values, more, err = nil, false, nil
		}
		cancel(nil)

		w.mu.Lock()
		a.values, a.more, a.err = values, more, err
		if err == nil {
			cache.put(a, refused, at, time.Now())
		}
		close(a.done)
		if w.hurry != nil {
			w.hurry.Stop()
			w.hurry = nil
		}
		w.cancel = nil
		w.current = w.next()
		last := w.current == nil
		w.mu.Unlock()
		if last {
			return
		}
	}
}

// completionCache keeps what a server answered. The least recently used give
// way. Its zero value is empty.
type completionCache struct {
	mu      sync.Mutex
	byKey   map[string]*list.Element // of *cachedCompletion
	order   list.List                // most recently used first
	size    int
	refused map[string]bool // by argumentQuery.argumentKey: whether it is a prompt's
	drops   uint64
}

type cachedCompletion struct {
	*completion
	size int
	at   time.Time
}

// get returns what was answered, nil if nothing was.
func (k *completionCache) get(q argumentQuery, now time.Time) (a *completion, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.byKey[q.key()]
	if e == nil {
		return nil, false
	}
	k.order.MoveToFront(e)
	have := e.Value.(*cachedCompletion)
	return have.completion, now.Sub(have.at) < completionAge
}

// narrowed returns what is left for a query of the answer to the longest
// beginning of its value; nil: nothing. It is what there is until the server
// has answered: some find more than what begins with the value.
func (k *completionCache) narrowed(q argumentQuery) *completion {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.order.Len() == 0 {
		return nil
	}
	shorter := q
	for n := len(q.value) - 1; n >= max(0, len(q.value)-maxNarrowed); n-- {
		shorter.value = q.value[:n]
		e := k.byKey[shorter.key()]
		if e == nil {
			continue
		}
		var left []string
		for _, v := range e.Value.(*cachedCompletion).values {
			if strings.HasPrefix(v, q.value) {
				left = append(left, v)
			}
		}
		if left == nil {
			return nil
		}
		return answeredAs(&completion{values: left, more: true})
	}
	return nil
}

// refuses reports whether the server said that it knows no values, whatever was
// typed of one.
func (k *completionCache) refuses(q argumentQuery) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, refused := k.refused[q.argumentKey()]
	return refused
}

// asking returns what to give to put when the answer is there.
func (k *completionCache) asking() (drops uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.drops
}

// put keeps an answer, unless something was dropped since it was asked for.
func (k *completionCache) put(a *completion, refused bool, asked uint64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if asked != k.drops {
		return
	}
	if refused {
		if k.refused == nil {
			k.refused = map[string]bool{}
		}
		if key := a.query.argumentKey(); len(k.refused) < maxRefusals && len(key) <= maxRefusal {
			k.refused[key] = a.query.ref.Prompt != ""
		}
		return
	}
	if e := k.byKey[a.key]; e != nil {
		k.remove(e)
	}
	if k.byKey == nil {
		k.byKey = map[string]*list.Element{}
	}
	size := 2*len(a.key) + 128
	for _, v := range a.values {
		size += len(v) + 16
	}
	kept := *a
	kept.old = nil // or a chain of all answers would stay
	k.byKey[a.key] = k.order.PushFront(&cachedCompletion{&kept, size, now})
	k.size += size
	for k.size > maxCompletionBytes || k.order.Len() > maxCompletions {
		k.remove(k.order.Back())
	}
}

func (k *completionCache) remove(e *list.Element) {
	have := k.order.Remove(e).(*cachedCompletion)
	delete(k.byKey, have.key)
	k.size -= have.size
}

// drop forgets the answers about what was listed, of prompts or of templates:
// their list changed.
func (k *completionCache) drop(prompts bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drops++
	for _, e := range k.byKey {
		if (e.Value.(*cachedCompletion).query.ref.Prompt != "") == prompts {
			k.remove(e)
		}
	}
	maps.DeleteFunc(k.refused, func(_ string, prompt bool) bool { return prompt == prompts })
}
