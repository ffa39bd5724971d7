package lsp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"agentls/agent"
)

const (
	previewTime = time.Second    // for a client to show one before the question is put without it
	previewAge  = 24 * time.Hour // when what a process left behind is removed
)

// previews keeps the diffs that are too long for a question as files that the
// client can show: <state>/previews/<session>-<time>.diff, the last one of each
// session. Each has a name of its own: editors that have a file open show
// what it was, and a person would allow another change than the one they see.
type previews struct {
	s    *Server
	wait time.Duration // for a client to show one

	mu    sync.Mutex
	swept bool
	last  map[string]string // by session: its file
	deaf  bool              // the client did not answer when the last one was shown
}

func newPreviews(s *Server) *previews {
	return &previews{s: s, wait: previewTime, last: make(map[string]string)}
}

// show lets the client show changes beside what it shows, without focus, and
// says for a person where they are. A client that does not answer may show them
// yet: Neovim is deaf for a while after a choice in Visual mode.
func (p *previews) show(ctx context.Context, session string, changes ...agent.Preview) (where string) {
	var text strings.Builder
	for _, c := range changes {
		text.WriteString(strings.TrimSuffix(c.Diff, "\n") + "\n")
	}
	return p.put(ctx, session, ".diff", "The change", text.String())
}

// showText lets the client show a text as show does; key stands for the session.
func (p *previews) showText(ctx context.Context, key, text string) (where string) {
	return p.put(ctx, key, ".txt", "The whole text", text)
}

// put shows a document of what it is called for a person.
func (p *previews) put(ctx context.Context, session, extension, what, text string) (where string) {
	file, err := p.write(session, extension, text)
	if err != nil {
		p.s.o.Log.Warn("what a question is about cannot be shown", "error", err)
		return what + " cannot be shown: " + p.s.tell(err.Error()) + "; what waits is among agentls.approvals"
	}
	p.mu.Lock()
	wait := p.wait
	if p.deaf {
		wait /= 10
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errSlowToShow)
	defer cancel()
	err = p.s.showDocument(ctx, file, false, nil)
	p.mu.Lock()
	p.deaf = errors.Is(err, errSlowToShow)
	p.mu.Unlock()
	if err != nil {
		p.s.o.Log.Info("the client did not show what a question is about", "file", file, "error", err)
		return what + " is in " + file
	}
	return what + " is shown in " + filepath.Base(file)
}

// write makes a document, and removes the session's one before.
func (p *previews) write(session, extension, text string) (file string, err error) {
	sum := sha256.Sum256([]byte(session))
	dir := filepath.Join(p.s.o.StateDir, "previews")
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	p.sweep(dir)
	name := fmt.Sprintf("%s-%s-*%s", hex.EncodeToString(sum[:4]), time.Now().Format("150405"), extension)
	f, err := os.CreateTemp(dir, name) // 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name()) // half a change is none
		return "", err
	}
	if before := p.last[session]; before != "" {
		_ = os.Remove(before) // it may be gone
	}
	p.last[session] = f.Name()
	return f.Name(), nil
}

// sweep removes once what processes before left. p.mu is held.
func (p *previews) sweep(dir string) {
	if p.swept {
		return
	}
	p.swept = true
	old, _ := filepath.Glob(filepath.Join(dir, "*.diff")) // the patterns are good
	texts, _ := filepath.Glob(filepath.Join(dir, "*-*-*.txt"))
	for _, file := range append(old, texts...) {
		if info, err := os.Lstat(file); err == nil && time.Since(info.ModTime()) > previewAge {
			_ = os.Remove(file)
		}
	}
}

// close removes the documents of this process.
func (p *previews) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, file := range p.last {
		_ = os.Remove(file) // it may be gone
	}
	clear(p.last)
}
