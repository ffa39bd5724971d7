package lsp

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxMoved bounds the renames that documents are followed over, maxClosed
	// the documents of which it is remembered that they were open.
	maxMoved  = 1000
	maxClosed = 64
	// renameWithin is how long after its didClose a document may come back under
	// another name: editors close it, open it again and then tell of the rename.
	renameWithin = time.Second
	// maxRenamed bounds the prompt buffers that are looked for in a folder that
	// was renamed.
	maxRenamed = 10_000
)

// renamed follows a file or a folder to its new name. What is open there, or
// was before the editor closed it for the rename, is found under both names
// from then on; prompt buffers keep their sessions.
func (s *Server) renamed(from, to string) {
	fromKey, fromPath := canonical(from)
	toKey, toPath := canonical(to)
	if fromKey == toKey {
		return
	}
	done := map[string]bool{}
	for _, rest := range s.docs.renamed(fromKey, toKey) {
		oldURI, newURI := fromKey+rest, toKey+rest
		_, oldPath := canonical(oldURI)
		if isPromptBuffer(document{uri: oldURI, path: oldPath}) || s.docs.isPrompt(oldURI) {
			s.buffers.move(s, oldURI, oldPath, newURI)
		}
		done[newURI] = true
	}
	if !strings.HasSuffix(fromPath, promptExtension) { // it may be a folder
		s.inBackground("renamed prompt buffers", func(ctx context.Context) { s.moveBuffersBelow(ctx, fromPath, toPath, done) })
	}
}

// moveBuffersBelow lets the prompt buffers in a folder that was renamed keep
// their sessions, also those that are not open. done are those that do.
func (s *Server) moveBuffersBelow(ctx context.Context, from, to string, done map[string]bool) {
	seen := 0
	_ = filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error { // what cannot be read has none
		if seen++; ctx.Err() != nil || seen > 20*maxRenamed {
			return filepath.SkipAll
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(d.Name(), promptExtension) {
			return nil //nolint:nilerr // the rest is looked at
		}
		if rel, err := filepath.Rel(to, path); err == nil {
			old := filepath.Join(from, rel)
			oldKey, _ := canonical(fileURI(old))
			if newKey, _ := canonical(fileURI(path)); !done[newKey] {
				s.buffers.move(s, oldKey, old, newKey)
			}
		}
		return nil
	})
}

// renamed notes a rename and gives what follows from's key in those of the
// documents that it concerns: "" for the file itself, "/…" below a folder.
func (d *documents) renamed(from, to string) (concerned []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	concerned = []string{""}
	below := func(key string) {
		if rest, ok := strings.CutPrefix(key, from+"/"); ok && !slices.Contains(concerned, "/"+rest) {
			concerned = append(concerned, "/"+rest)
		}
	}
	for key := range d.open {
		below(key)
	}
	for _, c := range d.closed {
		below(c.uri)
	}
	for _, rest := range concerned {
		if len(d.moved) >= maxMoved {
			clear(d.moved) // a rename back and forth for days
		}
		delete(d.moved, to+rest)
		d.moved[from+rest] = rename{to: to + rest, opens: d.opens}
		d.wake(from + rest)
	}
	return concerned
}

// rename is where a document went.
type rename struct {
	to    string // canonical
	opens int    // the didOpen before it
	taken bool   // the old name is another document's since
}

// key is the canonical URI under which a document is found: its own, or where
// a rename has brought it. d.mu is held.
func (d *documents) key(uri string) string {
	key, _ := canonical(uri)
	return d.keyOf(document{uri: key, opened: math.MaxInt})
}

// keyOf is key for a document that was opened under its name: what has the name
// since is another one. d.mu is held.
func (d *documents) keyOf(doc document) string {
	key := doc.uri
	for range maxMoved {
		r, moved := d.moved[key]
		o := d.open[key]
		switch {
		case !moved, o != nil && o.opened <= r.opens: // nowhere, or not yet
			return key
		case doc.opened > r.opens && (r.taken || o != nil):
			return key
		}
		key = r.to
	}
	return key
}

// noteClosed remembers a document that may be closed for a rename. d.mu is
// held.
func (d *documents) noteClosed(doc document) {
	doc.text = ""
	if d.closed = append(d.closed, doc); len(d.closed) > maxClosed {
		d.closed = d.closed[1:]
	}
}

// isPrompt reports whether a document that is open, or was closed a little
// while ago, is a prompt buffer.
func (d *documents) isPrompt(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o := d.open[key]; o != nil {
		return isPromptBuffer(o.document)
	}
	i := slices.IndexFunc(d.closed, func(c document) bool { return c.uri == key })
	return i >= 0 && isPromptBuffer(d.closed[i])
}

// await is follow for a document that may just be closed because it is being
// renamed.
func (p *point) await(ctx context.Context) error {
	late := time.NewTimer(renameWithin)
	defer late.Stop()
	for {
		changed := p.s.docs.changed(p.at)
		err := p.follow()
		if !errors.Is(err, errClosed) || !p.s.tellsRenames() {
			return err
		}
		select {
		case <-changed:
		case <-late.C:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// tellsRenames reports whether the client sends workspace/didRenameFiles.
func (s *Server) tellsRenames() bool {
	w := s.peer.caps.Workspace
	return w != nil && w.FileOperations != nil && deref(w.FileOperations.DidRename)
}
