package mcp

import "runtime"

// turns lets only so many goroutines do long work at a time that a processor
// stays free: twenty lists that come at once would else keep a completion
// waiting behind all of them. Work that waits for nothing is done in turns; nil
// sets no bound.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)-1)) }

func (t turns) do(work func()) {
	if t != nil {
		t <- struct{}{}
		defer func() { <-t }()
	}
	work()
}
