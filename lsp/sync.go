package lsp

import (
	"errors"
	"fmt"
	"math"

	"go.lsp.dev/protocol"
)

// textDocument is how clients name a document. protocol's own types fail over
// a float or a null, and with it the whole notification would be lost.
type textDocument struct {
	URI        string  `json:"uri"`
	LanguageID string  `json:"languageId"`
	Version    integer `json:"version"`
	Text       string  `json:"text"`
}

// textPosition is a position, however its numbers are spelled.
type textPosition struct {
	Line      integer `json:"line"`
	Character integer `json:"character"`
}

func (p textPosition) position() protocol.Position {
	return protocol.Position{Line: uint32(p.Line), Character: uint32(p.Character)}
}

// textChange is one change; without a range (null counts as none) text is the
// whole new document.
type textChange struct {
	Range *struct {
		Start textPosition `json:"start"`
		End   textPosition `json:"end"`
	} `json:"range"`
	Text *string `json:"text"`
}

// documentParams are those of all four notifications.
type documentParams struct {
	TextDocument   textDocument `json:"textDocument"`
	ContentChanges []textChange `json:"contentChanges"`
}

func decodeDocument(params []byte) (p documentParams, err error) {
	if err := protocol.Unmarshal(params, &p); err != nil {
		return p, err
	}
	if p.TextDocument.URI == "" {
		return p, errors.New("textDocument.uri is missing")
	}
	for i, c := range p.ContentChanges {
		if c.Text == nil {
			return p, fmt.Errorf("contentChanges[%d].text is missing", i)
		}
	}
	return p, nil
}

func version(n integer) int32 { return int32(min(n, math.MaxInt32)) }

func (d *documents) didOpen(params []byte) error {
	p, err := decodeDocument(params)
	if err != nil {
		return err
	}
	doc := p.TextDocument
	key, path := canonical(doc.URI)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opens++
	o := &openDocument{document: document{
		uri: key, spelled: doc.URI, path: path, languageID: doc.LanguageID, version: version(doc.Version), text: doc.Text, opened: d.opens,
	}}
	if old := d.open[key]; old != nil && old.spelled != o.spelled {
		d.state.CloseDocument(old.spelled)
	}
	d.open[key] = o
	if r, moved := d.moved[key]; moved {
		r.taken = true
		d.moved[key] = r
	}
	d.touch(o)
	d.announce(o)
	return nil
}

// didChange applies all changes or none: half of them would leave a text that
// neither side has ever seen.
func (d *documents) didChange(params []byte) error {
	return d.update(params, func(o *openDocument, p documentParams) {
		for _, c := range p.ContentChanges {
			o.apply(c, d.encoding)
		}
		o.version, o.dirty = version(p.TextDocument.Version), true
		d.touch(o)
		d.announce(o)
	})
}

// update changes the open document that a notification names.
func (d *documents) update(params []byte, change func(*openDocument, documentParams)) error {
	p, err := decodeDocument(params)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	o, err := d.find(p.TextDocument.URI)
	if err != nil {
		return err
	}
	change(o, p)
	return nil
}

func (o *openDocument) apply(c textChange, encoding protocol.PositionEncodingKind) {
	if c.Range == nil {
		o.text, o.edits, o.stale = *c.Text, nil, false
		o.replaced()
		return
	}
	if o.edits == nil {
		o.edits = newBuffer(o.text)
	}
	// The end first, so that the place that is remembered is the start's.
	to := o.edits.offset(c.Range.End.position(), encoding)
	from := o.edits.offset(c.Range.Start.position(), encoding)
	from, to = min(from, to), max(from, to)
	o.spliced(spliceOf(from, o.edits.slice(from, to), *c.Text))
	o.edits.splice(from, to, *c.Text)
	o.stale, o.text = true, ""
}

func (d *documents) didSave(params []byte) error {
	return d.update(params, func(o *openDocument, _ documentParams) {
		o.dirty = false
		d.touch(o)
		d.announce(o)
	})
}

func (d *documents) didClose(params []byte) error {
	return d.update(params, func(o *openDocument, _ documentParams) {
		delete(d.open, o.uri)
		d.noteClosed(o.document)
		d.state.CloseDocument(o.spelled)
		d.announce(o)
	})
}

// documentPosition are the params of the requests at a place in a text.
type documentPosition struct {
	TextDocument textDocument  `json:"textDocument"`
	Position     *textPosition `json:"position"`
}

func decodePosition(params []byte) (p documentPosition, err error) {
	if err := protocol.Unmarshal(params, &p); err != nil {
		return p, &paramsError{"bad textDocument or position: " + err.Error()}
	}
	if p.TextDocument.URI == "" || p.Position == nil {
		return p, &paramsError{"textDocument.uri and position are needed"}
	}
	return p, nil
}
