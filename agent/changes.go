package agent

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// changes is what a run changes of files by its own tools.
type changes struct {
	locks *fileLocks
	undo  *undoRun
	step  diskStep

	mu    sync.Mutex
	files []*changedFile // in the order of their first change
}

// edits is what one thread edited. Its zero value is empty. Safe for concurrent
// use.
type edits struct {
	mu    sync.Mutex
	times int
	fresh []found // in the editor, since diagnostics were asked for
}

// changedFile is a file that was, or may have been, changed.
type changedFile struct {
	at    place
	times int
	now   ChangedFile
}

func noStep(string) error { return nil }

// begin takes a change down before it happens: it counts also when nobody
// hears how it ends.
func (c *changes) begin(at place, uri string) *changedFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.files, func(f *changedFile) bool { return f.at.real == at.real })
	if i < 0 {
		i = len(c.files)
		c.files = append(c.files, &changedFile{at: at, now: ChangedFile{URI: uri}})
	}
	c.files[i].times++
	return c.files[i]
}

// end says what came of a change; err means that nothing did, unless it is not
// known.
func (c *changes) end(f *changedFile, done Edited, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		f.now = ChangedFile{URI: done.URI, Saved: done.Saved}
	case errors.Is(err, ErrUnconfirmed):
		f.now.Saved = false
	default:
		if f.times--; f.times == 0 {
			c.files = slices.DeleteFunc(c.files, func(other *changedFile) bool { return other == f })
		}
	}
}

// took adds edits of another thread.
func (e *edits) took(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.times += n
}

// count counts the edits so far.
func (e *edits) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.times
}

// list is the changed of a RunResult.
func (c *changes) list() []ChangedFile {
	out := []ChangedFile{}
	if c == nil {
		return out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.files {
		out = append(out, f.now)
	}
	return out
}

// unsaved names the files that the run changed and that are not on disk yet.
func (c *changes) unsaved() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.files {
		if !f.now.Saved {
			names = append(names, f.at.shown)
		}
	}
	return names
}

// found is a file as an edit finds it.
type found struct {
	diskFile
	path string // under which the editor has it; "": it is not open
	text string // as the editor has it, else as it is on disk
}

func (f found) exists() bool { return f.path != "" || f.info != nil }

// find looks at a file in the editor, else on disk.
func find(at place, host Editor) (f found, err error) {
	for _, path := range []string{at.abs, at.real} {
		if text, ok := host.Document(path); ok {
			return found{diskFile: diskFile{at: at}, path: path, text: text}, nil
		}
	}
	f.diskFile, err = at.look()
	f.text = f.diskFile.text
	return f, err
}

// put makes another text of a file that was found: in the editor where it is
// open there, else on disk. made are directories that it made.
func (f found) put(ctx context.Context, host Editor, e Edit, step diskStep) (done Edited, made []string, err error) {
	if f.path == "" {
		made, err = f.replace(e.After, step)
		return Edited{URI: fileURI(f.at.abs), Text: e.After, Saved: true}, made, err
	}
	e.Path, e.Before = f.path, f.text
	done, err = host.Edit(ctx, e)
	if errors.Is(err, ErrNotOpen) { // it was closed, and what it held is gone or saved
		err = ErrStale
	}
	return done, nil, err
}

// edited is what a tool did to a file.
type edited struct {
	found
	Edited
	after string
	diff  difference
}

// change makes of a file's text what next says, once it is the file's turn.
func (e env) change(ctx context.Context, at place, label string, next func(found) (string, error)) (out edited, err error) {
	unlock, err := e.changes.locks.lock(ctx, at.real)
	if err != nil {
		return out, err
	}
	defer unlock()
	if out.found, err = find(at, e.host); err != nil {
		return out, err
	}
	if out.after, err = next(out.found); err != nil {
		return out, err
	}
	if out.exists() && out.after == out.found.text {
		return out, nil
	}
	if len(out.after) > maxFile {
		return out, fmt.Errorf("%q would have %d bytes, at most %d are written", at.shown, len(out.after), maxFile)
	}
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	f := e.changes.begin(at, fileURI(at.abs))
	e.changes.undo.before(out.found, out.after)
	var made []string
	out.Edited, made, err = out.put(ctx, e.host, Edit{After: out.after, Label: label + " " + at.shown, Asked: e.asked}, e.changes.step)
	e.changes.end(f, out.Edited, err)
	if err != nil {
		return out, refusal(at, err)
	}
	e.changes.undo.after(at, out.Edited.Text, made)
	e.known.note(at, out.known())
	e.edits.edited(out.found)
	e.deeds.edited(at, out.found.text, out.Edited.Text)
	out.diff = differ(out.found.text, out.after)
	if e.changed != nil && !e.asked {
		made := compare(at, out.found.text, out.after)
		made.URI = out.URI // as the front end spells it
		e.changed(Change{Preview: made, Open: out.path != ""})
	}
	return out, nil
}

// known is the text that the model has seen: what it wrote, less than what the
// editor made of it.
func (out edited) known() string {
	if strings.TrimRight(out.Edited.Text, "\r\n") == strings.TrimRight(out.after, "\r\n") {
		return out.Edited.Text
	}
	return out.after
}

// refusal words for the model why a file was not changed, or may not have been.
func refusal(at place, err error) error {
	switch {
	case errors.Is(err, ErrUnconfirmed):
		return fmt.Errorf("it is unknown whether %q was changed: %w. Read it before you go on", at.shown, err)
	case errors.Is(err, ErrStale):
		return fmt.Errorf("%q changed meanwhile; nothing was written. Read it again", at.shown)
	}
	return err
}

// unchanged refuses a file that is not as the conversation has seen it last.
func (e env) unchanged(f found) (seen bool, err error) {
	seen, same := e.known.holds(f.at, f.text)
	if seen && !same {
		return seen, fmt.Errorf("%q changed since it was read; read it again. Nothing was changed", f.at.shown)
	}
	return seen, nil
}

// state says where an edit stands, for the model.
func (out edited) state() string {
	var notes []string
	if out.path != "" && out.Saved {
		notes = append(notes, "The editor has it open and saved it.")
	} else if out.path != "" {
		notes = append(notes, "The editor has it open; it is not saved to disk yet.")
	}
	if out.known() != out.Edited.Text {
		notes = append(notes, "The editor changed the text further: read it before the next edit.")
	}
	return strings.Join(append([]string{""}, notes...), " ")
}

// fileURI is a path as a URI.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
