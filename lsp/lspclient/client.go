// Package lspclient is the editor's side of a pipe: it drives the built binary
// from outside, in the demo, in benchmarks and in tests, and the server of the
// same process in `agentls chat`. It knows frames and JSON-RPC and none of the
// server's types.
package lspclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os/exec"
	"strconv"
	"sync"
)

// Message is a JSON-RPC message of any kind.
type Message struct {
	JSONRPC string           `json:"jsonrpc"`
	ID      *json.RawMessage `json:"id,omitempty"`
	Method  string           `json:"method,omitempty"`
	Params  json.RawMessage  `json:"params,omitempty"`
	Result  json.RawMessage  `json:"result,omitempty"`
	Error   *Error           `json:"error,omitempty"`
}

// Error is the server's answer to a request that failed.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Options are what a client does beside its user. Each may be nil.
type Options struct {
	// Show sees each frame, before it is sent or read.
	Show func(sent bool, frame []byte)
	// Take gets each frame that comes before it is decoded. True: it is dealt
	// with, and nobody else sees it.
	Take func(frame []byte) bool
	// Answer gives the result of a request of the server; nil: null. Each
	// request has its goroutine, which Close waits for; ctx ends when the server
	// takes its request back or is gone.
	Answer func(ctx context.Context, method string, params json.RawMessage) any
	// Note takes each notification of the server, in the order they come. They
	// are not kept for Await then: a long dialogue would keep all of them.
	Note func(method string, params json.RawMessage)
}

// Client sends requests and notifications to one server, answers what it asks,
// and lets its user wait for what is expected. Safe for concurrent use.
type Client struct {
	o    Options
	w    io.WriteCloser
	cmd  *exec.Cmd     // nil: the server is no process of its own
	done chan struct{} // closed when the server's output has ended

	answers sync.WaitGroup // of the server's requests

	mu      sync.Mutex
	next    int
	pending map[string]chan Message
	asked   map[string]context.CancelFunc // requests of the server that are being answered
	notes   []Message                     // notifications, and requests of the server
	changed chan struct{}                 // closed and replaced when notes grow
	err     error                         // why the output ended
}

// Start starts a server and speaks to it on its standard input and output.
func Start(cmd *exec.Cmd, o Options) (*Client, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := connect(in, o)
	c.cmd = cmd
	go c.read(out) // ends with the server's output; Close waits for it
	return c, nil
}

// Connect speaks to a server that reads what is written to w and writes what
// is read from r.
func Connect(r io.Reader, w io.WriteCloser, o Options) *Client {
	c := connect(w, o)
	go c.read(r) // ends with the server's output; Close waits for it
	return c
}

func connect(w io.WriteCloser, o Options) *Client {
	return &Client{
		o: o, w: w, done: make(chan struct{}), pending: map[string]chan Message{}, asked: map[string]context.CancelFunc{}, changed: make(chan struct{}),
	}
}

// Close ends the server's input and waits for the server's end.
func (c *Client) Close() error {
	_ = c.w.Close()
	<-c.done
	c.answers.Wait()
	if c.cmd == nil {
		return nil
	}
	return c.cmd.Wait()
}

// PID is the server's.
func (c *Client) PID() int { return c.cmd.Process.Pid }

// read takes frames until the server's end; anything that is no frame ends it
// with an error.
func (c *Client) read(r io.Reader) {
	defer close(c.done)
	c.ended(c.readFrames(bufio.NewReaderSize(r, 1<<20)))
	_, _ = io.Copy(io.Discard, r) // or a server that still writes would never end
}

// ended ends every wait.
func (c *Client) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for id, ch := range c.pending {
		close(ch)
		delete(c.pending, id)
	}
	for _, cancel := range c.asked {
		cancel()
	}
	close(c.changed)
}

func (c *Client) readFrames(r *bufio.Reader) error {
	for {
		body, err := ReadFrame(r)
		if err != nil {
			return err
		}
		if c.o.Show != nil {
			c.o.Show(false, body)
		}
		if c.o.Take != nil && c.o.Take(body) {
			continue
		}
		var m Message
		if err := json.Unmarshal(body, &m); err != nil {
			return fmt.Errorf("a frame is no JSON: %w", err)
		}
		c.take(m)
	}
}

// ReadFrame reads the body of one frame.
func ReadFrame(r *bufio.Reader) ([]byte, error) {
	header, err := textproto.NewReader(r).ReadMIMEHeader()
	if e, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return nil, fmt.Errorf("this is no LSP: %w", e)
	}
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(header.Get("Content-Length"), 10, 31)
	if err != nil {
		return nil, fmt.Errorf("this is no LSP: %v", header)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return body, err
}

// WriteFrame writes body as one frame, in one write.
func WriteFrame(w io.Writer, body []byte) error {
	_, err := fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

func (c *Client) take(m Message) {
	if m.Method == "" && m.ID != nil {
		c.mu.Lock()
		ch := c.pending[string(*m.ID)]
		delete(c.pending, string(*m.ID))
		c.mu.Unlock()
		if ch != nil {
			ch <- m
		}
		return
	}
	switch {
	case m.ID != nil:
		c.answer(m)
	case m.Method == "$/cancelRequest":
		c.takeBack(m.Params)
	case c.o.Note != nil:
		c.o.Note(m.Method, m.Params)
		return
	}
	c.mu.Lock()
	c.notes = append(c.notes, m)
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
}

// answer answers a request of the server.
func (c *Client) answer(m Message) {
	ctx, cancel := context.WithCancel(context.Background()) // ended by the answer, or by who asked
	id := string(*m.ID)
	c.mu.Lock()
	c.asked[id] = cancel
	c.mu.Unlock()
	c.answers.Go(func() {
		defer cancel()
		var result any
		if c.o.Answer != nil {
			result = c.o.Answer(ctx, m.Method, m.Params)
		}
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
		if ctx.Err() != nil {
			c.send(Message{ID: m.ID, Error: &Error{Code: requestCancelled, Message: "cancelled"}})
			return
		}
		c.send(Message{ID: m.ID, Result: encoded(result)})
	})
}

// requestCancelled is LSP's code of a request that was cancelled.
const requestCancelled = -32800

// takeBack ends what answers a request that the server needs no more.
func (c *Client) takeBack(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(params, &p) // another shape names no request
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.asked[string(p.ID)]; cancel != nil {
		cancel()
	}
}

// send writes a message. A server that is gone is seen where its answer is
// awaited.
func (c *Client) send(m Message) {
	m.JSONRPC = "2.0"
	body := encoded(m)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Show != nil {
		c.o.Show(true, body)
	}
	_ = WriteFrame(c.w, body)
}

func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // made of our own values
	}
	return b
}

// Write sends a body that is ready made.
func (c *Client) Write(body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return WriteFrame(c.w, body)
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) {
	c.send(Message{Method: method, Params: encoded(params)})
}

// Request sends a request; wait gives its answer, an [*Error] if it failed.
func (c *Client) Request(method string, params any) (id json.RawMessage, wait func(ctx context.Context, result any) error) {
	ch := make(chan Message, 1)
	c.mu.Lock()
	c.next++
	id = json.RawMessage(strconv.Itoa(c.next))
	if c.err == nil {
		c.pending[string(id)] = ch
	} else {
		close(ch)
	}
	c.mu.Unlock()
	c.send(Message{ID: &id, Method: method, Params: encoded(params)})
	return id, func(ctx context.Context, result any) error {
		select {
		case m, ok := <-ch:
			switch {
			case !ok:
				return fmt.Errorf("%s: the server is gone", method)
			case m.Error != nil:
				return m.Error
			case result == nil:
				return nil
			}
			return json.Unmarshal(m.Result, result)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", method, context.Cause(ctx))
		}
	}
}

// Call sends a request and waits for its answer.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	_, wait := c.Request(method, params)
	return wait(ctx, result)
}

// Execute calls a command with one argument.
func (c *Client) Execute(ctx context.Context, command string, argument, result any) error {
	return c.Call(ctx, "workspace/executeCommand", Command(command, argument), result)
}

// Command is the parameters of workspace/executeCommand.
func Command(command string, argument any) map[string]any {
	return map[string]any{"command": command, "arguments": []any{argument}}
}

// Mark gives the place in what came from which Await looks.
func (c *Client) Mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.notes)
}

// Await waits until a notification or request of the server since the mark is
// accepted. what is the error's beginning.
func (c *Client) Await(ctx context.Context, mark int, what string, accept func(Message) bool) error {
	for {
		c.mu.Lock()
		notes, changed, err := c.notes, c.changed, c.err
		c.mu.Unlock()
		for ; mark < len(notes); mark++ {
			if accept(notes[mark]) {
				return nil
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		select {
		case <-changed:
			if err != nil {
				return fmt.Errorf("%s: the server is gone", what)
			}
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
}
