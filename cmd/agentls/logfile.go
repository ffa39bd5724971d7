package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"

	"agentls/mcp"
)

// The size of one log file and how many are kept (CONTRACT §1).
const (
	logBytes = 10 << 20
	logFiles = 5
)

// logFile appends to <state>/log/agentls.log, which several processes share:
// writes append whole lines, and whoever finds the file full rotates it under
// a lock. It never fails its caller: a full disk must not end a run.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.full() {
		l.reopen()
	}
	if l.file != nil {
		_, _ = l.file.Write(p)
	}
	return len(p), nil
}

// full reports whether the file at the path is due for rotation, or is not
// ours any more because another process rotated it.
func (l *logFile) full() bool {
	ours, err1 := l.file.Stat()
	there, err2 := os.Stat(l.path)
	return err1 != nil || err2 != nil || !os.SameFile(ours, there) || ours.Size() >= logBytes
}

func (l *logFile) reopen() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
	if os.MkdirAll(filepath.Dir(l.path), 0o700) != nil {
		return
	}
	lock := flock.New(l.path+".lock", flock.SetPermissions(0o600))
	if lock.Lock() == nil {
		defer func() { _ = lock.Close() }()
	}
	if info, err := os.Stat(l.path); err == nil && info.Size() >= logBytes {
		for i := logFiles - 1; i > 0; i-- {
			_ = os.Rename(numbered(l.path, i-1), numbered(l.path, i))
		}
	}
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		l.file = f
	}
}

func numbered(path string, i int) string {
	if i == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, i)
}

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// redacting is a writer that lets no secret through. Each Write is one record.
type redacting struct {
	w       io.Writer
	secrets *mcp.Secrets
}

func (r redacting) Write(p []byte) (int, error) {
	if _, err := io.WriteString(r.w, r.secrets.Redact(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// newLog logs to stderr from warning up and to the file from info up.
func newLog(stderr io.Writer, file io.Writer, secrets *mcp.Secrets) *slog.Logger {
	handler := func(w io.Writer, level slog.Level) slog.Handler {
		return slog.NewTextHandler(redacting{w, secrets}, &slog.HandlerOptions{Level: level})
	}
	return slog.New(slog.NewMultiHandler(handler(stderr, slog.LevelWarn), handler(file, slog.LevelInfo))).With("pid", os.Getpid())
}
