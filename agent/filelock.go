package agent

import (
	"context"
	"sync"
)

// fileLocks let one edit of a file follow the other, of whatever run.
type fileLocks struct {
	mu   sync.Mutex
	held map[string]*fileLock // by real path; gone with the last who wants it
}

type fileLock struct {
	turn  chan struct{} // holds a token while somebody edits
	users int
}

// lock waits for a file's turn, until ctx ends.
func (l *fileLocks) lock(ctx context.Context, path string) (unlock func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*fileLock{}
	}
	one := l.held[path]
	if one == nil {
		one = &fileLock{turn: make(chan struct{}, 1)}
		l.held[path] = one
	}
	one.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.held, path)
		}
	}
	select {
	case one.turn <- struct{}{}:
		return func() { <-one.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
