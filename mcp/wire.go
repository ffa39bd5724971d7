package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// link stands between mcp-go's client and a transport and mends what mcp-go
// does wrong on the way: its decoders lose a whole answer for one odd item and
// drop keywords of schemas, so a call's result is taken here, raw, and the
// client gets an empty one; notifications go straight to us, before any
// handler of the client could be missing.
type link struct {
	transport.Interface
	modern bool                              // no initialize: server/discover only
	notify func(mcpgo.JSONRPCNotification)   // runs on the read loop
	room   func(context.Context) error       // waits until a request can be queued
	close  func() error                      // ends the transport and what carries it
	panics func(where string, recovered any) // told of a panic in a handler
	// told of what was left out of a list
	problem func(text string)

	mu       sync.Mutex
	mirrored map[string]bool // tools with parameters that are sent as headers too
	hello    json.RawMessage // the raw result of initialize or server/discover
	probe    error           // why server/discover failed: mcp-go does not tell
}

// exchange travels in the context of one call through mcp-go's client and
// brings back what the server answered.
type exchange struct {
	life   context.Context            //nolint:containedctx // not nil: it alone ends the request
	fields map[string]json.RawMessage // set in the request's params, byte for byte
	// sending is told the request's id; nil: nobody is.
	sending func(id mcpgo.RequestId)
	result  json.RawMessage
	needs   *inputRequired  // what the server needs before it gives a result; nil: nothing
	rounds  int             // how often it was given what it needs
	opened  map[string]bool // the links that a person opened for it
	method  string          // set when it is sent
	err     *rpcError
	given   error // why the request was given up; nil: it was not
}

type exchangeKey struct{}

// Start registers the handler of notifications before the reader runs, so
// that early ones are not lost.
func (l *link) Start(ctx context.Context) error {
	l.Interface.SetNotificationHandler(func(n mcpgo.JSONRPCNotification) {
		defer l.recovered("notification")
		l.notify(n)
	})
	return l.Interface.Start(ctx)
}

// SetNotificationHandler keeps ours.
func (l *link) SetNotificationHandler(func(mcpgo.JSONRPCNotification)) {}

// Close ends the transport.
func (l *link) Close() error { return l.close() }

func (l *link) recovered(where string) {
	if r := recover(); r != nil {
		l.panics(where, r)
	}
}

// errNoFallback keeps mcp-go from falling back to initialize on a connection
// that is to be a modern one.
var errNoFallback = errors.New("the server does not speak protocol " + mcpgo.LATEST_PROTOCOL_VERSION)

// SendRequest sends req and keeps the raw answer in the context's exchange.
func (l *link) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	switch req.Method {
	case string(mcpgo.MethodInitialize):
		if l.modern {
			return nil, errNoFallback
		}
		return l.initialize(ctx, req)
	case string(mcpgo.MethodServerDiscover):
		return l.discover(ctx, req)
	}
	ex, _ := ctx.Value(exchangeKey{}).(*exchange)
	if ex == nil {
		return l.send(ctx, req)
	}
	ex.method = req.Method
	if ex.life != nil {
		ctx = ex.life
	}
	if ex.fields != nil {
		req.Params = withFields(req.Params, ex.fields)
	}
	if ex.sending != nil {
		ex.sending(req.ID)
	}
	resp, err := l.send(ctx, req)
	switch {
	case err != nil:
		ex.given = context.Cause(ctx)
		return nil, err
	case resp.Error != nil:
		ex.err = &rpcError{Code: resp.Error.Code, Message: resp.Error.Message}
		if resp.Error.Data != nil {
			ex.err.Data, _ = json.Marshal(resp.Error.Data) // was JSON
		}
		return resp, nil
	}
	if ex.needs, ex.err = parseResultType(req.Method, resp.Result, l.modern); ex.err != nil {
		return transport.NewJSONRPCErrorResponse(resp.ID, ex.err.Code, ex.err.Message, nil), nil //nolint:nilerr // the server's answer, in our words
	}
	ex.result = resp.Result
	forClient := emptyResult(req.Method)
	if req.Method == string(mcpgo.MethodToolsList) && l.modern && l.overHTTP() {
		l.mu.Lock()
		ex.result, forClient = paramHeaders(ex.result, l.mirrored, l.problem)
		l.mu.Unlock()
	}
	return transport.NewJSONRPCResultResponse(resp.ID, forClient), nil
}

// SendNotification gives a cancel its true reason: mcp-go's is "context
// canceled" for all.
func (l *link) SendNotification(ctx context.Context, n mcpgo.JSONRPCNotification) error {
	ex, _ := ctx.Value(exchangeKey{}).(*exchange)
	if n.Method == string(mcpgo.MethodNotificationCancelled) && ex != nil && ex.given != nil {
		n.Params.AdditionalFields = maps.Clone(n.Params.AdditionalFields)
		n.Params.AdditionalFields["reason"] = clip(ex.given.Error(), maxReason)
	}
	return l.Interface.SendNotification(ctx, n)
}

// httpLink is a link over HTTP, where mcp-go tells the transport what was
// negotiated, and leaves cancels to it.
type httpLink struct{ *link }

// SetProtocolVersion tells the transport.
func (l httpLink) SetProtocolVersion(version string) {
	if t, ok := l.Interface.(transport.HTTPConnection); ok {
		t.SetProtocolVersion(version)
	}
}

func (l *link) overHTTP() bool {
	_, ok := l.Interface.(transport.HTTPConnection)
	return ok
}

// forClient returns the link as mcp-go's client has to see it.
func (l *link) forClient() transport.Interface {
	if l.overHTTP() {
		return httpLink{l}
	}
	return l
}

func (l *link) send(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if err := l.room(ctx); err != nil {
		return nil, err
	}
	return l.Interface.SendRequest(ctx, req)
}

// withFields sets fields beside whatever the client put in params: mcp-go
// leaves out an empty cursor, and knows the kinds of input that it knows.
func withFields(params any, set map[string]json.RawMessage) any {
	fields := map[string]json.RawMessage{}
	if raw, err := json.Marshal(params); err == nil {
		_ = json.Unmarshal(raw, &fields)
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	maps.Copy(fields, set)
	return fields
}

// emptyResult is what mcp-go's decoders take for an answer to method.
func emptyResult(method string) json.RawMessage {
	switch method {
	case string(mcpgo.MethodToolsCall):
		return json.RawMessage(`{"content":[]}`)
	case string(mcpgo.MethodResourcesRead):
		return json.RawMessage(`{"contents":[]}`)
	default:
		return json.RawMessage(`{}`)
	}
}

func (l *link) keepHello(raw json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hello = raw
}

func (l *link) keepProbe(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.probe = err
}

// said returns what the server said of itself, and why the probe failed.
func (l *link) said() (hello json.RawMessage, probe error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hello, l.probe
}
