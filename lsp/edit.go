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

const (
	// confirmWithin is how long an edit may take, once it is answered or its run
	// is cancelled, until the document has the expected text (CONTRACT §6, Edits).
	confirmWithin = 2 * time.Second
	// answerWithin is how long it may take to be answered, and in Neovim to be
	// confirmed: after a choice from a list it does nothing in Visual mode until a
	// key or 'updatetime' comes, 4 s, for each of both.
	answerWithin = 10 * time.Second
)

var (
	errClosed      = errors.New("it was closed")
	errAnchorGone  = errors.New("the prompt that was sent is not there any more")
	errUnconfirmed = errors.New("the editor did not confirm the edit")
	errCannotEdit  = errors.New("this editor cannot apply edits")
)

// change is an edit of an open document.
type change struct {
	of    document            // the snapshot that it is made for
	edits []protocol.TextEdit // in the order of the text, apart from each other
	label string              // for a person; "": none
	asks  bool                // the editor asks a person, where it can
	saves bool                // the editor may save it with the edit, where it can

	holds func(text string) bool // whether a text that came after it has the edit
	lacks func(text string) bool // whether one surely has not
}

// change sends an edit and waits for its text, until ctx ends. again: the
// document went on before the edit reached it, and nothing was changed.
func (s *Server) change(ctx context.Context, c change) (now document, again bool, err error) {
	if w := s.peer.caps.Workspace; w == nil || !deref(w.ApplyEdit) {
		return document{}, false, errCannotEdit
	}
	changed := s.docs.changed(c.of)
	var result struct {
		Applied bool    `json:"applied"`
		Reason  *string `json:"failureReason"`
	}
	if err := s.call(ctx, "workspace/applyEdit", s.applyEdit(c), &result); err != nil {
		return document{}, false, err
	}
	if !result.Applied {
		if d, ok := s.docs.current(c.of); ok && d.version != c.of.version {
			return document{}, true, nil
		}
		select { // the didChange that made the edit old may still be on its way
		case <-changed:
			return document{}, true, nil
		case <-time.After(confirmWithin / 20):
		case <-ctx.Done():
		}
		return document{}, false, fmt.Errorf("the editor refused the edit%s", s.because(result.Reason))
	}
	patience := confirmWithin
	if s.isNeovim() {
		patience = answerWithin
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errUnconfirmed)
	defer cancel()
	for {
		changed := s.docs.changed(c.of)
		d, ok := s.docs.current(c.of)
		switch {
		case !ok:
			return document{}, false, errClosed
		case c.holds(d.text):
			return d, false, nil
		case d.version != c.of.version && s.isNeovim() && c.lacks(d.text):
			// Neovim says that it applied an edit to an old version, and drops it.
			return document{}, true, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return document{}, false, context.Cause(ctx)
		}
	}
}

// applyEdit are the params of an edit. With documentChanges it names the
// version, so that it never lands in a text that went on.
func (s *Server) applyEdit(c change) protocol.ApplyWorkspaceEditParams {
	var p protocol.ApplyWorkspaceEditParams
	if c.label != "" {
		p.Label = &c.label
	}
	if c.saves && s.savesRefactorings() {
		p.Metadata = &protocol.WorkspaceEditMetadata{IsRefactoring: new(true)}
	}
	if !s.versionedEdits() {
		p.Edit.Changes = map[uri.URI][]protocol.TextEdit{uri.URI(c.of.spelled): c.edits}
		return p
	}
	const agreed = "agentls"
	asks := c.asks && s.annotates()
	if asks {
		p.Edit.ChangeAnnotations = map[protocol.ChangeAnnotationIdentifier]protocol.ChangeAnnotation{
			agreed: {Label: c.label, Description: new("agentls asks before it changes a document"), NeedsConfirmation: new(true)},
		}
	}
	var e protocol.TextDocumentEdit
	e.TextDocument.URI, e.TextDocument.Version = uri.URI(c.of.spelled), new(c.of.version)
	for i := range c.edits {
		if asks {
			e.Edits = append(e.Edits, &protocol.AnnotatedTextEdit{TextEdit: c.edits[i], AnnotationID: agreed})
		} else {
			e.Edits = append(e.Edits, &c.edits[i])
		}
	}
	p.Edit.DocumentChanges = []protocol.DocumentChange{&e}
	return p
}

func (s *Server) isNeovim() bool { return strings.EqualFold(s.peer.name, "Neovim") }

// versionedEdits reports whether the client takes documentChanges. Neovim does
// and does not announce it in every version.
func (s *Server) versionedEdits() bool {
	if s.isNeovim() {
		return true
	}
	w := s.peer.caps.Workspace
	return w != nil && w.WorkspaceEdit != nil && deref(w.WorkspaceEdit.DocumentChanges)
}

// annotates reports whether the client asks a person about annotated edits.
// Neovim takes them and does not ask.
func (s *Server) annotates() bool {
	w := s.peer.caps.Workspace
	return s.versionedEdits() && !s.isNeovim() && w != nil && w.WorkspaceEdit != nil && w.WorkspaceEdit.ChangeAnnotationSupport != nil
}

// savesRefactorings reports whether the client is told by an edit's metadata
// that it may save it.
func (s *Server) savesRefactorings() bool {
	w := s.peer.caps.Workspace
	return w != nil && w.WorkspaceEdit != nil && deref(w.WorkspaceEdit.MetadataSupport)
}

// because puts a reason of the client's behind a sentence.
func (s *Server) because(reason *string) string {
	if deref(reason) == "" {
		return ""
	}
	return ": " + s.tell(*reason)
}
