package lsptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Pending is a request of the editor.
type Pending struct {
	ID     int64
	Method string

	e        *Editor
	command  string // of workspace/executeCommand
	done     chan struct{}
	about    *asked // the document, as it was then
	answered bool   // of Editor.mu
	result   json.RawMessage
	err      *Error
}

// pend takes the next id for a request.
func (e *Editor) pend(method string, params json.RawMessage) *Pending {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastID++
	p := &Pending{ID: e.lastID, Method: method, e: e, command: CommandOf(method, params), done: make(chan struct{})}
	e.pending[p.ID] = p
	return p
}

// StartText is Start with params as they stand on the wire; "" leaves them out.
func (e *Editor) StartText(method, params string) *Pending {
	p := e.pend(method, json.RawMessage(params))
	e.Frame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q%s}`, p.ID, method, textParams(params)))
	return p
}

// NotifyText is Notify with params as they stand on the wire; "" leaves them
// out.
func (e *Editor) NotifyText(method, params string) {
	e.Frame(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q%s}`, method, textParams(params)))
}

func textParams(params string) string {
	if params == "" {
		return ""
	}
	return `,"params":` + params
}

// Start sends a request; nil params are left out.
func (e *Editor) Start(method string, params any) *Pending {
	raw, err := json.Marshal(params)
	p := e.pend(method, raw)
	if err == nil && ranged[method] {
		e.mu.Lock()
		p.about = e.about(raw)
		e.mu.Unlock()
	}
	m := map[string]any{"id": p.ID, "method": method}
	if params != nil {
		m["params"] = params
	}
	e.send(m)
	return p
}

// Wait waits for the answer.
func (p *Pending) Wait() (json.RawMessage, *Error) {
	p.e.t.Helper()
	select {
	case <-p.done:
	case <-time.After(Deadline):
		p.e.t.Fatalf("no answer to %s (%d) in %v", p.Method, p.ID, Deadline)
	}
	return p.result, p.err
}

// Done is closed when the answer is there.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Cancel sends $/cancelRequest.
func (p *Pending) Cancel() { p.e.Notify("$/cancelRequest", map[string]any{"id": p.ID}) }

// Call sends a request and waits; an error fails the test.
func (e *Editor) Call(method string, params any) json.RawMessage {
	e.t.Helper()
	result, err := e.Start(method, params).Wait()
	if err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
	return result
}

// StartCommand sends workspace/executeCommand. arg nil means no arguments;
// token nil means no workDoneToken.
func (e *Editor) StartCommand(command string, arg, token any) *Pending {
	p := map[string]any{"command": command}
	if arg != nil {
		p["arguments"] = []any{arg}
	}
	if token != nil {
		p["workDoneToken"] = token
	}
	return e.Start("workspace/executeCommand", p)
}

// Command is StartCommand without a token, and waits.
func (e *Editor) Command(command string, arg any) (json.RawMessage, *Error) {
	e.t.Helper()
	return e.StartCommand(command, arg, nil).Wait()
}

// On scripts the answer to a method's requests, in place of the stock answer.
func (e *Editor) On(method string, answer Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers[method] = answer
}

// answer answers a request of the server.
func (e *Editor) answer(r Request, answer Answer) {
	if answer == nil {
		answer = e.stock(r.Method)
	}
	result, err := answer(r.Params)
	if errors.Is(err, ErrSilent) {
		return
	}
	if err == nil {
		e.send(map[string]any{"id": r.ID, "result": result})
		return
	}
	wire := &Error{}
	ok := errors.As(err, &wire)
	if !ok {
		wire = &Error{Code: -32603, Message: err.Error()}
	}
	e.send(map[string]any{"id": r.ID, "error": wire})
}

// stock is what an editor does when its user does nothing.
func (e *Editor) stock(method string) Answer {
	switch method {
	case "workspace/configuration":
		return func(params json.RawMessage) (any, error) {
			var p struct{ Items []json.RawMessage }
			err := json.Unmarshal(params, &p)
			return make([]any, len(p.Items)), err
		}
	case "workspace/applyEdit":
		return e.applyEdit
	case "window/showDocument":
		return func(json.RawMessage) (any, error) { return map[string]any{"success": true}, nil }
	case "window/showMessageRequest", "window/workDoneProgress/create", "client/registerCapability", "client/unregisterCapability",
		"workspace/codeLens/refresh", "workspace/semanticTokens/refresh", "workspace/diagnostic/refresh":
		return func(json.RawMessage) (any, error) { return nil, nil }
	}
	return func(json.RawMessage) (any, error) {
		return nil, &Error{Code: -32601, Message: "method not found: " + method}
	}
}

// Await waits until cond holds; it is asked again whenever something came.
func (e *Editor) Await(what string, cond func() bool) {
	e.t.Helper()
	deadline := time.NewTimer(Deadline)
	defer deadline.Stop()
	for {
		e.mu.Lock()
		changed, ended := e.changed, e.ended
		e.mu.Unlock()
		if cond() {
			return
		}
		if ended {
			e.t.Fatalf("the server ended before %s", what)
		}
		select {
		case <-changed:
		case <-deadline.C:
			e.t.Fatalf("no %s in %v", what, Deadline)
		}
	}
}

// Notifications returns the params of the notifications that came by now, in
// order. The method "" means answers to what was sent raw:
// {"id", "result", "error"}.
func (e *Editor) Notifications(method string) (params []json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.notes {
		if n.Method == method {
			params = append(params, n.Params)
		}
	}
	return params
}

// All returns all notifications that came by now, in order.
func (e *Editor) All() []Notification {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Notification(nil), e.notes...)
}

// Answered returns what the server answered to requests by now: results, and
// the data of errors.
func (e *Editor) Answered() (list []json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.pending {
		switch {
		case p.err != nil:
			list = append(list, p.err.Data)
		case p.answered:
			list = append(list, p.result)
		}
	}
	return list
}

// Requests returns the server's requests of a method that came by now.
func (e *Editor) Requests(method string) (list []Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.requests {
		if r.Method == method {
			list = append(list, r)
		}
	}
	return list
}

// AwaitNotification waits for the nth notification of a method (from 1) and
// returns its params.
func (e *Editor) AwaitNotification(method string, n int) (params json.RawMessage) {
	e.t.Helper()
	e.Await(method, func() bool {
		list := e.Notifications(method)
		if len(list) < n {
			return false
		}
		params = list[n-1]
		return true
	})
	return params
}

// AwaitRequest waits for the nth request of a method (from 1).
func (e *Editor) AwaitRequest(method string, n int) (r Request) {
	e.t.Helper()
	e.Await(method, func() bool {
		list := e.Requests(method)
		if len(list) < n {
			return false
		}
		r = list[n-1]
		return true
	})
	return r
}
