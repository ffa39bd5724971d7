package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// confirmWithin is how long an edit may take until the document has the
// expected text (CONTRACT §6, Edits).
const confirmWithin = 2 * time.Second

var (
	errClosed      = errors.New("it was closed")
	errAnchorGone  = errors.New("the prompt that was sent is not there any more")
	errUnconfirmed = errors.New("the editor did not confirm the edit")
	errCannotEdit  = errors.New("this editor cannot apply edits")
)

// point is a place in an open document that moves with what the user types.
type point struct {
	s      *Server
	uri    string
	at     document // what offset is for
	offset int
	near   string // stood before the point when it was set
	lost   bool
}

// newPoint is the place at an offset of a document.
func newPoint(s *Server, d document, offset int) *point {
	return &point{s: s, uri: d.uri, at: d, offset: offset, near: d.text[max(0, offset-200):offset]}
}

// follow moves the point to the text of now. It fails when the document is
// closed, or when what the point stood at is gone.
func (p *point) follow() error {
	d, ok := p.s.docs.get(p.uri)
	if !ok {
		return errClosed
	}
	if d.text != p.at.text {
		offset, ok := 0, false
		if !p.lost {
			offset, ok = move(p.at.text, d.text, p.offset)
		}
		if !ok && strings.Count(d.text, p.near) == 1 {
			offset, ok = strings.Index(d.text, p.near)+len(p.near), true
		}
		p.offset, p.lost = offset, !ok // what was undone is found again
	}
	p.at = d
	if p.lost {
		return errAnchorGone
	}
	return nil
}

// alive reports whether the turn that the point belongs to still holds text
// before it.
func (p *point) alive() bool {
	for _, t := range turns(p.at.text) {
		if t.start <= p.offset && p.offset <= t.end {
			return strings.TrimSpace(p.at.text[t.start:p.offset]) != ""
		}
	}
	return false
}

// move gives the offset in now of the place that was at offset in old. The two
// differ in one stretch between their common beginning and their common end; a
// place inside it is lost. What was put in at the place itself comes after it.
func move(old, now string, offset int) (int, bool) {
	start := 0
	for start < min(len(old), len(now)) && old[start] == now[start] {
		start++
	}
	end := 0
	for end < min(len(old), len(now))-start && old[len(old)-1-end] == now[len(now)-1-end] {
		end++
	}
	switch {
	case offset <= start:
		return offset, true
	case offset >= len(old)-end:
		return offset + len(now) - len(old), true
	}
	return 0, false
}

// insert puts text in at the point, which then stands after it. Nothing of the
// user's is replaced; a client that refuses because the document went on is
// asked again. The edit counts as done only when the document has the text.
func (p *point) insert(ctx context.Context, text string) error {
	if w := p.s.peer.caps.Workspace; w == nil || !deref(w.ApplyEdit) {
		return errCannotEdit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, confirmWithin, errUnconfirmed)
	defer cancel()
	if strings.Contains(p.at.text, "\r\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n") // as the editor would
	}
	for {
		if err := p.follow(); err != nil {
			return err
		}
		again, err := p.try(ctx, text)
		if !again {
			return err
		}
	}
}

// try sends one edit and waits for its text. again: the document went on
// before the edit reached it.
func (p *point) try(ctx context.Context, text string) (again bool, err error) {
	before := p.at
	changed := p.s.docs.changed(p.uri)
	var result struct {
		Applied bool    `json:"applied"`
		Reason  *string `json:"failureReason"`
	}
	params := protocol.ApplyWorkspaceEditParams{Edit: p.s.insertion(before, p.offset, text)}
	if err := p.s.call(ctx, "workspace/applyEdit", params, &result); err != nil {
		return false, err
	}
	if !result.Applied {
		if d, ok := p.s.docs.get(p.uri); ok && d.version != before.version {
			return true, nil
		}
		select { // the didChange that made the edit old may still be on its way
		case <-changed:
			return true, nil
		case <-time.After(confirmWithin / 20):
		case <-ctx.Done():
		}
		return false, fmt.Errorf("the editor refused the edit%s", p.s.because(result.Reason))
	}
	want := before.text[:p.offset] + text + before.text[p.offset:]
	for {
		changed := p.s.docs.changed(p.uri)
		d, ok := p.s.docs.get(p.uri)
		if !ok {
			return false, errClosed
		}
		start, ok1 := move(want, d.text, p.offset)
		end, ok2 := move(want, d.text, p.offset+len(text))
		if ok1 && ok2 && start <= end && d.text[start:end] == text {
			*p = *newPoint(p.s, d, end)
			return false, nil
		}
		// Neovim says that it applied an edit to an old version, and drops it.
		if d.version != before.version && p.s.isNeovim() && !gained(before.text, d.text, text) {
			return true, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

func (s *Server) isNeovim() bool { return strings.EqualFold(s.peer.name, "Neovim") }

// gained reports whether the beginning of text stands more often in now than
// it did before.
func gained(before, now, text string) bool {
	head := text[:min(len(text), 200)]
	return strings.Count(now, head) > strings.Count(before, head)
}

// insertion is the edit that puts text in at an offset of a document. With
// documentChanges it names the version, so that it never lands in a text that
// went on.
func (s *Server) insertion(d document, offset int, text string) protocol.WorkspaceEdit {
	at := s.docs.position(d.text, offset)
	edit := protocol.TextEdit{Range: protocol.Range{Start: at, End: at}, NewText: text}
	if !s.versionedEdits() {
		return protocol.WorkspaceEdit{Changes: map[uri.URI][]protocol.TextEdit{uri.URI(d.spelled): {edit}}}
	}
	var e protocol.TextDocumentEdit
	e.TextDocument.URI, e.TextDocument.Version = uri.URI(d.spelled), new(d.version)
	e.Edits = []protocol.TextDocumentEditElement{&edit}
	return protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{&e}}
}

// versionedEdits reports whether the client takes documentChanges. Neovim does
// and does not announce it in every version.
func (s *Server) versionedEdits() bool {
	if s.isNeovim() {
		return true
	}
	w := s.peer.caps.Workspace
	return w != nil && w.WorkspaceEdit != nil && deref(w.WorkspaceEdit.DocumentChanges)
}

// because puts a reason of the client's behind a sentence.
func (s *Server) because(reason *string) string {
	if deref(reason) == "" {
		return ""
	}
	return ": " + s.tell(*reason)
}
