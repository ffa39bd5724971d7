package lsptest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// document is a text that is open in the editor.
type document struct {
	text    string
	version int
	unknown bool // the test changed it on the wire by itself
}

// Position is a place in a text.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a piece of a text.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// TextEdit replaces a piece of a text; without a Range all of it.
type TextEdit struct {
	Range   *Range `json:"range,omitempty"`
	NewText string `json:"newText"`
}

// Open opens a document.
func (e *Editor) Open(uri, languageID, text string) {
	e.mu.Lock()
	e.docs[uri] = &document{text: text, version: 1}
	e.mu.Unlock()
	e.Notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uri, "languageId": languageID, "version": 1, "text": text,
	}})
}

// CloseDocument closes a document.
func (e *Editor) CloseDocument(uri string) {
	e.mu.Lock()
	delete(e.docs, uri)
	e.mu.Unlock()
	e.Notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
}

// Save saves a document.
func (e *Editor) Save(uri string) {
	e.Notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": uri}})
}

// Text returns the text of an open document.
func (e *Editor) Text(uri string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.docs[uri]; d != nil {
		return d.text
	}
	e.t.Errorf("%s is not open", uri)
	return ""
}

// Edit changes a document as typing would: one didChange. The edits apply one
// after the other.
func (e *Editor) Edit(uri string, edits ...TextEdit) {
	e.t.Helper()
	e.writing.Lock() // versions go out in order
	defer e.writing.Unlock()
	if err := e.edit(uri, edits); err != nil {
		e.t.Error(err)
	}
}

// edit applies and tells. e.writing is held.
func (e *Editor) edit(uri string, edits []TextEdit) error {
	e.mu.Lock()
	d := e.docs[uri]
	if d == nil {
		e.mu.Unlock()
		return fmt.Errorf("%s is not open", uri)
	}
	var changes []map[string]any
	for _, edit := range edits {
		change := map[string]any{"text": edit.NewText}
		if edit.Range == nil {
			d.text = edit.NewText
		} else {
			from, to := offset(d.text, edit.Range.Start, e.utf8), offset(d.text, edit.Range.End, e.utf8)
			d.text = d.text[:from] + edit.NewText + d.text[max(from, to):]
			change["range"] = edit.Range
		}
		changes = append(changes, change)
	}
	d.version++
	version := d.version
	e.tell()
	e.mu.Unlock()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": map[string]any{
		"textDocument": map[string]any{"uri": uri, "version": version}, "contentChanges": changes,
	}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// applyEdit is the stock answer to workspace/applyEdit: the edit is applied,
// and told by didChange before the answer, as editors do. An edit for another
// version, or of a document that is not open, is not applied.
func (e *Editor) applyEdit(params json.RawMessage) (any, error) {
	var p struct {
		Edit struct {
			Changes         map[string][]TextEdit
			DocumentChanges []struct {
				TextDocument struct {
					URI     string
					Version *int
				}
				Edits []TextEdit
			}
		}
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	refuse := func(reason string) (any, error) {
		return map[string]any{"applied": false, "failureReason": reason}, nil
	}
	e.writing.Lock()
	defer e.writing.Unlock()
	for _, c := range p.Edit.DocumentChanges {
		e.mu.Lock()
		d := e.docs[c.TextDocument.URI]
		stale := d != nil && c.TextDocument.Version != nil && *c.TextDocument.Version != d.version
		e.mu.Unlock()
		if stale {
			return refuse("the document has changed")
		}
		if err := e.edit(c.TextDocument.URI, e.endings(c.TextDocument.URI, lastFirst(c.Edits))); err != nil {
			return refuse(err.Error())
		}
	}
	for uri, edits := range p.Edit.Changes {
		if err := e.edit(uri, e.endings(uri, lastFirst(edits))); err != nil {
			return refuse(err.Error())
		}
	}
	return map[string]any{"applied": true}, nil
}

// endings gives the lines of edits the endings of their document, as VS Code and
// Neovim do.
func (e *Editor) endings(uri string, edits []TextEdit) []TextEdit {
	e.mu.Lock()
	defer e.mu.Unlock()
	ending := "\n"
	if d := e.docs[uri]; d != nil && strings.Contains(d.text, "\r\n") {
		ending = "\r\n"
	}
	for i := range edits {
		edits[i].NewText = strings.NewReplacer("\r\n", ending, "\r", ending, "\n", ending).Replace(edits[i].NewText)
	}
	return edits
}

// lastFirst orders the edits of one workspace edit, which all mean the text
// before it, so that they can be applied one after the other.
func lastFirst(edits []TextEdit) []TextEdit {
	list := slices.Clone(edits)
	slices.Reverse(list) // those at one place keep their order in the text
	slices.SortStableFunc(list, func(a, b TextEdit) int {
		return cmp.Or(cmp.Compare(b.Range.Start.Line, a.Range.Start.Line), cmp.Compare(b.Range.Start.Character, a.Range.Start.Character))
	})
	return list
}

// offset is naive on purpose: it is what the server is tested against. Only \n
// and \r\n end a line here.
func offset(text string, p Position, utf8 bool) int {
	at := 0
	for range p.Line {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	line, _, _ := strings.Cut(text[at:], "\n")
	line = strings.TrimSuffix(line, "\r")
	if utf8 {
		return at + min(p.Character, len(line))
	}
	units := utf16.Encode([]rune(line))
	return at + len(string(utf16.Decode(units[:min(p.Character, len(units))])))
}

// End is the position behind a text's last character.
func End(text string) Position {
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return Position{Line: strings.Count(text, "\n"), Character: len(utf16.Encode([]rune(line)))}
}
