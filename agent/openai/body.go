package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// body is a provider's answer as go-openai can read it: lines of
// `data: <chunk>` and, only after a whole answer, `data: [DONE]`. Every other
// end is an error of its Read, which go-openai hands on as it is.
//
// It reads when it is read, so that a chunk waits for nobody.
type body struct {
	ctx    context.Context //nolint:containedctx // of the try, whose life the body shares; its cause tells why a read failed
	cancel context.CancelCauseFunc
	resp   *http.Response // for its status and headers
	raw    io.ReadCloser
	src    *idleReader
	events *events
	norm   normaliser
	fail   failures
	limits limits

	out   bytes.Buffer
	begun bool // the first bytes were looked at
	eof   bool // the provider's body was read to its end
	err   error
}

func newBody(ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response, id *idle, l *LLM) *body {
	src := &idleReader{r: resp.Body, idle: id, left: l.limits.stream}
	return &body{
		ctx: ctx, cancel: cancel, resp: resp, raw: resp.Body, src: src, events: newEvents(src, l.limits.event),
		norm: normaliser{slots: newSlots()}, fail: l.failures, limits: l.limits,
	}
}

// finished reports whether the answer came whole.
func (b *body) finished() bool { return b != nil && b.err != nil && errors.Is(b.err, io.EOF) }

// prime reads until there is something to pass on. Until then nothing of the
// answer is used and the request may be tried again.
func (b *body) prime() error {
	for b.out.Len() == 0 && b.err == nil {
		b.step()
	}
	if b.out.Len() > 0 {
		return nil
	}
	return b.err
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if err := b.prime(); err != nil {
		return 0, err
	}
	return b.out.Read(p)
}

// Close gives the connection back. After a whole answer it reads on for a
// moment to the end of the body, or the connection could not be used again.
func (b *body) Close() error {
	if b.finished() && !b.eof {
		t := time.AfterFunc(b.limits.drain, func() { b.cancel(nil) })
		_, _ = io.CopyN(io.Discard, b.raw, 64<<10)
		t.Stop()
	}
	err := b.raw.Close()
	b.cancel(nil)
	return err
}

// step handles one event, or the end.
func (b *body) step() {
	if !b.begun {
		b.begun = true
		if kind := b.sniff(); kind != "" {
			b.notStream(kind)
			return
		}
	}
	ev, err := b.events.next()
	switch {
	case err != nil:
		b.end(err)
	case isDone(ev.data):
		b.done()
	default:
		b.event(ev)
	}
}

func (b *body) event(ev event) {
	if len(ev.data) == 0 {
		return
	}
	if ev.name == "error" {
		b.err = b.fail.told(parseAPIError(ev.data))
		return
	}
	b.chunk(ev.data)
	if b.norm.finished {
		b.src.idle.limit = min(b.src.idle.limit, b.limits.tail)
	}
}

// chunk passes on a chunk, or a completion that is no stream.
func (b *body) chunk(data []byte) {
	chunk, ok, failed, err := b.norm.chunk(data)
	switch {
	case err != nil && data[0] == '[' && bytes.Contains(data, []byte(`"error"`)):
		b.err = b.fail.told(parseAPIError(data))
	case err != nil:
		b.err = b.fail.garbage(b.resp, "an event that is no chunk", data)
	case failed != nil:
		b.err = b.fail.told(failed)
	case ok:
		b.pass(chunk)
	}
}

// pass passes on a chunk.
func (b *body) pass(chunk wireChunk) {
	b.out.WriteString("data: ")
	enc := json.NewEncoder(&b.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(chunk); err != nil {
		b.err = err
	}
}

// end handles what ended the reading.
func (b *body) end(err error) {
	b.eof = errors.Is(err, io.EOF)
	if rest, ok := b.norm.rest(); ok {
		b.pass(rest)
	}
	idle := errors.Is(context.Cause(b.ctx), errIdle)
	switch {
	case b.norm.finished && (b.eof || idle):
		b.done()
	case b.eof && !b.norm.seen:
		b.err = b.fail.empty(b.resp, b.events.junk)
	case b.eof:
		b.err = b.fail.early()
	case errors.Is(err, errEventSize):
		b.err = b.fail.provider("%s sent an event over %d MiB for model %q: it was cut off; choose another model if it goes on so", b.fail.host, b.limits.event>>20, b.fail.model)
	case errors.Is(err, errStreamSize):
		b.err = b.fail.provider("%s sent more than %d MiB for one answer of model %q: it was cut off; ask for less at once", b.fail.host, b.limits.stream>>20, b.fail.model)
	case idle:
		b.err = b.fail.idle()
	default:
		b.err = b.fail.lost(err)
	}
}

// done ends a whole answer.
func (b *body) done() {
	if !b.norm.seen {
		b.err = b.fail.empty(b.resp, b.events.junk)
		return
	}
	if rest, ok := b.norm.rest(); ok {
		b.pass(rest)
	}
	b.out.WriteString("data: [DONE]\n")
	b.err = io.EOF
}

// sniff looks at the first bytes: what comes is a stream of events ("") or
// something else. Servers name their content types wrongly too often.
func (b *body) sniff() string {
	r := b.events.r
	for {
		p, err := r.Peek(1)
		if err != nil {
			return ""
		}
		switch p[0] {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // white space that keeps a connection alive, or a BOM
			b.events.discard(1)
		case '{', '[':
			return "json"
		case '<':
			return "html"
		default:
			return ""
		}
	}
}

// notStream handles an answer that is one document: a completion, an error
// with status 200, or a page of something that is no provider at all.
func (b *body) notStream(kind string) {
	data, err := io.ReadAll(io.LimitReader(b.events.r, int64(b.limits.event)+1))
	switch {
	case err != nil:
		b.end(err)
		return
	case len(data) > b.limits.event:
		b.end(errEventSize)
		return
	}
	b.eof = true
	if kind == "html" || !json.Valid(data) {
		b.lines(data)
		return
	}
	if data[0] == '[' {
		b.err = b.fail.told(parseAPIError(data))
		return
	}
	b.chunk(data)
	if b.err != nil {
		return
	}
	if !b.norm.seen {
		b.err = b.fail.garbage(b.resp, "a document that is no completion", data)
		return
	}
	b.done()
}

// lines tries a document as one JSON chunk a line, which some servers send
// for a stream; it is garbage otherwise.
func (b *body) lines(data []byte) {
	if data[0] != '{' {
		b.err = b.fail.garbage(b.resp, "no answer of a model", data)
		return
	}
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, b.limits.event+1)
	for s.Scan() && b.err == nil {
		if line := bytes.TrimSpace(s.Bytes()); len(line) > 0 {
			b.chunk(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:"))))
		}
	}
	if b.err == nil {
		b.end(io.EOF)
	}
}

// mediaType is the content type without its parameters.
func mediaType(h http.Header) string {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.TrimSpace(t)
}
