package lsp

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"agentls/mcp/workspace"
)

// document is an immutable snapshot of an open document.
type document struct {
	uri        string // canonical
	spelled    string // the URI as the editor spells it; edits sent to it use this
	path       string // absolute; "" for other schemes
	languageID string
	version    int32
	text       string
	dirty      bool // changed since it was opened or saved
	opened     int  // counts the didOpen of a connection: another one each time it is opened

	changes int      // since then
	splices []splice // the last of them; fewer where the text was replaced as a whole
}

// documents holds what is open. Written on the read loop only.
type documents struct {
	encoding protocol.PositionEncodingKind // set by initialize
	state    stateWriter
	watch    func(document) // hears of each didOpen, didChange, didSave and didClose; must not block. Nil: nobody does

	mu      sync.Mutex
	opens   int                      // didOpen so far
	open    map[string]*openDocument // by canonical URI
	waiting map[string]chan struct{} // closed at the next change, by canonical URI
	moved   map[string]rename        // by the canonical URI before
	closed  []document               // the last ones, without their texts
	touched chan struct{}            // 1 slot: something is to be mirrored
}

// stateWriter is the part of [workspace.State] that documents write.
type stateWriter interface {
	SetDocument(workspace.Document)
	CloseDocument(uri string)
}

// openDocument is a document and where its text stands.
type openDocument struct {
	document
	// edits is the text while it is edited; nil: document.text is it.
	edits    *buffer
	stale    bool // document.text is behind edits
	mirrored bool
	real     string // where path leads; "": not looked at yet
}

func newDocuments(state stateWriter) *documents {
	return &documents{
		encoding: protocol.PositionEncodingKindUTF16, state: state,
		open: make(map[string]*openDocument), waiting: make(map[string]chan struct{}), moved: make(map[string]rename), touched: make(chan struct{}, 1),
	}
}

// find is for the notifications, on the read loop. d.mu is held.
func (d *documents) find(uri string) (*openDocument, error) {
	key, _ := canonical(uri)
	if o := d.open[key]; o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("%.100q is not open", uri)
}

// snapshot brings the text up to date.
func (o *openDocument) snapshot() document {
	if o.stale {
		o.text, o.stale = o.edits.String(), false
	}
	return o.document
}

// get returns the snapshot of an open document. Spellings of a URI that mean
// one file are one document, and so are the names before and after a rename.
func (d *documents) get(uri string) (document, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.open[d.key(uri)]
	if o == nil {
		return document{}, false
	}
	return o.snapshot(), true
}

// current is get for a document that may have another name by now, while its
// own may have become that of another one.
func (d *documents) current(doc document) (document, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.open[d.keyOf(doc)]
	if o == nil {
		return document{}, false
	}
	return o.snapshot(), true
}

// isCurrent reports whether a document is what another one is by now.
func (d *documents) isCurrent(now, doc document) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := d.keyOf(doc)
	return key == now.uri && d.open[key] != nil
}

// identity is get without the text, which is not made for it.
func (d *documents) identity(uri string) (doc document, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.open[d.key(uri)]
	if o == nil {
		return document{}, false
	}
	doc = o.document
	doc.text = ""
	return doc, true
}

// prompt is get for a prompt buffer; ok is false for any other document, whose
// text is not touched.
func (d *documents) prompt(uri string) (doc document, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.open[d.key(uri)]
	if o == nil || !isPromptBuffer(o.document) {
		return document{}, false
	}
	return o.snapshot(), true
}

// promptBuffers lists those that are open, without their texts.
func (d *documents) promptBuffers() (list []document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.open {
		if isPromptBuffer(o.document) {
			doc := o.document
			doc.text = ""
			list = append(list, doc)
		}
	}
	return list
}

// offset is the byte offset of a position in the text, clamped to the text, in
// the negotiated encoding.
func (d *documents) offset(text string, p protocol.Position) int {
	l := linesFrom(flat(text), 0)
	for range p.Line {
		if _, _, more := l.next(); !more {
			return len(text)
		}
	}
	start, end, _ := l.next()
	return start + byteOf(text[start:end], p.Character, d.encoding)
}

// position is the reverse of offset. An offset inside a line ending means the
// line's end.
func (d *documents) position(text string, offset int) protocol.Position {
	offset = max(0, min(offset, len(text)))
	if offset > 0 && offset < len(text) && text[offset-1] == '\r' && text[offset] == '\n' {
		offset--
	}
	before := text[:offset]
	// Counting is many times faster than walking from line to line.
	line, start := strings.Count(before, "\n"), strings.LastIndexByte(before, '\n')+1
	if strings.IndexByte(before, '\r') >= 0 {
		line += strings.Count(before, "\r") - strings.Count(before, "\r\n")
		start = max(start, strings.LastIndexByte(before, '\r')+1)
	}
	return protocol.Position{Line: uint32(line), Character: uint32(unitsIn(before[start:], d.encoding))}
}

// changed returns a channel that is closed at the document's next didChange or
// didClose.
func (d *documents) changed(doc document) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := d.keyOf(doc)
	if d.waiting[key] == nil {
		d.waiting[key] = make(chan struct{})
	}
	return d.waiting[key]
}

// announce wakes those who wait for a change of a document, or for its end.
// d.mu is held.
func (d *documents) announce(o *openDocument) {
	d.wake(o.uri)
	if d.watch != nil {
		d.watch(o.document)
	}
}

// wake wakes those who wait for a document by its key. d.mu is held.
func (d *documents) wake(key string) {
	if c := d.waiting[key]; c != nil {
		close(c)
		delete(d.waiting, key)
	}
}

// linked gives the open document of a file that the editor has under another
// path, which leads there by symbolic links.
func (d *documents) linked(path string) (document, bool) {
	d.lookAtLinks()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.open {
		if o.real == path && o.path != path {
			return o.snapshot(), true
		}
	}
	return document{}, false
}

// lookAtLinks finds where the paths of documents lead that were opened since.
// No lock is held while it looks.
func (d *documents) lookAtLinks() {
	d.mu.Lock()
	var fresh []document
	for _, o := range d.open {
		if o.real == "" && o.path != "" {
			fresh = append(fresh, document{uri: o.uri, path: o.path, opened: o.opened})
		}
	}
	d.mu.Unlock()
	for _, doc := range fresh {
		real := doc.path
		if dir, err := filepath.EvalSymlinks(filepath.Dir(doc.path)); err == nil {
			real = filepath.Join(dir, filepath.Base(doc.path)) // of a file that is not there yet
		}
		if whole, err := filepath.EvalSymlinks(doc.path); err == nil {
			real = whole
		}
		d.mu.Lock()
		if o := d.open[doc.uri]; o != nil && o.opened == doc.opened {
			o.real = real
		}
		d.mu.Unlock()
	}
}

// touch asks the mirror goroutine for flush. d.mu is held.
func (d *documents) touch(o *openDocument) {
	o.mirrored = false
	select {
	case d.touched <- struct{}{}:
	default:
	}
}

// flush tells the workspace's state what changed. Whoever lets others read
// that state calls it first.
func (d *documents) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.open {
		if o.mirrored {
			continue
		}
		doc := o.snapshot()
		d.state.SetDocument(workspace.Document{
			Path: doc.path, URI: doc.spelled, LanguageID: doc.languageID, Version: doc.version, Text: doc.text, Dirty: o.dirty,
		})
		o.mirrored = true
	}
}

// mirror keeps the workspace's state close behind the editor until ctx ends.
// It takes at most a tenth of the time: typing in a document of many megabytes
// must not copy it for each key. Serve owns the goroutine.
func (d *documents) mirror(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.touched:
		}
		start := time.Now()
		d.flush()
		pause.Reset(min(10*time.Since(start), time.Second))
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}
