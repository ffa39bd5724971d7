package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// transport is the [jsonrpc2.Stream] of one connection. jsonrpc2 sees only the
// answers to our own calls: over requests it hangs up too easily, and once the
// input has ended it drops what is still to be answered. Requests and
// notifications go to the handler, on the read loop and in wire order.
type transport struct {
	in      *frameReader
	out     *outbox
	log     *slog.Logger
	handler handler
	answers []jsonrpc2.Message // to our calls, not yet read by jsonrpc2

	once  sync.Once
	ended chan struct{} // closed when nothing more is read
	err   error         // why, when it is worth telling; set before ended
}

// handler takes what the client sends. Neither method blocks.
type handler interface {
	notified(method string, params []byte)
	// requested answers by calling reply once, now or later.
	requested(id jsonrpc2.ID, method string, params []byte, answer reply)
}

// reply answers a request with an encoded result, or with err.
type reply func(id jsonrpc2.ID, result jsonrpc2.RawMessage, err *jsonrpc2.Error)

func newTransport(r io.Reader, h handler, log *slog.Logger) *transport {
	return &transport{in: newFrameReader(r), out: newOutbox(), log: log, handler: h, ended: make(chan struct{})}
}

// end stops reading before the next message.
func (t *transport) end(err error) {
	t.once.Do(func() {
		t.err = err
		close(t.ended)
	})
}

// ending tells the errors of a peer that is gone from those worth returning.
func (t *transport) ending(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		t.log.Warn("the input ended inside a message")
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe), errors.Is(err, os.ErrClosed), errors.Is(err, net.ErrClosed):
		return nil
	}
	return fmt.Errorf("read from the client: %w", err)
}

// failure says why reading ended, when that is worth telling.
func (t *transport) failure() error {
	select {
	case <-t.ended:
		return t.err
	default:
		return nil
	}
}

// Read serves what comes until there is an answer to one of our calls.
func (t *transport) Read(context.Context) (jsonrpc2.Message, int64, error) {
	for len(t.answers) == 0 {
		select {
		case <-t.ended:
			return nil, 0, io.EOF
		default:
		}
		body, err := t.in.next()
		if bad, ok := errors.AsType[*badFrame](err); ok {
			t.log.Warn("unreadable input from the client", "error", bad)
			t.reply(jsonrpc2.ID{}, nil, jsonrpc2.NewError(jsonrpc2.ParseError, bad.message))
			continue
		}
		if err != nil {
			t.end(t.ending(err))
			continue
		}
		t.receive(body)
	}
	m := t.answers[0]
	t.answers = t.answers[1:]
	return m, 0, nil
}

// Write queues a message. It ignores ctx: $/cancelRequest has to go out
// exactly when a ctx has ended.
func (t *transport) Write(_ context.Context, m jsonrpc2.Message) (int64, error) {
	return 0, t.out.put(func(dst []byte) []byte { return jsonrpc2.AppendMessage(dst, m) })
}

// Close is called by jsonrpc2 when it is done; Serve closes what it reads from.
func (t *transport) Close() error {
	t.end(nil)
	return nil
}

// reply is the [reply] of a request that came alone.
func (t *transport) reply(id jsonrpc2.ID, result jsonrpc2.RawMessage, err *jsonrpc2.Error) {
	// An outbox that takes nothing more ends the connection by itself.
	_ = t.out.put(func(dst []byte) []byte { return appendResponse(dst, id, result, err) })
}

func appendResponse(dst []byte, id jsonrpc2.ID, result jsonrpc2.RawMessage, err *jsonrpc2.Error) []byte {
	if err != nil {
		return jsonrpc2.AppendResponse(dst, id, nil, err)
	}
	return jsonrpc2.AppendResponse(dst, id, result, nil)
}

// receive hands on what one frame holds.
func (t *transport) receive(body []byte) {
	body = bytes.Trim(body, " \t\r\n")
	if len(body) == 0 || body[0] != '[' {
		t.dispatch(decode(body), t.reply)
		return
	}
	var members []json.RawMessage
	err := json.Unmarshal(body, &members)
	switch {
	case err != nil:
		t.dispatch(malformed(jsonrpc2.ID{}, jsonrpc2.ParseError, "invalid JSON: "+err.Error()), t.reply)
	case len(members) == 0:
		t.dispatch(malformed(jsonrpc2.ID{}, jsonrpc2.InvalidRequest, "empty batch"), t.reply)
	default:
		b := &batch{out: t.out}
		messages := make([]message, len(members))
		for i, m := range members {
			messages[i] = decode(m)
			if messages[i].answered() {
				b.owed++
			}
		}
		for _, m := range messages {
			t.dispatch(m, b.reply)
		}
	}
}

func (t *transport) dispatch(m message, answer reply) {
	if m.bad != nil {
		t.log.Warn("no JSON-RPC message from the client", "error", m.bad)
		answer(m.id, nil, m.bad)
		return
	}
	switch m := m.Message.(type) {
	case *jsonrpc2.Response:
		t.answers = append(t.answers, m)
	case *jsonrpc2.Notification:
		t.handler.notified(m.Method(), m.Params())
	case *jsonrpc2.Call:
		t.handler.requested(m.ID(), m.Method(), m.Params(), answer)
	}
}

// batch collects the answers to a batch, which go out as one array.
type batch struct {
	out     *outbox
	mu      sync.Mutex
	owed    int
	answers []byte
}

func (b *batch) reply(id jsonrpc2.ID, result jsonrpc2.RawMessage, err *jsonrpc2.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, ',')
	b.answers = appendResponse(b.answers, id, result, err)
	if b.owed--; b.owed > 0 {
		return
	}
	b.answers[0] = '['
	_ = b.out.put(func(dst []byte) []byte { return append(append(dst, b.answers...), ']') })
}

// codec encodes protocol's types as that package wants it (encoding/json does
// it wrong), and takes raw JSON as it is.
type codec struct{}

func (codec) Marshal(v any) ([]byte, error) {
	switch raw := v.(type) {
	case json.RawMessage:
		return raw, nil
	case jsonrpc2.RawMessage:
		return raw, nil
	}
	return protocol.Marshal(v)
}

func (codec) Unmarshal(data []byte, v any) error {
	switch raw := v.(type) {
	case *json.RawMessage:
		*raw = bytes.Clone(data)
		return nil
	case *jsonrpc2.RawMessage:
		*raw = bytes.Clone(data)
		return nil
	}
	return protocol.Unmarshal(data, v)
}
