package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// waiter is a request that waits for its answer.
type waiter struct {
	answer chan *transport.JSONRPCResponse // capacity 1
	idle   bool                            // it waits by its nature: subscriptions/listen
	// unserved: the server refused it for want of the session.
	unserved bool
}

// busy reports whether a request waits for its answer: a server may do one
// thing at a time. One that let maxLate requests run into their deadlines and
// answers nothing is no longer taken for busy, whatever waits.
func (p *peer) busy() bool {
	if p.late.Load() >= maxLate {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.waiting {
		if !w.idle {
			return true
		}
	}
	return false
}

// isLook reports whether a request may be one of look's.
func isLook(method string) bool {
	return method == string(mcpgo.MethodPing) || method == string(mcpgo.MethodServerDiscover)
}

func idKey(id mcpgo.RequestId) string {
	raw, err := json.Marshal(id)
	if err != nil {
		return ""
	}
	return string(raw)
}

func (p *peer) expect(req transport.JSONRPCRequest) *waiter {
	w := &waiter{answer: make(chan *transport.JSONRPCResponse, 1), idle: req.Method == string(mcpgo.MethodSubscriptionsListen)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[idKey(req.ID)] = w
	return w
}

func (p *peer) forget(id mcpgo.RequestId) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, idKey(id))
}

func (p *peer) answered(resp *transport.JSONRPCResponse) {
	key := idKey(resp.ID)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late.Store(0)
	if w := p.waiting[key]; w != nil {
		delete(p.waiting, key)
		w.answer <- resp
	}
}

// ask sends a request by send, on a goroutine of its own, and waits for the
// answer. send tells over when there is none to come, and why; it has a lifetime
// of its own, as what follows an answer is read after the caller has gone.
// cancels is await's.
func (p *peer) ask(ctx context.Context, req transport.JSONRPCRequest, cancels bool, send func(life context.Context, body []byte, over chan<- error)) (*transport.JSONRPCResponse, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", req.Method, err)
	}
	w := p.expect(req)
	defer p.forget(req.ID)
	life, end := context.WithCancelCause(p.ctx) //nolint:contextcheck // ended with ctx below
	over := make(chan error, 1)
	if !p.spawn(func() { //nolint:contextcheck // likewise
		defer end(nil)
		send(life, body, over)
	}) {
		end(nil)
		return nil, transport.ErrTransportClosed
	}
	resp, err := p.await(ctx, req, w, over, cancels)
	if err != nil {
		end(err)
		return nil, err
	}
	time.AfterFunc(drainTime, func() { end(nil) }) // the answer may overtake the end of the POST
	return resp, nil
}

// await waits for the answer to a request that was sent, or for what sending
// it gave. A request that is given up is told to the server with cancels.
func (p *peer) await(ctx context.Context, req transport.JSONRPCRequest, w *waiter, sent <-chan error, cancels bool) (*transport.JSONRPCResponse, error) {
	var err error
	select {
	case resp := <-w.answer:
		return resp, nil
	case err = <-sent:
		select {
		case resp := <-w.answer:
			return resp, nil
		default:
		}
	case <-ctx.Done():
	case <-p.ctx.Done():
	}
	switch {
	case p.ctx.Err() != nil && p.wasUnserved(w):
		return nil, &unservedError{context.Cause(p.ctx)}
	case p.ctx.Err() != nil:
		return nil, context.Cause(p.ctx)
	case ctx.Err() != nil:
		if _, ok := errors.AsType[*timeoutError](context.Cause(ctx)); ok && !isLook(req.Method) {
			p.late.Add(1)
		}
		if cancels {
			p.cancelled(req, context.Cause(ctx)) //nolint:contextcheck // the request's has ended
		}
		return nil, context.Cause(ctx)
	case err == nil:
		err = errNoAnswer(req.Method)
	}
	return nil, err
}

// cancelled tells the server that nobody waits for req any more: up to
// 2025-11-25 the end of a stream means nothing. initialize is never cancelled.
func (p *peer) cancelled(req transport.JSONRPCRequest, cause error) {
	if req.Method == string(mcpgo.MethodInitialize) {
		return
	}
	data, err := json.Marshal(map[string]any{
		"jsonrpc": mcpgo.JSONRPC_VERSION, "method": string(mcpgo.MethodNotificationCancelled),
		"params": map[string]any{"requestId": req.ID, "reason": clip(cause.Error(), maxReason)},
	})
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.notes.Go(func() {
		ctx, cancel := context.WithTimeout(p.last, cancelTimeout)
		defer cancel()
		if err := p.post(ctx, data); err != nil && ctx.Err() == nil {
			p.log.Debug("notifications/cancelled could not be sent", "err", err)
		}
	})
}
