package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// take sorts what a server sent, which may be a batch: an answer goes to the
// request that waits for it, a second one to nobody.
func (p *peer) take(data []byte) {
	messages, problem := mendFrame(data)
	if problem != "" && !p.junk.Swap(true) {
		p.log.Warn("not an MCP message over HTTP", "text", quoteJunk(data))
	}
	for _, m := range messages {
		p.takeOne(m)
	}
}

func (p *peer) takeOne(m json.RawMessage) {
	var f frame
	if json.Unmarshal(m, &f) != nil {
		return
	}
	switch {
	case f.Method == nil:
		var resp transport.JSONRPCResponse
		if err := json.Unmarshal(m, &resp); err == nil {
			p.answered(&resp)
		}
	case missing(f.ID):
		var n mcpgo.JSONRPCNotification
		if err := json.Unmarshal(m, &n); err != nil {
			p.log.Warn("a notification of an MCP server cannot be read", "err", err)
			return
		}
		p.mu.Lock()
		notify := p.notify
		p.mu.Unlock()
		if notify != nil {
			notify(n)
		}
	default:
		var req transport.JSONRPCRequest
		if err := json.Unmarshal(m, &req); err == nil {
			p.asked(req)
		}
	}
}

// event takes in one event of a stream.
func (p *peer) event(e serverEvent) {
	if e.tail == nil {
		p.take(e.data)
		return
	}
	answers, problem := oversized(e.data, e.tail, maxWireMessage)
	p.problem(problem)
	for _, m := range answers {
		p.takeOne(m)
	}
}

// asked answers a request of the server, beside whatever else goes on: a
// person may have to be asked, so only the connection's end bounds it.
func (p *peer) asked(req transport.JSONRPCRequest) {
	p.mu.Lock()
	handle := p.request
	p.mu.Unlock()
	if handle == nil { // the stream of HTTP+SSE is open before mcp-go's client says who answers
		handle = func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			return nil, errors.New("the conversation has not begun")
		}
	}
	select {
	case p.asks <- struct{}{}:
	default:
		if !p.flooded.Swap(true) {
			p.log.Warn("requests of an MCP server are dropped: too many at once", "method", clip(req.Method, 100))
		}
		return
	}
	started := p.spawn(func() {
		defer func() { <-p.asks }()
		resp, err := handle(p.ctx, req)
		if err != nil {
			resp = transport.NewJSONRPCErrorResponse(req.ID, codeInternal, err.Error(), nil)
		}
		if resp == nil {
			return
		}
		data, err := json.Marshal(resp)
		if err == nil {
			ctx, cancel := context.WithTimeout(p.ctx, replyTimeout)
			defer cancel()
			err = p.post(ctx, data)
		}
		if err != nil && p.ctx.Err() == nil {
			p.log.Warn("an answer to an MCP server could not be sent", "method", clip(req.Method, 100), "err", err)
		}
	})
	if !started {
		<-p.asks
	}
}
