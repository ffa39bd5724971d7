package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

const maxAskedDocument = 1 << 20 // bytes of one that are read

// askedDocument is a document in which a stock client's person gives what no
// button can: a form, a plan. It is read as the editor has it, else the disk,
// when the person says so; nothing of it counts before.
type askedDocument struct {
	s    *Server
	kind fileKind
	key  string        // what there is one of at a time
	what string        // what it is called, as "the form"
	text func() string // what it holds at first
	// content makes the content of an answer of what it says by then.
	content func(text string) (json.RawMessage, error)

	mu   sync.Mutex
	path string // empty: it is not there
}

// file is where it is; empty: it is not there.
func (d *askedDocument) file() string {
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.path
}

// write makes the document, once.
func (d *askedDocument) write() (path string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path == "" {
		d.path, err = d.s.previews.write(d.kind, d.key, d.text())
	}
	return d.path, err
}

// remove takes the document away.
func (d *askedDocument) remove() {
	if d.file() != "" {
		d.s.previews.remove(d.kind, d.key)
	}
}

// take gives what reads the content of the document as it is now: in the
// editor, or on the disk. It never blocks; what it returns may.
func (d *askedDocument) take() func() (json.RawMessage, error) {
	path := d.file()
	doc, open := d.s.openFile(path)
	return func() (content json.RawMessage, err error) {
		if open {
			content, err = d.content(doc.text)
			return content, d.mend(err)
		}
		info, err := os.Stat(path)
		if err == nil && info.Size() > maxAskedDocument {
			err = fmt.Errorf("it has %d bytes", info.Size())
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, badf("agentls.approve: %s %s cannot be read (%v); give the answer as content", d.what, path, err)
		}
		content, err = d.content(string(text))
		return content, d.mend(err)
	}
}

// reads gives what makes an answer's content of the question's document, as it
// is now; nil: the answer needs nothing of it. It never blocks; what it returns
// may.
func (w *question) reads(d agent.Decision, content json.RawMessage) func() (json.RawMessage, error) {
	if w.document.file() == "" {
		return nil
	}
	if w.plan == nil {
		if d == agent.DecisionDeny || len(content) > 0 {
			return nil
		}
		return w.document.take()
	}
	c, err := planContentOf(d, "", content)
	if err != nil || c.whole() {
		return nil
	}
	read := w.document.take()
	return func() (json.RawMessage, error) {
		c, err := c.filledIn(read)
		if err != nil {
			return nil, err
		}
		return json.Marshal(c)
	}
}

// mend says where to mend what is wrong with the document; nil: nothing is.
func (d *askedDocument) mend(err error) error {
	if err == nil {
		return nil
	}
	return badf("%s; mend it in %s, save it and send it again", err, d.file())
}

// letWrite shows the document for a person to write in it, and tells how it is
// sent then; do says what to do with it, as "Fill in". The question stays open.
func (q *questions) letWrite(ctx context.Context, w *question, do, then string) {
	path, err := w.document.write()
	if err != nil {
		q.s.o.Log.Warn("the document of a question cannot be written", "kind", w.kind, "error", err)
		q.tellHow(w)
		return
	}
	where := do + " " + filepath.Base(path)
	if err := q.s.showDocument(ctx, path, true, nil); err != nil {
		q.s.o.Log.Info("the client did not show the document of a question", "file", path, "error", err)
		where = do + " " + w.document.what + " " + path
	}
	if ctx.Err() != nil {
		return
	}
	q.s.refreshPromptBuffers() // it can be sent now
	q.s.showMessage(protocol.MessageTypeInfo, where+" "+then)
}
