package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// What looks at a lock, or changes a session by a command, holds it for less.
const sessionLockWait = 200 * time.Millisecond

// holder is the process that works on a session, as its lock file says.
type holder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// heldError is a session that another process works on.
type heldError struct{ holder }

func (e heldError) Error() string {
	if e.PID == 0 {
		return "another agentls process works on this session"
	}
	return fmt.Sprintf("another agentls process (%d) works on this session since %s", e.PID, e.Since.Local().Format("15:04:05"))
}

// sessionLock is held by the process that works on a session. The system lets
// it go when the process ends, however it does.
type sessionLock struct {
	path string
	l    *flock.Flock
}

// lockSession takes the lock, or fails with a heldError soon.
func lockSession(path string) (*sessionLock, error) {
	for deadline := time.Now().Add(sessionLockWait); ; time.Sleep(5 * time.Millisecond) {
		l := flock.New(path)
		ok, err := l.TryLock()
		switch {
		case err != nil:
			_ = l.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		case ok && current(l, path):
			// For who is refused. Where a lock forbids to write, it is not said.
			_ = os.WriteFile(path, marshal(holder{os.Getpid(), time.Now().UTC().Truncate(time.Second)}), 0o600)
			return &sessionLock{path, l}, nil
		}
		_ = l.Close()
		if time.Now().After(deadline) {
			var e heldError
			if data, err := os.ReadFile(path); err == nil {
				_ = json.Unmarshal(data, &e.holder) // it may say nothing
			}
			return nil, e
		}
	}
}

// current reports whether the file that was locked is still the one at path: a
// session may have been deleted, and its lock with it, under our hands.
func current(l *flock.Flock, path string) bool {
	ours, err1 := l.Stat()
	there, err2 := os.Lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(ours, there)
}

func (l *sessionLock) release() {
	if l != nil {
		_ = l.l.Close() // the file says nothing that could be lost
	}
}

// remove removes the lock and its file.
func (l *sessionLock) remove() error {
	err := os.Remove(l.path)
	l.release()
	if err != nil { // some systems remove no file that is open
		err = os.Remove(l.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sessionHeld reports whether a process has the lock.
func sessionHeld(path string) bool {
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := l.TryRLock()
	_ = l.Close()
	return err == nil && !ok
}
