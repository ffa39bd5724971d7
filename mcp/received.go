package mcp

import (
	"context"
	"encoding/json"

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
		p.asked(m)
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

// reply posts the answer to a request of the server's.
func (p *peer) reply(ctx context.Context, m []byte) error {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	return p.post(ctx, m)
}
