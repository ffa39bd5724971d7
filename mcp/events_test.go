package mcp

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// drain takes all that waits.
func drain(q *events) (out []Event) {
	for {
		e, ok := q.take()
		if !ok {
			return out
		}
		out = append(out, e)
	}
}

func TestEventsAreMergedWhileTheReaderIsBehind(t *testing.T) {
	q := newEvents()
	for i := range 10_000 {
		q.put(Event{Server: "a", Kind: EventLog, Text: fmt.Sprint("line ", i)})
		q.put(Event{Server: "a", Kind: EventUpdated, URI: fmt.Sprint("u:", i)})
		q.put(Event{Server: "b", Kind: EventUpdated, URI: "u:same"})
		q.put(Event{Server: "a", Kind: EventTools, Added: []string{fmt.Sprint("t", i)}, AddedN: 1, RemovedN: 2})
		q.put(Event{Server: "a", Kind: EventProblem, Text: "p"})
	}
	q.put(Event{Server: "a", Kind: EventLost, Err: "first"})
	q.put(Event{Server: "a", Kind: EventRecovered})
	q.put(Event{Server: "a", Kind: EventLost, Err: "second"})
	got := drain(q)
	if len(got) != maxPendingLog+maxPendingUpdated+1+1+maxPendingProblem+2 {
		t.Errorf("%d events", len(got))
	}
	counts, last := map[string]int{}, map[string]Event{}
	for _, e := range got {
		k := e.Server + " " + string(e.Kind)
		counts[k] += 1 + e.Merged
		last[k] = e
	}
	for k, want := range map[string]int{"a log": 10_000, "a updated": 10_000, "b updated": 10_000, "a tools": 10_000, "a problem": 10_000, "a lost": 2, "a recovered": 1} {
		if counts[k] != want {
			t.Errorf("%s stands for %d, want %d", k, counts[k], want)
		}
	}
	if e := last["a log"]; e.Text != "line 9999" || e.Merged != 0 {
		t.Errorf("the last line: %+v", e)
	}
	if e := last["a updated"]; e.URI != "u:9999" {
		t.Errorf("the last update: %+v", e)
	}
	if e := last["a tools"]; e.AddedN != 10_000 || e.RemovedN != 20_000 || !slices.Equal(e.Added, []string{"t0", "t1", "t2"}) {
		t.Errorf("%+v", e)
	}
	if n := len(got); got[n-1].Kind != EventLost || got[n-1].Err != "second" || got[n-2].Kind != EventRecovered {
		t.Errorf("the last state is not last: %+v", got[n-3:])
	}
	if drain(q) != nil || len(q.kinds) != 0 {
		t.Errorf("something is left: %v", q.kinds)
	}
}

func TestEventsCloseWithTheManager(t *testing.T) {
	q := newEvents()
	q.put(Event{Server: "a", Kind: EventReady})
	ctx, cancel := context.WithCancel(t.Context())
	go q.run(ctx)
	if e := <-q.out; e.Kind != EventReady {
		t.Errorf("%+v", e)
	}
	q.put(Event{Server: "a", Kind: EventLost}) // nobody takes it
	cancel()
	for range q.out {
	}
	q.put(Event{Server: "a", Kind: EventLost}) // harmless
}
