package lsp

import (
	"bytes"
	"context"
	"path"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"
)

const (
	streamEvery = 250 * time.Millisecond // at most four edits a second
	// A cancelled run is answered within half a second; its line is written
	// within that, also when the agent does not come back. Neovim tells of its
	// changes 150 ms late.
	cancelWait  = 250 * time.Millisecond
	cancelWrite = 450 * time.Millisecond
)

// bufferWriter writes a run's answer into its prompt buffer (CONTRACT §6). One
// goroutine, the run's, follows the document and writes.
type bufferWriter struct {
	x      *run
	name   string
	stream bool
	fence  string        // left open by the prompt: a heading behind it would be none
	last   chan outcome  // the worker's word that nothing more comes
	done   chan struct{} // closed when all is written
	wake   chan struct{} // holds a token while there is text to take

	mu   sync.Mutex
	text []byte // of the model, not written yet
	open bool   // what came so far ends inside a line
	seen point  // where the answer goes, for others

	// The goroutine's own.
	point     *point
	escaper   escaper
	begun     bool      // the heading is written
	wrote     bool      // some of the answer is written
	held      string    // white space behind what is written, which an editor would trim as it saves
	err       error     // why nothing more is written
	unwritten string    // the text of the answer that this concerns
	cancelled time.Time // when the run was cancelled
}

func newBufferWriter(x *run, d document, offset int, stream bool) *bufferWriter {
	m := walkMarkdown(d.text[:offset])
	for m.next() { // to the fence that is open there
	}
	p := newPoint(x.s, d, offset)
	return &bufferWriter{
		fence: m.fence, x: x, name: path.Base(d.uri), stream: stream, point: p, seen: *p,
		last: make(chan outcome, 1), done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// feed takes a piece of the answer. Never blocks.
func (b *bufferWriter) feed(delta string) {
	b.mu.Lock()
	b.text = append(b.text, delta...)
	b.open = !strings.HasSuffix(delta, "\n")
	b.mu.Unlock()
	if !b.stream {
		return // it is written as a whole
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// pause parts the texts of two steps.
func (b *bufferWriter) pause() {
	b.mu.Lock()
	open := b.open
	b.mu.Unlock()
	if open {
		b.feed("\n\n")
	}
}

// finish writes the rest and waits until it is written.
func (b *bufferWriter) finish(o outcome) {
	b.last <- o
	<-b.done
}

// write follows the document and writes, until the run's end is written.
func (b *bufferWriter) write() {
	defer close(b.done)
	defer func() {
		if p := recover(); p != nil { // over the document, which may hold anything
			_ = b.x.s.panicked("the prompt buffer", p) // the log has it
		}
	}()
	cancelled := b.x.ctx.Done()
	var due, late <-chan time.Time
	for {
		changed := b.x.s.docs.changed(b.point.at)
		_ = b.point.follow() // what is wrong counts when something is written
		b.show()
		select {
		case <-changed:
		case <-b.wake:
			if b.stream && due == nil {
				due = time.After(streamEvery)
			}
		case <-due:
			due = nil
			b.grow()
		case <-cancelled:
			cancelled, b.cancelled = nil, time.Now()
			late = time.After(cancelWait)
		case <-late:
			b.end(outcome{err: context.Cause(b.x.ctx)})
			return
		case o := <-b.last:
			b.end(o)
			return
		}
	}
}

// show lets others see where the answer goes.
func (b *bufferWriter) show() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = *b.point
}

// placeIn is where the answer goes in a document as it is by now; here: it goes
// there. Never blocks.
func (b *bufferWriter) placeIn(d document) (offset int, known, here bool) {
	b.mu.Lock()
	seen := b.seen
	b.mu.Unlock()
	if !b.x.s.docs.isCurrent(d, seen.at) {
		return 0, false, false
	}
	if seen.lost {
		return 0, false, true
	}
	offset, known = d.place(seen.at, seen.offset)
	return offset, known, true
}

// grow writes what has come, as far as it is decided.
func (b *bufferWriter) grow() {
	b.mu.Lock()
	if !b.wrote {
		b.text = bytes.TrimLeft(b.text, "\r\n")
	}
	text, n := b.escaper.take(string(b.text))
	b.text = b.text[n:]
	b.mu.Unlock()
	text = b.held + text
	kept := strings.TrimRight(text, " \t\n")
	b.held = text[len(kept):]
	if kept != "" {
		b.put(kept)
		b.wrote = true
	}
}

// end writes what is left of the answer, how the run ended, and a new turn.
func (b *bufferWriter) end(o outcome) {
	b.mu.Lock()
	rest := string(b.text)
	b.mu.Unlock()
	if answer := o.result.Text; answer != "" && (!b.stream || strings.TrimSpace(rest) == "" && !b.wrote) {
		rest = answer
	}
	if !b.wrote {
		rest = strings.TrimLeft(rest, "\r\n")
	}
	text := b.escaper.escape(strings.TrimRight(rest, " \t\r\n")) + b.escaper.end()
	if text != "" {
		text = b.held + text
	}
	if note := ending(b.x.s, o, b.x.ctx.Err() != nil, !b.wrote && strings.TrimSpace(rest) == ""); note != "" {
		if text != "" || b.wrote {
			text += "\n\n"
		}
		text += note
	}
	if b.put(text); b.err != nil && o.err == nil {
		b.rescue()
	}
}

// heading begins the turn, once.
func (b *bufferWriter) heading() string {
	if b.begun {
		return ""
	}
	b.begun = true
	b.x.s.runs.writes(b.x)
	if b.fence != "" {
		return "\n" + b.fence + "\n\n## Agent\n\n"
	}
	return "\n\n## Agent\n\n"
}

// next is the turn that a person writes in next, also while the answer grows
// above it. Where another turn comes right after the point, no empty one is put
// between.
func (b *bufferWriter) next() string {
	rest := strings.TrimLeft(b.point.at.text[min(b.point.offset, len(b.point.at.text)):], " \t\r\n")
	line, _, _ := strings.Cut(rest, "\n")
	if headingRole(strings.TrimSuffix(line, "\r")) != "" {
		return ""
	}
	return "\n\n## You\n"
}

// put inserts a text of the answer at the point, with those headings around it
// that are not there. After the first failure nothing more is written: the rest
// would stand at the wrong place.
func (b *bufferWriter) put(text string) {
	defer func() {
		if b.err != nil {
			b.unwritten += text
		}
	}()
	if b.err != nil {
		return
	}
	heading := b.heading()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(b.x.ctx))
	defer cancel(nil)
	left := cancelWrite
	if !b.cancelled.IsZero() {
		left -= time.Since(b.cancelled)
	}
	defer context.AfterFunc(b.x.ctx, func() { // a cancelled run has little time left
		time.AfterFunc(left, func() { cancel(errUnconfirmed) })
	})()
	if b.err = b.point.await(ctx); b.err == nil && !b.point.alive() {
		b.err = errAnchorGone
	}
	if b.err == nil {
		b.err = b.point.insert(ctx, heading+text, b.next())
	}
}

// rescue puts what could not be written into the answer document, and says
// where it is.
func (b *bufferWriter) rescue() {
	k, err := b.x.s.answers.keep(b.x.ctx, exchange{b.x.session, b.x.s.runs.whole(b.x), b.unwritten})
	where := "it is in " + k.file
	if err != nil {
		b.x.s.o.Log.Error("an answer cannot be kept", "file", k.file, "err", err)
		where = "it is in the session, ask for it again"
	}
	b.x.s.showMessage(protocol.MessageTypeWarning, "agentls: the answer could not be written into "+clean(b.name)+": "+b.x.s.tell(b.err.Error())+"; "+where)
}
