package main

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
)

// message is a JSON-RPC message of any kind.
type message struct {
	JSONRPC string           `json:"jsonrpc"`
	ID      *json.RawMessage `json:"id,omitempty"`
	Method  string           `json:"method,omitempty"`
	Params  json.RawMessage  `json:"params,omitempty"`
	Result  json.RawMessage  `json:"result,omitempty"`
	Error   *wireError       `json:"error,omitempty"`
}

type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *wireError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// demoClient is the editor's side of the demo: it shows every frame, answers
// what a server asks, and lets the story wait for what it expects.
type demoClient struct {
	w    io.Writer
	show func(sent bool, frame []byte)
	// answer gives the result of a request of the server.
	answer func(method string, params json.RawMessage) any

	mu      sync.Mutex
	next    int
	pending map[string]chan message
	notes   []message     // notifications, and requests of the server
	changed chan struct{} // closed and replaced when notes grow
	err     error
}

func newDemoClient(w io.Writer, show func(bool, []byte), answer func(string, json.RawMessage) any) *demoClient {
	return &demoClient{w: w, show: show, answer: answer, pending: map[string]chan message{}, changed: make(chan struct{})}
}

// read takes frames until the server's end; anything that is no frame ends it
// with an error.
func (c *demoClient) read(r io.Reader) {
	err := c.readFrames(bufio.NewReader(r))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for _, ch := range c.pending {
		close(ch)
	}
	close(c.changed)
}

func (c *demoClient) readFrames(r *bufio.Reader) error {
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			return fmt.Errorf("standard output holds something that is no LSP: %v", header)
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			return fmt.Errorf("a frame is no JSON: %w", err)
		}
		c.show(false, body)
		c.take(m)
	}
}

func (c *demoClient) take(m message) {
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
	if m.ID != nil {
		result, _ := json.Marshal(c.answer(m.Method, m.Params))
		c.send(message{ID: m.ID, Result: result})
	}
	c.mu.Lock()
	c.notes = append(c.notes, m)
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
}

func (c *demoClient) send(m message) {
	m.JSONRPC = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		panic(err) // made of our own values
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.show(true, body)
	fmt.Fprintf(c.w, "Content-Length: %d\r\n\r\n%s", len(body), body)
}

func params(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // made of our own values
	}
	return b
}

func (c *demoClient) notify(method string, p any) { c.send(message{Method: method, Params: params(p)}) }

// start sends a request; wait gives its answer.
func (c *demoClient) start(method string, p any) (id json.RawMessage, wait func(context.Context, any) error) {
	c.mu.Lock()
	c.next++
	id = json.RawMessage(strconv.Itoa(c.next))
	ch := make(chan message, 1)
	c.pending[string(id)] = ch
	c.mu.Unlock()
	c.send(message{ID: &id, Method: method, Params: params(p)})
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

func (c *demoClient) call(ctx context.Context, method string, p, result any) error {
	_, wait := c.start(method, p)
	return wait(ctx, result)
}

// mark gives the place in the story from which await looks.
func (c *demoClient) mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.notes)
}

// await waits until a notification or request of the server since the mark is
// accepted.
func (c *demoClient) await(ctx context.Context, seen int, what string, accept func(message) bool) error {
	for {
		c.mu.Lock()
		notes, changed, err := c.notes, c.changed, c.err
		c.mu.Unlock()
		for ; seen < len(notes); seen++ {
			if accept(notes[seen]) {
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
