package agent

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxSessions is how many sessions are kept in memory; beyond it the one that
// was idle longest is forgotten.
const maxSessions = 256

// ValidID reports whether a text can name a session or a run: 1 to 128
// printable characters.
func ValidID(id string) bool {
	n := utf8.RuneCountInString(id)
	return n > 0 && n <= 128 && utf8.ValidString(id) && !strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) })
}

// sessionKey names a session: the same id in another folder is another one.
type sessionKey struct{ folder, id string }

// session is a dialogue: its transcript and what was allowed in it.
type session struct {
	// turn holds a token while a run works on the session. Go serves senders
	// in the order they came, so prompts do not overtake each other.
	turn    chan struct{}
	excerpt excerpt // what of the history fits into a request; of the run that has the turn
	key     sessionKey
	log     *slog.Logger
	disk    func(*os.File) sessionOutput
	file    sessionFile // of who has the turn

	mu     sync.Mutex // guards what follows, up to users
	said   transcript
	onDisk bool // there is a file of it, or was until another process deleted it
	// allowed is what "session" covers, and the definition it was given for. It
	// is in memory alone: a process that starts again asks again.
	allowed map[allowance]string

	known    known    // what was seen of files
	offering offering // what is offered of the servers' tools
	listed   listed   // what was told of the servers' resources

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

// change is the one way to change a session's history.
func (s *session) change(r record) {
	if r.Type != recordText && r.Type != recordStep {
		r.At = time.Now().UTC().Round(0)
	}
	r.Text = validText(r.Text)
	if r.Message != nil {
		m := r.Message.valid()
		r.Message = &m
	}
	if r.Summary != nil {
		s := r.Summary.valid()
		r.Summary = &s
	}
	for i := range r.Entries {
		r.Entries[i].Message = r.Entries[i].valid()
		if r.Entries[i].At.IsZero() {
			r.Entries[i].At = r.At
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Type == recordRun {
		r.Turn = s.said.turns + 1
	}
	s.said.apply(r)
	if w := s.file.writer; w != nil {
		w.put(line(r))
	}
}

// ask begins a run: its prompt as typed, a title made of it, and what the model
// gets of it for now.
func (s *session) ask(runID, title, typed, words string) {
	s.change(record{Type: recordRun, RunID: runID, Title: title, Text: typed, Message: &Message{Role: User, Text: words}})
}

// expand puts the expanded messages, one at least, in the place of the run's
// prompt, and what is typed by now: so many steers are part of it.
func (s *session) expand(typed string, steers int, messages []Message) {
	r := record{Type: recordPrompt, Text: typed, Steers: steers, Message: &messages[0]}
	for _, m := range messages[1:] {
		r.Entries = append(r.Entries, entry{Message: m})
	}
	s.change(r)
}

// steer takes what a person adds, until a message has it. Never blocks.
func (s *session) steer(text string) { s.change(record{Type: recordSteer, Text: text}) }

// step begins an answer of the model, of which stream gives the pieces.
func (s *session) step()              { s.change(record{Type: recordStep}) }
func (s *session) stream(text string) { s.change(record{Type: recordText, Text: text}) }

// streamed is what came so far of an answer that is in no message.
func (s *session) streamed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.said.partial)
}

// add appends messages, an answer with calls never: that comes by call.
func (s *session) add(messages ...Message) { s.join(0, messages) }

// join is add for messages that have so many of what a person added.
func (s *session) join(steers int, messages []Message) {
	entries := make([]entry, len(messages))
	for i, m := range messages {
		entries[i].Message = m
	}
	s.change(record{Type: recordAdd, Steers: steers, Entries: entries})
}

// call takes an answer that asks for calls, before they run. It is part of the
// history with all results: result takes one, also beside others, and settle
// follows the last, with a note for the model if there is something to say.
func (s *session) call(text string, calls []ToolCall) {
	s.change(record{Type: recordCalls, Message: &Message{Role: Assistant, Text: text, ToolCalls: calls}})
}

func (s *session) result(callID string, res callResult) {
	s.change(record{Type: recordResult, Message: &Message{Role: ToolRole, ToolCallID: callID, Text: res.text, Images: res.images, Stored: res.stored}})
}

func (s *session) settle(note string) { s.change(record{Type: recordSettle, Text: note}) }

// end ends the run.
func (s *session) end(status, stopReason string, used Usage) {
	s.mu.Lock()
	turn := s.said.turns
	s.mu.Unlock()
	s.change(record{Type: recordEnd, Turn: turn, Status: status, StopReason: stopReason, Usage: &used})
}

// messages is the history of the run that has the turn, for the model.
func (s *session) messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.messages()
}

// sessions holds the sessions of this process.
type sessions struct {
	dir string // where their files are; empty: they are kept in memory alone
	log *slog.Logger
	// disk is what is written to a file by; tests have disks of their own.
	disk func(*os.File) sessionOutput

	mu   sync.Mutex
	all  map[sessionKey]*session
	told bool // that they cannot be kept, since they last could
}

func newSessions(dir string, log *slog.Logger) sessions {
	return sessions{dir: dir, log: log, disk: func(f *os.File) sessionOutput { return f }}
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
		one = &session{
			turn: make(chan struct{}, 1), key: key, log: s.log, disk: s.disk, file: sessionFile{path: s.path(key)},
			allowed: map[allowance]string{},
		}
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

// forget makes room for one more session. What could not be written goes last.
func (s *sessions) forget() {
	if len(s.all) < maxSessions {
		return
	}
	var oldest sessionKey
	var found *session
	for k, one := range s.all {
		switch {
		case one.users > 0:
		case found == nil, found.file.behind && !one.file.behind,
			found.file.behind == one.file.behind && one.idle.Before(found.idle):
			oldest, found = k, one
		}
	}
	if found != nil {
		delete(s.all, oldest)
	}
}
