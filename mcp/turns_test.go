package mcp

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestLongWorkIsDoneInTurns(t *testing.T) {
	t.Parallel()
	turns := make(turns, 2)
	var now, most, done atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			defer func() { _ = recover() }()
			turns.do(func() {
				defer done.Add(1)
				n := now.Add(1)
				defer now.Add(-1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				if done.Load()%7 == 0 {
					panic("the turn is given back")
				}
			})
		})
	}
	wg.Wait()
	if done.Load() != 50 || most.Load() > 2 || len(turns) != 0 {
		t.Errorf("%d done, %d at a time, %d turns are not given back", done.Load(), most.Load(), len(turns))
	}
	if cap(newTurns()) < 1 {
		t.Error("nothing would ever be done")
	}
	turns = nil
	ran := false
	if turns.do(func() { ran = true }); !ran {
		t.Error("without a bound nothing is done")
	}
}
