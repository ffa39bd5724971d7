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

// fileKind is where files of a kind are, under <state>, and how they are called.
type fileKind struct{ dir, prefix, suffix string } // without a prefix: <session>-<time>-

// The kinds of files that questions have.
//
//nolint:gochecknoglobals // constants
var (
	diffFile = fileKind{dir: "previews", suffix: ".diff"}
	textFile = fileKind{dir: "previews", suffix: ".txt"}
	formFile = fileKind{dir: "forms", prefix: "form-", suffix: ".jsonc"}
	planFile = fileKind{dir: "plans", suffix: ".md"}
)

// pattern matches the names of a kind.
func (k fileKind) pattern() string {
	if k.prefix != "" {
		return k.prefix + "*" + k.suffix
	}
	return "*-*-*" + k.suffix
}

// previews keeps what is too long for a question as files that the client can
// show: <state>/previews/<session>-<time>.diff and their like, 0600, the last
// one of each kind and key. Each has a name of its own: editors that have a
// file open show what it was, and a person would allow another change than the
// one they see.
type previews struct {
	s    *Server
	wait time.Duration // for a client to show one

	mu    sync.Mutex
	swept map[fileKind]bool
	last  map[previewKey]string // its file
	deaf  bool                  // the client did not answer when the last one was shown
}

// previewKey is what there is one file of: in a kind, of a session or the like.
type previewKey struct {
	kind fileKind
	key  string
}

func newPreviews(s *Server) *previews {
	return &previews{s: s, wait: previewTime, swept: map[fileKind]bool{}, last: map[previewKey]string{}}
}

// show lets the client show changes beside what it shows, without focus, and
// says for a person where they are. A client that does not answer may show them
// yet: Neovim is deaf for a while after a choice in Visual mode.
func (p *previews) show(ctx context.Context, session string, changes ...agent.Preview) (where string) {
	var text strings.Builder
	for _, c := range changes {
		text.WriteString(strings.TrimSuffix(c.Diff, "\n") + "\n")
	}
	return p.put(ctx, diffFile, session, "The change", text.String())
}

// showText lets the client show a text as show does; key stands for the session.
func (p *previews) showText(ctx context.Context, key, text string) (where string) {
	return p.put(ctx, textFile, key, "The whole text", text)
}

// put shows a document of what it is called for a person.
func (p *previews) put(ctx context.Context, kind fileKind, key, what, text string) (where string) {
	file, err := p.write(kind, key, text)
	if err != nil {
		return p.unshown(what, err)
	}
	return p.present(ctx, what, file)
}

// unshown says for a person that a document could not be made.
func (p *previews) unshown(what string, err error) string {
	p.s.o.Log.Warn("what a question is about cannot be shown", "error", err)
	return what + " cannot be shown: " + p.s.tell(err.Error()) + "; what waits is among agentls.approvals"
}

// present shows a document that is there, without focus.
func (p *previews) present(ctx context.Context, what, file string) (where string) {
	p.mu.Lock()
	wait := p.wait
	if p.deaf {
		wait /= 10
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errSlowToShow)
	defer cancel()
	err := p.s.showDocument(ctx, file, false, nil)
	p.mu.Lock()
	p.deaf = errors.Is(err, errSlowToShow)
	p.mu.Unlock()
	if err != nil {
		p.s.o.Log.Info("the client did not show what a question is about", "file", file, "error", err)
		return what + " is in " + file
	}
	return what + " is shown in " + filepath.Base(file)
}

// write makes a document, and removes the one before of its kind and key.
func (p *previews) write(kind fileKind, key, text string) (file string, err error) {
	dir := filepath.Join(p.s.o.StateDir, kind.dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	p.sweep(kind, dir)
	prefix := kind.prefix
	if prefix == "" {
		sum := sha256.Sum256([]byte(key))
		prefix = fmt.Sprintf("%s-%s-", hex.EncodeToString(sum[:4]), time.Now().Format("150405"))
	}
	f, err := os.CreateTemp(dir, prefix+"*"+kind.suffix) // 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name()) // half a change is none
		return "", err
	}
	at := previewKey{kind, key}
	if before := p.last[at]; before != "" {
		_ = os.Remove(before) // it may be gone
	}
	p.last[at] = f.Name()
	return f.Name(), nil
}

// remove takes a document away before the process ends.
func (p *previews) remove(kind fileKind, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := previewKey{kind, key}
	_ = os.Remove(p.last[at]) // it may be gone
	delete(p.last, at)
}

// sweep removes once what processes before left. p.mu is held.
func (p *previews) sweep(kind fileKind, dir string) {
	if p.swept[kind] {
		return
	}
	p.swept[kind] = true
	old, _ := filepath.Glob(filepath.Join(dir, kind.pattern())) // the patterns are good
	for _, file := range old {
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
