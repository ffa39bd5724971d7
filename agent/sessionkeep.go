package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Errors of what is done to sessions by a command.
var (
	ErrNoSession   = errors.New("there is no such session in this folder")
	ErrSessionBusy = errors.New("a run works on this session")
)

// The bounds of what is shown of a session.
const (
	shownMessages = 1000
	shownBytes    = 1 << 20
	shownText     = 64 << 10 // of one message
)

// SessionText is a session to be read by a person (CONTRACT §4,
// agentls.session.show).
type SessionText struct {
	SessionInfo
	Messages []SessionMessage `json:"messages"`
	// Omitted counts the oldest messages, that did not fit.
	Omitted int    `json:"omitted,omitempty"`
	Note    string `json:"note,omitempty"` // says so in words
}

// SessionMessage is one message of a session.
type SessionMessage struct {
	Role       Role       `json:"role"`
	Text       string     `json:"text"` // a prompt as it was typed
	ToolCalls  []ToolCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
	RunID      string     `json:"runId,omitempty"`  // of a prompt
	Images     int        `json:"images,omitempty"` // how many
	Time       time.Time  `json:"time"`
}

// ShowSession reads a session, also one that a run works on.
func (a *Agent) ShowSession(ctx context.Context, folders []string, id string) (SessionText, error) {
	key, err := a.sessions.find(folders, id)
	if err != nil {
		return SessionText{}, err
	}
	t, header, err := a.sessions.look(ctx, key)
	if err != nil {
		return SessionText{}, err
	}
	out := SessionText{SessionInfo: t.info(key), Messages: []SessionMessage{}}
	if !header.CreatedAt.IsZero() {
		out.CreatedAt = header.CreatedAt
	}
	if t.running && !a.sessions.held(key) {
		out.Status = sessionInterrupted
	}
	t.interrupt()
	room := shownBytes
	for i, e := range slices.Backward(t.entries) {
		m := e.shown()
		if room -= len(m.Text); room < 0 || len(out.Messages) == shownMessages {
			out.Omitted = i + 1
			out.Note = fmt.Sprintf("the %d oldest messages are not shown", out.Omitted)
			break
		}
		out.Messages = append(out.Messages, m)
	}
	slices.Reverse(out.Messages)
	return out, nil
}

// shown is an entry for a person.
func (e entry) shown() SessionMessage {
	text := e.Text
	if e.RunID != "" && e.Asked != "" {
		text = e.Asked
	}
	m := SessionMessage{
		Role: e.Role, Text: truncate(text, shownText), ToolCalls: slices.Clone(e.ToolCalls), ToolCallID: e.ToolCallID,
		RunID: e.RunID, Images: len(e.Images), Time: e.At,
	}
	for i, c := range m.ToolCalls {
		m.ToolCalls[i].Arguments = truncate(c.Arguments, shownText/16)
	}
	return m
}

// ForkSession makes a new session of what is there of one, also of one that a
// run works on, and returns its id. What was allowed for the session is not
// allowed in the new one.
func (a *Agent) ForkSession(ctx context.Context, folders []string, id string) (string, error) {
	key, err := a.sessions.find(folders, id)
	if err != nil {
		return "", err
	}
	t, _, err := a.sessions.look(ctx, key)
	if err != nil {
		return "", err
	}
	t.interrupt()
	to := sessionKey{key.folder, randomID()}
	a.results.of(key).copyTo(a.results.of(to))
	whole := t.whole()
	now := time.Now().UTC().Round(0)
	whole[len(whole)-1].At = now
	if t.last != nil && t.last.Turn == t.turns {
		whole = append(whole, *t.last)
		whole[len(whole)-1].At = now
	}
	if path := a.sessions.path(to); path != "" {
		text := line(sessionHeader{Version: sessionVersion, Folder: to.folder, Session: to.id, CreatedAt: now, ForkedFrom: key.id})
		text = append(text, line(record{Type: recordAnew, Title: t.title})...) // near the start, for a glance
		for _, r := range whole {
			text = append(text, line(r)...)
		}
		return to.id, ReplaceFile(path, text)
	}
	one := a.sessions.enter(to)
	defer a.sessions.leave(one)
	for _, r := range whole {
		one.change(r)
	}
	return to.id, nil
}

// ClearSession empties a session, on disk too: its history and what was allowed
// in it are gone, its id goes on.
func (a *Agent) ClearSession(folders []string, id string) error {
	return a.sessions.alone(folders, id, func(one *session) error {
		if err := a.results.of(one.key).remove(); err != nil {
			return err
		}
		info, err := glanceSession(one.file.path)
		switch {
		case one.file.path == "" || isMissing(err):
			one.forget()
			return nil
		case err != nil:
			return err
		}
		header := sessionHeader{Version: sessionVersion, Folder: one.key.folder, Session: one.key.id, CreatedAt: info.CreatedAt}
		if err := ReplaceFile(one.file.path, line(header)); err != nil {
			return err
		}
		one.forget()
		return nil
	})
}

// DeleteSession removes a session with all that is kept of it.
func (a *Agent) DeleteSession(folders []string, id string) error {
	return a.sessions.alone(folders, id, func(one *session) error {
		if err := a.results.of(one.key).remove(); err != nil {
			return err
		}
		f := &one.file
		if f.path != "" {
			if err := os.Remove(f.path); err != nil && !isMissing(err) {
				return err
			}
			if err := f.lock.remove(); err != nil {
				return err
			}
			f.lock = nil
			_ = os.Remove(filepath.Dir(f.path)) // once it is empty
		}
		one.forget()
		return nil
	})
}

// SessionFolder is the first of the folders that has a session, else the first
// of all; "" for none. Folders come and go, and a session is found again in its
// own.
func (a *Agent) SessionFolder(folders []string, id string) string {
	if key, err := a.sessions.find(folders, id); err == nil {
		return key.folder
	}
	if len(folders) > 0 {
		return folders[0]
	}
	return ""
}

// find returns the session with an id in the first of the folders that has it.
func (s *sessions) find(folders []string, id string) (sessionKey, error) {
	for _, folder := range folders {
		key := sessionKey{folder, id}
		if path := s.path(key); path != "" && stands(path) {
			return key, nil
		}
		s.mu.Lock()
		one := s.all[key]
		s.mu.Unlock()
		if one == nil {
			continue
		}
		one.mu.Lock()
		ok := one.inMemory()
		one.mu.Unlock()
		if ok {
			return key, nil
		}
	}
	return sessionKey{}, ErrNoSession
}

// stands reports whether there is something at a path.
func stands(path string) bool {
	info, err := statSession(path)
	return info != nil || err != nil
}

// held reports whether a run works on a session, here or in another process.
func (s *sessions) held(key sessionKey) bool {
	s.mu.Lock()
	one := s.all[key]
	s.mu.Unlock()
	if one != nil && len(one.turn) > 0 {
		return true
	}
	return s.dir != "" && sessionHeld((&sessionFile{path: s.path(key)}).lockPath())
}

// look gives a copy of what a session says now: what is in memory while a run
// works on it here or where there is no file, else what the file says.
func (s *sessions) look(ctx context.Context, key sessionKey) (t transcript, h sessionHeader, err error) {
	one := s.enter(key)
	defer s.leave(one)
	idle, err := one.acquireIdle(ctx)
	if err != nil {
		return t, h, err
	}
	if idle {
		defer one.release()
		if one.file.path != "" {
			if err := one.lookAgain(ctx); err != nil {
				return t, h, err
			}
		}
		h = one.file.header
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	t = one.said
	t.entries = slices.Clone(t.entries)
	t.partial = slices.Clone(t.partial)
	if t.round != nil {
		t.round = &round{t.round.answer, maps.Clone(t.round.results)}
	}
	return t, h, nil
}

// acquireIdle takes the turn unless a run works on the session: then the memory
// is what it says. Who looks at it holds the turn too, and until it is loaded
// the memory says nothing: that is waited for.
func (s *session) acquireIdle(ctx context.Context) (ok bool, err error) {
	for {
		select {
		case s.turn <- struct{}{}:
			return true, nil
		default:
		}
		s.mu.Lock()
		running := s.said.running
		s.mu.Unlock()
		if running {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lookAgain is reload where no run works on the session here: what a writer
// still hangs in is in memory.
func (s *session) lookAgain(ctx context.Context) error {
	if s.file.last != nil && !closed(s.file.last) {
		return nil
	}
	s.file.settle()
	return s.reload(ctx)
}

// alone does something to a session that no run works on, here or elsewhere.
func (s *sessions) alone(folders []string, id string, do func(*session) error) error {
	key, err := s.find(folders, id)
	if err != nil {
		return err
	}
	one := s.enter(key)
	defer s.leave(one)
	select {
	case one.turn <- struct{}{}:
		defer one.release()
	default:
		return ErrSessionBusy
	}
	f := &one.file
	if f.path == "" {
		return do(one)
	}
	if err := f.take(); err != nil {
		if held, ok := errors.AsType[heldError](err); ok {
			return fmt.Errorf("%w: %w", ErrSessionBusy, held)
		}
		return err
	}
	defer f.give()
	return do(one)
}
