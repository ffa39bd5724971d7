package lsp

import "go.lsp.dev/protocol"

// document is an immutable snapshot of an open document.
type document struct {
	uri        string // canonical
	path       string // absolute; "" for other schemes
	languageID string
	version    int32
	text       string
}

// documents holds what is open. Written on the read loop only.
type documents struct{}

// get returns the snapshot of an open document. Spellings of a URI that mean
// one file are one document.
func (d *documents) get(uri string) (document, bool) { panic("skeleton") }

// offset is the byte offset of a position in the text, clamped to the text, in
// the negotiated encoding.
func (d *documents) offset(text string, p protocol.Position) int { panic("skeleton") }

// position is the reverse of offset.
func (d *documents) position(text string, offset int) protocol.Position { panic("skeleton") }

// versionChange waits are the business of edit.go: changed returns a channel
// that is closed at the document's next didChange or didClose.
func (d *documents) changed(uri string) <-chan struct{} { panic("skeleton") }
