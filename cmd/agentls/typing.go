package main

import "sync"

// typing are the reads of the terminal that are under way. None can be called
// off: one whose question is gone is taken over by the next question, which
// would not get its line otherwise.
type typing struct {
	mu    sync.Mutex
	reads int
	lines chan typed // made with the first read
}

// typed is a line with its end; without one: the end of the input.
type typed struct {
	line string
	err  error
}

// next gives where the next line comes. What was typed before is dropped: it was
// for a question that is gone. read starts unless one is under way already, or
// always.
func (t *typing) next(always bool, read func() typed) <-chan typed {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines == nil {
		t.lines = make(chan typed, 1)
	}
	select {
	case <-t.lines:
	default:
	}
	if t.reads == 0 || always {
		t.reads++
		go func() { // ends with the next line, or with the process
			got := read()
			t.mu.Lock()
			defer t.mu.Unlock()
			t.reads--
			select {
			case t.lines <- got:
			default:
			}
		}()
	}
	return t.lines
}
