package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"agentls/mcp/workspace"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// embedded is an MCP server in this process; [workspace.Server] is one.
type embedded interface {
	Handle(ctx context.Context, method string, params json.RawMessage) (result any, err error)
	Notifications() <-chan workspace.Notification
	Close()
}

// carryWorkspace starts the embedded server.
func (s *session) carryWorkspace() (carrier, error) {
	server := workspace.NewServer(s.state, BaseEnviron(s.environ), s.reaper, s.log.With("server", workspaceName))
	return carryEmbedded(server, s.log), nil
}

func carryEmbedded(server embedded, log *slog.Logger) carrier {
	t := &inprocess{server: server, log: log, done: make(chan struct{})}
	none := func() string { return "" }
	return carrier{transport: t, reason: none, words: none, room: func(context.Context) error { return nil }, close: t.shut, live: true}
}

// inprocess is a transport of mcp-go over a server in this process.
type inprocess struct {
	server embedded
	log    *slog.Logger
	once   sync.Once
	done   chan struct{} // closed by shut
	wg     sync.WaitGroup

	mu     sync.Mutex
	notify func(mcpgo.JSONRPCNotification)
}

// Start passes on the server's notifications until shut.
func (t *inprocess) Start(context.Context) error {
	t.wg.Go(func() {
		for {
			select {
			case n := <-t.server.Notifications():
				t.pass(n)
			case <-t.done:
				return
			}
		}
	})
	return nil
}

func (t *inprocess) pass(n workspace.Notification) {
	out := mcpgo.JSONRPCNotification{JSONRPC: mcpgo.JSONRPC_VERSION}
	out.Method = n.Method
	if n.Params != nil {
		raw, err := json.Marshal(n.Params)
		if err == nil {
			err = json.Unmarshal(raw, &out.Params.AdditionalFields)
		}
		if err != nil {
			t.log.Error("notification of the embedded server", "method", n.Method, "err", err)
			return
		}
	}
	t.mu.Lock()
	notify := t.notify
	t.mu.Unlock()
	if notify != nil {
		notify(out)
	}
}

// SendRequest lets the server handle the request on the caller's goroutine.
func (t *inprocess) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	select {
	case <-t.done:
		return nil, transport.ErrTransportClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	default:
	}
	var params json.RawMessage
	if req.Params != nil {
		var err error
		if params, err = json.Marshal(req.Params); err != nil {
			return nil, fmt.Errorf("params of %s: %w", req.Method, err)
		}
	}
	result, err := t.server.Handle(ctx, req.Method, params)
	if e, ok := errors.AsType[*workspace.Error](err); ok {
		return transport.NewJSONRPCErrorResponse(req.ID, e.Code, e.Message, nil), nil
	}
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("result of %s: %w", req.Method, err)
	}
	return transport.NewJSONRPCResultResponse(req.ID, raw), nil
}

// SendNotification gives the server a notification; there is no answer.
func (t *inprocess) SendNotification(ctx context.Context, n mcpgo.JSONRPCNotification) error {
	params, err := json.Marshal(n.Params)
	if err != nil {
		return err
	}
	_, err = t.server.Handle(ctx, n.Method, params)
	return err
}

// SetNotificationHandler sets who is told of notifications.
func (t *inprocess) SetNotificationHandler(f func(mcpgo.JSONRPCNotification)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notify = f
}

// Close does nothing; see shut.
func (t *inprocess) Close() error { return nil }

// GetSessionId returns "": there are no sessions.
//
//nolint:revive,staticcheck // mcp-go's name
func (t *inprocess) GetSessionId() string { return "" }

// shut ends the server and waits for it.
func (t *inprocess) shut() {
	t.once.Do(func() {
		close(t.done)
		t.wg.Wait()
		t.server.Close()
	})
}
