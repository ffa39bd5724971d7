package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// maxAsking bounds the questions of one server that wait for a person.
const maxAsking = 8

// serverRequest is what a server asks of us: by a request of its own up to
// 2025-11-25, in an input_required since (MRTR).
type serverRequest struct {
	method string
	params json.RawMessage // as they came; may be missing
	conn   *connection
	origin Origin // the run that it comes of, if that is certain
	quiet  bool   // nobody is to be asked
	waits  bool   // for its turn, where too many questions are open
	// opened are the links that a person opened for the same call before.
	opened map[string]bool
}

// errTakenBack is the cause of the end of a request that the server cancelled.
var errTakenBack = errors.New("the server took its request back")

// serverRequestHandler returns what answers a method, in both eras; nil: we
// have not got it. result is the raw or marshalled result. An *rpcError goes to
// the server as it is. ctx ends with a cause when the request has no more use:
// errTakenBack, errCallsEnded, or the end of the connection.
func serverRequestHandler(method string) func(ctx context.Context, s *session, r serverRequest) (result any, err error) {
	switch method {
	case string(mcpgo.MethodPing):
		return func(context.Context, *session, serverRequest) (any, error) { return struct{}{}, nil }
	case string(mcpgo.MethodListRoots):
		return serveRoots
	case string(mcpgo.MethodElicitationCreate):
		return serveElicitation
	case string(mcpgo.MethodSamplingCreateMessage):
		return serveSampling
	}
	return nil
}

// serveRequest answers one request of the server.
func (s *session) serveRequest(ctx context.Context, r serverRequest) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.panicked("request", p)
			err = &rpcError{Code: codeInternal, Message: "internal error"}
		}
	}()
	handle := serverRequestHandler(r.method)
	if handle == nil {
		return nil, &rpcError{Code: codeMethodNotFound, Message: "method not found: " + clip(r.method, 100)}
	}
	return handle(ctx, s, r)
}

// parseParams decodes the params of a request; a missing object is an empty
// one. The error is -32602.
func (r serverRequest) parseParams(into any) error {
	params := r.params
	if missing(params) {
		params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(params, into); err != nil {
		return r.badParams("%v", err)
	}
	return nil
}

// badParams is the answer to a request whose params cannot be used.
func (r serverRequest) badParams(format string, a ...any) error {
	return &rpcError{Code: codeInvalidParams, Message: r.method + ": " + clip(fmt.Sprintf(format, a...), 500)}
}

// takeTurn takes a place among the questions that are open, until leave. false:
// there is none, or ctx has ended before there was one for a request that waits.
func (s *session) takeTurn(ctx context.Context, r serverRequest) (leave func(), ok bool) {
	leave = func() { <-s.asking }
	select {
	case s.asking <- struct{}{}:
		return leave, true
	default:
	}
	if !r.waits {
		return nil, false
	}
	select {
	case s.asking <- struct{}{}:
		return leave, true
	case <-ctx.Done():
		return nil, false
	}
}

// askPerson puts a question of the server's to a person and waits for the
// answer, where a person may be asked. The clocks of the calls stand still
// meanwhile. A question that is out of use or too old is dismissed; of more than
// maxAsking at once the rest waits or is refused, as is all that comes after
// maxRefused noes.
func (s *session) askPerson(ctx context.Context, r serverRequest, q Request) (RequestAnswer, error) {
	if r.quiet {
		return RequestAnswer{}, nil
	}
	defer r.conn.waitsForPerson()()
	ctx, cancel := context.WithTimeout(ctx, s.timing.person)
	defer cancel()
	leave, ok := s.takeTurn(ctx, r)
	switch {
	case ok:
		defer leave()
	case ctx.Err() != nil:
		return RequestAnswer{}, nil
	default:
		return RequestAnswer{}, &rpcError{Code: codeInternal, Message: fmt.Sprintf("%d questions of this server wait for a person already; ask again when they are answered", maxAsking)}
	}
	if !r.conn.calls.mayAsk() {
		return RequestAnswer{}, &rpcError{Code: codeInternal, Message: fmt.Sprintf("a person said no %d times; nobody is asked again before the call has ended, or outside of calls within a minute", maxRefused)}
	}
	q.Server, q.Origin = s.cfg.Name, r.origin
	answer := make(chan RequestAnswer, 1)
	asked := time.Now()
	s.requests.ask(ctx, q, func(a RequestAnswer) { answer <- a })
	select {
	case a := <-answer:
		if !a.Accept && a.Problem == "" {
			r.conn.calls.refuse()
		}
		return a, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.conn.calls.refuse() // nobody is there
		}
		s.log.Debug("a question of an MCP server has no more use", "server", s.cfg.Name, "method", r.method, "after", time.Since(asked), "cause", context.Cause(ctx))
		return RequestAnswer{}, nil
	}
}
