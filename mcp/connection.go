package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// connection is one conversation with a server, from its start to its end. A
// server that comes back gets a new one.
type connection struct {
	carrier
	client *client.Client
	link   *link
	modern bool
	// version of the protocol, as negotiated.
	version string
	caps    capabilities
	// instructions are the server's, without its name.
	instructions Instructions
	inbox        *inbox
	progress     progressRoutes
	subs         subscriptions
	// completions asks for values of arguments.
	completions completions
	calls       calls    // under way, which a server's requests may come of
	incoming    incoming // the server's requests
	links       links    // of its elicitations
	clocks      clocks
	// serve answers a request of the server's.
	serve   func(ctx context.Context, r serverRequest) (result any, err error)
	timeout time.Duration // of one request, without a sign of life
	longest time.Duration // of one request, whatever it reports
	retry   time.Duration // before a request that a busy server wants again; doubles
	problem func(text string)
	// tasksTold: that there are tools which only run as tasks.
	tasksTold sync.Once
	note      func(level, text string) // puts a line into the server's log
	gap       func()                   // told when updates of resources may have been missed
	missed    func()                   // told when any notification may have been missed
	turns     turns                    // for long work on lists
	redact    func(string) string

	ctx    context.Context //nolint:containedctx // the connection's lifetime; ends by end
	cancel context.CancelCauseFunc
	listen chan struct{}          // capacity 1: the filter of subscriptions/listen changed
	deaf   atomic.Bool            // since 2026-07-28: nothing is notified for now
	untold [listKinds]atomic.Bool // likewise: lists that the server says to change, but not to us
	// renewed: notifications were missed before the listening that is begun.
	renewed atomic.Bool

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // what spawn started
	// listenings are the subscriptions/listen under way, the last begun last.
	listenings []*listening
}

// errLost is in the chain of an error that says a connection ended.
var errLost = errors.New("the connection to the server ended")

// spawn runs f on a goroutine that end waits for; f ends with c.ctx. false: the
// connection has ended, f does not run.
func (c *connection) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(f)
	return true
}

// end closes the connection and waits for all that belongs to it.
func (c *connection) end(cause error) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(cause)
	_ = c.client.Close()
	c.wg.Wait()
}

// hello starts the conversation in the connection's era.
func (c *connection) hello(ctx context.Context, name, version string) error {
	if err := c.client.Start(c.ctx); err != nil { //nolint:contextcheck // it outlives the start
		return err
	}
	var req mcpgo.InitializeRequest
	req.Params.ClientInfo = mcpgo.Implementation{Name: name, Version: version}
	_, err := c.client.Initialize(ctx, req)
	hello, probe := c.link.said()
	if err != nil {
		if probe != nil && errors.Is(err, errNoFallback) {
			err = fmt.Errorf("%w: %w", errNoFallback, probe)
		}
		err = c.failure(ctx, err)
		if c.peer != nil && errors.Is(err, errLost) {
			return c.peer.why() // it was never there
		}
		if errors.Is(err, mcpgo.ErrMethodNotFound) {
			err = fmt.Errorf("it answered the start with an error, so it may be no MCP server: %w", err)
		}
		if words := c.words(); words != "" && !errors.Is(err, errLost) {
			err = fmt.Errorf("%w; stderr: %s", err, c.redact(words))
		}
		return err
	}
	c.caps, c.version, c.instructions = parseCapabilities(hello), parseVersion(hello), parseInstructions(hello)
	if c.modern && c.caps.logging {
		c.setLevel(ctx)
	}
	return nil
}

// failure turns what mcp-go returned into what a person can use: the cause of
// a cancel, or the last words of a server that ended.
func (c *connection) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*unservedError](err); ok {
		return &unservedError{c.lossError()}
	}
	if cause := context.Cause(c.ctx); errors.Is(cause, errLost) { //nolint:contextcheck // of the connection, not of the call
		return cause
	} else if cause != nil {
		return fmt.Errorf("%w: %w", errLost, cause)
	}
	select {
	case <-c.lost:
		return c.lossError()
	default:
	}
	if errors.Is(err, transport.ErrTransportClosed) {
		return c.lossError()
	}
	if e, ok := errors.AsType[*versionError](err); ok {
		err = e // whatever else was tried
	} else if e, ok := errors.AsType[*transport.Error](err); ok && c.peer != nil {
		err = e.Err
	}
	return &toldError{c.redact(err.Error()), err}
}

func (c *connection) lossError() error {
	err := errLost
	if c.peer != nil {
		err = fmt.Errorf("%w: %w", errLost, c.peer.why())
	}
	return &toldError{errLost.Error() + ": " + c.redact(c.reason()), err}
}

// toldError is an error in other words.
type toldError struct {
	text string
	error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.error }

// timeoutError is the cause of a context whose server did not answer in time.
type timeoutError struct {
	what  string
	after time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no answer to %s within %v", e.what, e.after)
}

// Is makes it a deadline to callers.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ask runs one call of mcp-go's client, by the request's deadline, and returns
// the raw result.
func (c *connection) ask(ctx context.Context, what string, ex *exchange, call func(context.Context) error) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := c.clocks.start(c.timeout, func() { cancel(&timeoutError{what, c.timeout}) })
	defer clock.stop()
	return c.askWithin(ctx, what, ex, call)
}

// askWithin runs one call of mcp-go's client as long as ctx says. A server
// that needs input first gets it, and is asked again. With what, it notes in
// the server's log that the request was given up, and why (basic/utilities/
// cancellation: both parties should log reasons).
func (c *connection) askWithin(ctx context.Context, what string, ex *exchange, call func(context.Context) error) (json.RawMessage, error) {
	for linked := false; ; {
		err := call(context.WithValue(ctx, exchangeKey{}, ex))
		switch {
		case ex.err != nil && ex.err.Code == codeURLElicitationRequired && mayNeedInput(ex.method) && !linked:
			ex.err.Message = c.redact(ex.err.Message)
			if err := c.openLinks(ctx, ex.err); err != nil {
				return nil, err
			}
			linked, ex.err = true, nil
			continue
		case ex.err != nil:
			ex.err.Message = c.redact(ex.err.Message)
			return nil, ex.err
		case err != nil:
			if what != "" && ctx.Err() != nil && c.ctx.Err() == nil {
				c.note("info", "gave up "+what+": "+context.Cause(ctx).Error())
			}
			return nil, c.failure(ctx, err)
		case ex.needs == nil:
			return ex.result, nil
		}
		if err := c.giveInput(ctx, ex); err != nil {
			return nil, err
		}
	}
}

// guarded turns a panic over a server's input into an error: for calls on
// goroutines of our own.
func guarded(call func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("internal error: %v", r)
			}
		}()
		return call(ctx)
	}
}

// listMethod is one of the list requests.
type listMethod struct {
	name string // the method
	key  string // of the items in its result
	call func(context.Context, *client.Client) error
}

func toolsList() listMethod {
	return listMethod{"tools/list", "tools", func(ctx context.Context, c *client.Client) error {
		_, err := c.ListToolsByPage(ctx, mcpgo.ListToolsRequest{})
		return err
	}}
}

func resourcesList() listMethod {
	return listMethod{"resources/list", "resources", func(ctx context.Context, c *client.Client) error {
		_, err := c.ListResourcesByPage(ctx, mcpgo.ListResourcesRequest{})
		return err
	}}
}

func templatesList() listMethod {
	return listMethod{"resources/templates/list", "resourceTemplates", func(ctx context.Context, c *client.Client) error {
		_, err := c.ListResourceTemplatesByPage(ctx, mcpgo.ListResourceTemplatesRequest{})
		return err
	}}
}

func promptsList() listMethod {
	return listMethod{"prompts/list", "prompts", func(ctx context.Context, c *client.Client) error {
		_, err := c.ListPromptsByPage(ctx, mcpgo.ListPromptsRequest{})
		return err
	}}
}

// page fetches one page of a list.
func (c *connection) page(ctx context.Context, m listMethod, cursor json.RawMessage) (json.RawMessage, error) {
	return c.ask(ctx, m.name, &exchange{fields: cursorField(cursor)}, func(ctx context.Context) error { return m.call(ctx, c.client) })
}

func cursorField(cursor json.RawMessage) map[string]json.RawMessage {
	if cursor == nil {
		return nil
	}
	return map[string]json.RawMessage{"cursor": cursor}
}

func (c *connection) tools(ctx context.Context, server string) (listed[Tool], error) {
	list, err := collect(ctx, c, toolsList(), func(raw json.RawMessage) (Tool, bool) { return parseTool(server, raw) }, func(t Tool) string { return t.Name })
	slices.SortFunc(list.items, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	list.items = c.withoutTasks(list.items)
	return list, err
}

func (c *connection) prompts(ctx context.Context) (listed[Prompt], error) {
	return collect(ctx, c, promptsList(), parsePrompt, func(p Prompt) string { return p.Name })
}

func (c *connection) resources(ctx context.Context, server string) (listed[Resource], error) {
	mimeTypes := map[string]string{} // most of a list shares a few
	return collect(ctx, c, resourcesList(), func(raw json.RawMessage) (Resource, bool) {
		r, ok := parseResource(server, raw)
		if known, seen := mimeTypes[r.MIMEType]; seen {
			r.MIMEType = known
		} else {
			mimeTypes[r.MIMEType] = r.MIMEType
		}
		return r, ok
	}, func(r Resource) string { return r.URI })
}

func (c *connection) templates(ctx context.Context) (listed[Template], error) {
	return collect(ctx, c, templatesList(), parseTemplate, func(t Template) string { return t.URITemplate })
}

// read reads a resource. own: the answer is to input that a person or a model
// gave, and nothing to keep.
func (c *connection) read(ctx context.Context, uri string) (raw json.RawMessage, own bool, err error) {
	defer c.calls.begin(ctx)()
	ex := &exchange{}
	raw, err = c.attend(ctx, ex, attended{"resources/read", nil, func(ctx context.Context, meta *mcpgo.Meta) error {
		var req mcpgo.ReadResourceRequest
		req.Params.URI, req.Params.Meta = uri, meta
		_, err := c.client.ReadResource(ctx, req)
		return err
	}})
	return raw, ex.rounds > 0, err
}

func (c *connection) subscribe(ctx context.Context, uri string) error {
	_, err := c.ask(ctx, "resources/subscribe", &exchange{}, func(ctx context.Context) error {
		var req mcpgo.SubscribeRequest
		req.Params.URI = uri
		return c.client.Subscribe(ctx, req)
	})
	return err
}

func (c *connection) unsubscribe(ctx context.Context, uri string) error {
	_, err := c.ask(ctx, "resources/unsubscribe", &exchange{}, func(ctx context.Context) error {
		var req mcpgo.UnsubscribeRequest
		req.Params.URI = uri
		return c.client.Unsubscribe(ctx, req)
	})
	return err
}

// setLevel asks for log messages: up to 2025-11-25 by logging/setLevel, whose
// answer decides nothing; since 2026-07-28 mcp-go puts the level into the _meta
// of each request, and nothing is sent here. A server may not log before.
func (c *connection) setLevel(ctx context.Context) {
	_, _ = c.ask(ctx, "logging/setLevel", &exchange{}, func(ctx context.Context) error {
		var req mcpgo.SetLevelRequest
		req.Params.Level = mcpgo.LoggingLevelInfo
		return c.client.SetLevel(ctx, req)
	})
}
