package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent/config"
	"agentls/mcp"
)

const (
	maxFormDocument = 1 << 20        // bytes of one that are read
	formAge         = 24 * time.Hour // when what a process left behind is removed
)

// formDocument is a form as a JSON document with comments, in which a stock
// client's person gives what no button can: <state>/forms/*.jsonc, 0600, until
// the question is settled. Nothing of it is sent before the person says so.
type formDocument struct {
	s *Server
	w *question

	mu   sync.Mutex
	path string // empty: it is not there
}

// file is where it is; empty: it is not shown.
func (d *formDocument) file() string {
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.path
}

// fillIn shows the form as a document, and tells how it is sent. The question
// stays open.
func (q *questions) fillIn(ctx context.Context, w *question) {
	d := w.elicit.document
	path, err := d.write()
	if err != nil {
		q.s.o.Log.Warn("a form cannot be written", "error", err)
		q.tellHow(w)
		return
	}
	where := "Fill in " + filepath.Base(path)
	if err := q.s.showDocument(ctx, path, true, nil); err != nil {
		q.s.o.Log.Info("the client did not show a form", "file", path, "error", err)
		where = "Fill in the form " + path
	}
	if ctx.Err() != nil {
		return
	}
	q.s.refreshPromptBuffers() // it can be sent now
	q.s.showMessage(protocol.MessageTypeInfo, fmt.Sprintf(`%s: %s and save it, then send it by the code action “%s”, in any document, or by the command agentls.approve with {"id": %q, "decision": "once"}. Nothing is sent before.`,
		q.s.tell(w.server), where, sendTheForm, w.id))
}

// sendTheForm begins the title of the action that sends a document's form.
const sendTheForm = "Send the form"

// write makes the document, once.
func (d *formDocument) write() (path string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path != "" {
		return d.path, nil
	}
	dir := filepath.Join(d.s.o.StateDir, "forms")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*.jsonc")) // the pattern is good
	for _, file := range old {
		if info, err := os.Lstat(file); err == nil && time.Since(info.ModTime()) > formAge {
			_ = os.Remove(file)
		}
	}
	f, err := os.CreateTemp(dir, "form-*.jsonc") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(d.text())
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	d.path = f.Name()
	return d.path, nil
}

// remove takes the document away.
func (d *formDocument) remove() {
	if path := d.file(); path != "" {
		_ = os.Remove(path) // it may be gone
	}
}

// text is the form with its defaults. What the server says of it is in comments,
// each of them one line.
func (d *formDocument) text() string {
	var b strings.Builder
	comment := func(indent, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s// %s\n", indent, text)
		}
	}
	tell := d.s.tell
	comment("", d.w.message)
	comment("", fmt.Sprintf(`Fill this in, save it and send it: the code action “%s”, in any document, or the command`, sendTheForm))
	comment("", fmt.Sprintf(`agentls.approve with {"id": %q, "decision": "once"}. Nothing is sent before. null leaves a field out.`, d.w.id))
	b.WriteString("{\n")
	fields := d.w.elicit.form.Fields
	for i, f := range fields {
		if i > 0 {
			b.WriteString("\n")
		}
		comment("  ", tell(f.Title))
		comment("  ", tell(f.Description))
		about := []string{"optional"}
		if f.Required {
			about[0] = "required"
		}
		if hint := tell(f.Hint()); hint != "" {
			about = append(about, hint)
		}
		comment("  ", strings.Join(about, "; "))
		for _, o := range f.Options {
			comment("  ", "  "+optionInWords(o, tell))
		}
		value := f.Default
		if value == nil {
			value = json.RawMessage("null")
		}
		fmt.Fprintf(&b, "  %s: %s", jsonString(f.Name), value)
		if i < len(fields)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func optionInWords(o mcp.Option, tell func(string) string) string {
	value := tell(string(o.Value))
	if title := tell(o.Title); title != "" && title != strings.Trim(value, `"`) {
		return value + " (" + title + ")"
	}
	return value
}

// take gives what reads the content of the document as it is now: in the
// editor, or on the disk. It never blocks; what it returns may.
func (d *formDocument) take() func() (json.RawMessage, error) {
	path := d.file()
	doc, open := d.s.openFile(path)
	return func() (json.RawMessage, error) {
		text := []byte(doc.text)
		if !open {
			info, err := os.Stat(path)
			if err == nil && info.Size() > maxFormDocument {
				err = fmt.Errorf("it has %d bytes", info.Size())
			}
			if err == nil {
				text, err = os.ReadFile(path)
			}
			if err != nil {
				return nil, badf("agentls.approve: the form %s cannot be read (%v); give the answer as content", path, err)
			}
		}
		plain, err := config.PlainJSON(text)
		if err != nil {
			return nil, badf("agentls.approve: the form %s is no JSON (%v); mend it and send it again", path, err)
		}
		if bytes.Equal(bytes.TrimSpace(plain), []byte("null")) {
			plain = []byte("{}")
		}
		return plain, nil
	}
}
