package agent

import (
	"context"
	"sync"
	"time"
)

// maxSessions is how many sessions are kept in memory; beyond it the one that
// was idle longest is forgotten.
const maxSessions = 256

// sessionKey names a session: the same id in another folder is another one.
type sessionKey struct{ folder, id string }

// session is a dialogue: its history and what was allowed in it.
type session struct {
	// turn holds a token while a run works on the session. Go serves senders
	// in the order they came, so prompts do not overtake each other.
	turn    chan struct{}
	history []Message // of the run that has the turn

	mu      sync.Mutex           // guards allowed
	allowed map[allowance]string // what "session" covers, and the definition it was given for

	users int       // runs that hold or wait for the turn; guarded by sessions.mu
	idle  time.Time // when the last one left; guarded by sessions.mu
}

// acquire waits for the session's turn.
func (s *session) acquire(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *session) release() { <-s.turn }

// add appends messages in one step: an answer with calls comes with all their
// results.
func (s *session) add(m ...Message) { s.history = append(s.history, m...) }

// sessions holds the sessions of this process.
type sessions struct {
	mu  sync.Mutex
	all map[sessionKey]*session
}

// enter returns the session of a task, made when new; leave must follow.
func (s *sessions) enter(key sessionKey) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.all[key]
	if !ok {
		if s.all == nil {
			s.all = map[sessionKey]*session{}
		}
		s.forget()
		one = &session{turn: make(chan struct{}, 1), allowed: map[allowance]string{}}
		s.all[key] = one
	}
	one.users++
	return one
}

func (s *sessions) leave(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.users--
	one.idle = time.Now()
}

// forget makes room for one more session.
func (s *sessions) forget() {
	if len(s.all) < maxSessions {
		return
	}
	var oldest sessionKey
	var found *session
	for k, one := range s.all {
		if one.users == 0 && (found == nil || one.idle.Before(found.idle)) {
			oldest, found = k, one
		}
	}
	if found != nil {
		delete(s.all, oldest)
	}
}
