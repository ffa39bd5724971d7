package lsptest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Deadline is how long an [Editor] waits for anything before the test fails.
const Deadline = 10 * time.Second

// Serve is the server under test, such as the Serve method of lsp.Server.
type Serve func(ctx context.Context, r io.Reader, w io.Writer) (code int, err error)

// Editor is one fake editor with its server. Its methods are safe for
// concurrent use; they fail the test where the server breaks the protocol: all
// that it says is held against the [MetaModel].
type Editor struct {
	t      testing.TB
	model  *MetaModel
	cancel context.CancelFunc
	in     *io.PipeWriter // the server's stdin
	out    *io.PipeReader // the server's stdout
	done   chan struct{}  // closed when Serve has returned
	code   int            // of Serve, after done
	err    error
	gone   sync.WaitGroup // goroutines of the editor

	writing sync.Mutex // one frame at a time

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever something was recorded
	lastID   int64
	pending  map[int64]*Pending
	notes    []Notification
	requests []Request
	answers  map[string]Answer
	echoes   map[string]bool // of Echoes
	docs     map[string]*document
	utf8     bool
	ended    bool // the server's stdout ended
}

// Notification is a notification of the server.
type Notification struct {
	Method string
	Params json.RawMessage
}

// Request is a request of the server.
type Request struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// Error is the error of an answer.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s %s", e.Code, e.Message, e.Data) }

// Answer answers a request of the server. It may return an *Error, or
// [ErrSilent] to leave the request without an answer. It runs on a goroutine of
// its own and may use the Editor.
type Answer func(params json.RawMessage) (result any, err error)

// ErrSilent leaves a request of the server unanswered.
var ErrSilent = fmt.Errorf("no answer")

// New starts the server and connects an editor to it. At the end of the test
// the editor goes away without a word, and the server must end by itself.
func New(t testing.TB, serve Serve) *Editor {
	t.Helper()
	model, err := LoadMetaModel()
	if err != nil {
		t.Fatal(err)
	}
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	e := &Editor{
		t: t, model: model, cancel: cancel, in: in, out: out, done: make(chan struct{}), changed: make(chan struct{}),
		pending: make(map[int64]*Pending), answers: make(map[string]Answer), echoes: make(map[string]bool), docs: make(map[string]*document),
	}
	e.gone.Go(func() { // ends with Serve, which the end of stdin ends
		defer close(e.done)
		e.code, e.err = serve(ctx, stdin, stdout)
		_ = stdout.Close()
	})
	e.gone.Go(e.read) // ends with stdout
	t.Cleanup(func() {
		_ = in.Close()
		e.Wait()
		cancel()
		e.gone.Wait()
	})
	return e
}

// Echoes says that the answers to a method hold what the test put in, which is
// no LSP on purpose: they are not held against it.
func (e *Editor) Echoes(method string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.echoes[method] = true
}

// Wait waits for the server to end and returns what Serve returned.
func (e *Editor) Wait() (code int, err error) {
	e.t.Helper()
	select {
	case <-e.done:
	case <-time.After(Deadline):
		_ = e.out.Close()
		e.t.Fatalf("the server did not end in %v", Deadline)
	}
	return e.code, e.err
}

// Close ends the server's input, as an editor that is gone does.
func (e *Editor) Close() { _ = e.in.Close() }

// Cancel cancels the ctx that Serve runs on.
func (e *Editor) Cancel() { e.cancel() }

// Shutdown leaves by the book and returns the server's exit code.
func (e *Editor) Shutdown() (code int) {
	e.t.Helper()
	if result := e.Call("shutdown", nil); string(result) != "null" {
		e.t.Errorf("shutdown answered %s", result)
	}
	e.Notify("exit", nil)
	code, err := e.Wait()
	if err != nil {
		e.t.Errorf("Serve: %v", err)
	}
	return code
}

// Raw writes bytes as they are.
func (e *Editor) Raw(b []byte) {
	e.forget(b)
	e.writing.Lock()
	defer e.writing.Unlock()
	_, _ = e.in.Write(b) // a server that is gone is no fault of the test's
}

// Frame sends a body with its header.
func (e *Editor) Frame(body []byte) {
	e.Raw(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...))
}

func (e *Editor) send(m map[string]any) {
	m["jsonrpc"] = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		e.t.Errorf("encode: %v", err)
		return
	}
	e.Frame(body)
}

// Notify sends a notification; nil params are left out.
func (e *Editor) Notify(method string, params any) {
	m := map[string]any{"method": method}
	if params != nil {
		m["params"] = params
	}
	e.send(m)
}

// incoming is any message of the server.
type incoming struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *Error          `json:"error"`
}

// read takes the server's messages until its stdout ends.
func (e *Editor) read() {
	r := bufio.NewReader(e.out)
	for {
		body, err := readFrame(r)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				e.t.Errorf("stdout is not LSP: %v", err)
			}
			break
		}
		if body[0] == '[' {
			var batch []incoming
			if err := json.Unmarshal(body, &batch); err != nil {
				e.t.Errorf("stdout is not LSP: %v: %.200s", err, body)
			}
			e.record(batch...)
			continue
		}
		var m incoming
		if err := json.Unmarshal(body, &m); err != nil || m.Version != "2.0" {
			e.t.Errorf("stdout is not LSP: %v: %.200s", err, body)
			continue
		}
		e.record(m)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.tell()
}

// readFrame is strict: anything but a header and its body is an error.
func readFrame(r *bufio.Reader) ([]byte, error) {
	header, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil || n <= 0 || len(header) != 1 {
		return nil, fmt.Errorf("header %v", header)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return body, err
}

func (e *Editor) record(messages ...incoming) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.tell()
	for _, m := range messages {
		if m.Method != "" {
			if err := e.model.Message(m.Method, m.Params); err != nil {
				e.t.Errorf("not LSP: %v", err)
			}
		}
		switch {
		case m.Method != "" && m.ID != nil:
			r := Request{m.ID, m.Method, m.Params}
			e.requests = append(e.requests, r)
			answer := e.answers[m.Method]
			e.gone.Go(func() { e.answer(r, answer) }) // ends with its Answer
		case m.Method != "":
			e.notes = append(e.notes, Notification{m.Method, m.Params})
		default:
			e.settle(m)
		}
	}
}

// settle gives an answer to who waits for it. e.mu is held.
func (e *Editor) settle(m incoming) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	p := e.pending[id]
	switch {
	case err != nil || p == nil:
		// An answer to something that was sent raw: null ids, ids of strings.
		e.notes = append(e.notes, Notification{Method: "", Params: mustJSON(map[string]any{"id": m.ID, "result": m.Result, "error": m.Error})})
	case p.answered:
		e.t.Errorf("request %d (%s) was answered twice", id, p.Method)
	default:
		if err := e.held(p, m); err != nil {
			e.t.Errorf("not LSP: the answer to %v", err)
		}
		if p.about != nil {
			var result any
			_ = json.Unmarshal(m.Result, &result) // none of an error
			if err := checkPlaces(result, p.about.document, e.utf8); err != nil {
				e.t.Errorf("%s of %s: %v in %.300s", p.Method, p.about.uri, err, m.Result)
			}
		}
		p.answered, p.result, p.err = true, m.Result, m.Error
		close(p.done)
	}
}

// held holds an answer against LSP and the contract. e.mu is held.
func (e *Editor) held(p *Pending, m incoming) error {
	switch {
	case e.echoes[p.Method]:
		return nil
	case m.Error == nil:
		return errors.Join(e.model.Result(p.Method, m.Result), e.model.CommandResult(p.command, m.Result))
	case p.command != "" && len(m.Error.Data) > 0:
		if err := e.model.RunError(m.Error.Data); err != nil {
			return fmt.Errorf("%s: %w", p.command, err)
		}
	}
	return nil
}

// tell wakes Await. e.mu is held.
func (e *Editor) tell() {
	close(e.changed)
	e.changed = make(chan struct{})
}

func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
