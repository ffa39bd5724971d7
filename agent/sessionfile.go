package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// sessionFile is where a session is kept. Who has the session's turn uses it.
type sessionFile struct {
	path   string // empty: it is kept in memory alone
	header sessionHeader

	known  fs.FileInfo // the file as we left it; nil: there was none
	size   int64       // of what we know to be whole
	tail   []byte      // of a file that was loaded: what a crash left behind that
	behind bool        // a write failed: the memory has more

	lock   *sessionLock    // while a run has the session
	writer *sessionWriter  // likewise
	last   <-chan struct{} // closed when the writer of the last run is done; nil: there was none
	late   *fs.FileInfo    // known, once last is closed; nil: known is right
}

// refusedSession is why a run cannot go on with a session, in words that a
// person can act on.
func refusedSession(err error) error {
	if held, ok := errors.AsType[heldError](err); ok {
		return &ProviderError{
			Kind: KindInternal, Retryable: true, Err: err,
			Message: "The session is in use: " + held.Error() + ". Wait until that run has ended or cancel it there, or go on in another session.",
		}
	}
	return &ProviderError{Kind: KindInternal, Err: err, Message: "The session cannot be loaded: " + err.Error() + ". It is kept as it is; go on in another session."}
}

// begin makes the session ready for a run: it is this process' alone, and the
// memory is what the file says. An error is why the run cannot be worked on. A
// disk that cannot be written is told, and the run goes on in memory.
func (s *session) begin(ctx context.Context, tell func(error)) error {
	f := &s.file
	if f.path == "" {
		return nil
	}
	if f.last != nil && !closed(f.last) {
		tell(errSlowDisk) // the run before still hangs in it, and has the lock
		return nil
	}
	f.settle()
	err := f.take()
	if held, ok := errors.AsType[heldError](err); ok {
		return refusedSession(held)
	}
	if loadErr := s.reload(ctx); loadErr != nil {
		f.give()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return refusedSession(loadErr)
	}
	if err == nil {
		err = s.openFile(tell)
	}
	if err != nil {
		f.behind = true
		tell(err)
	}
	return nil
}

// take takes the session for this process, and makes the folder for it.
func (f *sessionFile) take() (err error) {
	for range 2 { // who deletes the last session of a folder removes that too
		if err = os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
			return err
		}
		if f.lock, err = lockSession(f.lockPath()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// give lets other processes take the session.
func (f *sessionFile) give() {
	f.lock.release()
	f.lock = nil
}

// inStep reports whether the file is as we left it.
func (f *sessionFile) inStep(now fs.FileInfo) bool {
	switch {
	case now == nil || f.known == nil:
		return now == nil && f.known == nil
	}
	return os.SameFile(f.known, now) && now.Size() == f.known.Size() && now.ModTime().Equal(f.known.ModTime())
}

// settle takes what a writer left after the end of its run.
func (f *sessionFile) settle() {
	if f.late != nil {
		f.known, f.late = *f.late, nil
	}
}

// reload reads the file when it is not what the memory has: at the first use,
// or because another process used the session meanwhile.
func (s *session) reload(ctx context.Context) error {
	f := &s.file
	now, err := statSession(f.path)
	if err != nil || f.inStep(now) {
		return err
	}
	if now == nil { // another process deleted it
		s.forget()
		return nil
	}
	got, err := loadSession(ctx, f.path, s.key, s.log)
	if err != nil {
		return err
	}
	if f.behind {
		s.log.Warn("a session goes on from what another process wrote; what could not be written here is gone", "file", f.path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said, s.onDisk = got.transcript, true
	s.excerpt = excerpt{} // it is of another history
	f.header, f.known, f.size, f.tail, f.behind = got.header, got.info, got.size, got.tail, false
	return nil
}

// forget empties a session that was cleared or deleted, with what was allowed
// in it, what the model saw and what was left out for it.
func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said, s.onDisk = transcript{}, false
	clear(s.allowed)
	s.excerpt = excerpt{}
	s.known.forget()
	s.offering.forget()
	s.listed.forget()
	s.file = sessionFile{path: s.file.path, lock: s.file.lock, last: s.file.last}
}

// openFile opens the file for the run's records, behind what is whole in it.
func (s *session) openFile(tell func(error)) error {
	f := &s.file
	flags := os.O_RDWR | os.O_CREATE
	if f.known == nil {
		flags |= os.O_EXCL // what came there meanwhile is not ours
	}
	out, err := os.OpenFile(f.path, flags, 0o600)
	if err != nil {
		return err
	}
	info, err := out.Stat()
	if err == nil && f.known != nil && !os.SameFile(f.known, info) {
		err = fmt.Errorf("%s was replaced while it was opened", f.path)
	}
	var first []byte
	switch {
	case err != nil:
	case f.size == 0:
		if f.header.CreatedAt.IsZero() {
			f.header = sessionHeader{Version: sessionVersion, Folder: s.key.folder, Session: s.key.id, CreatedAt: time.Now().UTC().Round(0)}
		}
		first = line(f.header)
	case json.Valid(f.tail):
		first = append(bytes.Clone(f.tail), '\n')
	}
	if err == nil && info.Size() > f.size {
		err = out.Truncate(f.size)
	}
	if err != nil {
		_ = out.Close()
		return err
	}
	f.known, f.tail = info, nil
	f.writer = newSessionWriter(s.disk(out), f.size, tell)
	if len(first) > 0 {
		f.writer.put(first)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onDisk = true
	if f.behind {
		f.behind = false
		s.said.interrupt() // the run before has ended, whatever it left
		for _, r := range s.said.whole() {
			f.writer.put(line(r))
		}
	}
	return nil
}

// written waits until the file has what was said, before something happens
// that it must know of.
func (s *session) written(ctx context.Context) {
	if w := s.file.writer; w != nil {
		w.flush(ctx, sessionWriteWait, 0)
	}
}

// finish lets the session go after a run, whose ctx it is. The file is synced by
// a goroutine that own starts.
func (s *session) finish(ctx context.Context, own func(func())) error {
	f := &s.file
	w, lock := f.writer, f.lock
	f.writer, f.lock = nil, nil
	if w == nil {
		lock.release()
		return nil
	}
	w.flush(ctx, sessionWriteWait, sessionCancelWait)
	w.close()
	var err error
	f.size, err = w.state()
	f.behind = err != nil
	done := make(chan struct{})
	late := new(fs.FileInfo)
	f.last, f.late = done, late
	end := func() { // nothing is written any more: the next process may go on
		<-w.done
		*late, _ = w.out.Stat() // nil: it is loaded again
		lock.release()
		close(done)
	}
	if err == nil {
		end()
		end = func() {}
	}
	own(func() { // ends when the disk has taken it
		end()
		_ = w.out.Sync() // what could not be written is told
		_ = w.out.Close()
	})
	return err
}

// finish lets a session go after a run.
func (s *sessions) finish(ctx context.Context, one *session, own func(func())) {
	kept := one.file.writer != nil
	err := one.finish(ctx, own)
	if kept && err == nil {
		s.mu.Lock()
		s.told = false
		s.mu.Unlock()
	}
}

// tellOnce reports whether it is to be told that sessions cannot be kept.
func (s *sessions) tellOnce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.told
	s.told = true
	return first
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
