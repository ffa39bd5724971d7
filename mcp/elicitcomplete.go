package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// codeURLElicitationRequired is the error of a request that can only be served
// when a person has opened links (2025-11-25).
const codeURLElicitationRequired = -32042

// maxKnownLinks bounds the elicitationIds that a server may still complete.
const maxKnownLinks = 100

// errLinkDone is the cause of the end of a question about a link: the server
// said that what it is for is done.
var errLinkDone = errors.New("the server said that it is done")

// links are the elicitationIds of a connection that are known: those which a
// person is asked about, and those which were opened (2025-11-25).
type links struct {
	mu     sync.Mutex
	asking map[string]func() // told when it is done
	open   map[string]bool   // opened, and not done as far as is known
	done   map[string]bool   // done while nobody asked any more
}

// asks notes that a person is asked about a link, until end; done is told when
// the server says that it is done.
func (l *links) asks(id string, done func()) (end func()) {
	if id == "" {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asking == nil {
		l.asking, l.open, l.done = map[string]func(){}, map[string]bool{}, map[string]bool{}
	}
	if l.done[id] {
		delete(l.done, id)
		done()
	}
	l.asking[id] = done
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.asking, id)
	}
}

// opened notes that a person opened a link.
func (l *links) opened(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id != "" && len(l.open) < maxKnownLinks {
		l.open[id] = true
	}
}

// complete takes a notifications/elicitation/complete; known: the id is one of
// ours and was not complete. It runs on the read loop.
func (l *links) complete(id string) (known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := l.asking[id]
	known = done != nil || l.open[id]
	if l.open[id] {
		delete(l.open, id)
		if done == nil && len(l.done) < maxKnownLinks {
			l.done[id] = true // the question whether it is done may be on its way
		}
	}
	if done != nil {
		done()
	}
	return known
}

// openLinks asks a person to open what an error -32042 names, and then whether
// it is done. nil: the request can be sent again.
func (c *connection) openLinks(ctx context.Context, refused *rpcError) error {
	list, err := refused.links()
	if err != nil {
		return fmt.Errorf("%w; %w", refused, err)
	}
	opened := map[string]bool{}
	for range 2 { // open it; is it done?
		next := map[string]bool{}
		for _, params := range list {
			r := serverRequest{method: string(mcpgo.MethodElicitationCreate), params: params, origin: originOf(ctx), quiet: isQuiet(ctx), waits: true, opened: opened}
			result, err := c.serve(ctx, r)
			switch answer, _ := result.(elicitResult); {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				return fmt.Errorf("%w; it was not opened: %w", refused, err)
			case answer.Action != "accept":
				return fmt.Errorf("%w; what the server wants opened in a browser was not (%s)", refused, answer.Action)
			default:
				next[answer.opened] = true
			}
		}
		opened = next
	}
	return nil
}

// links reads what the error wants opened: params of elicitations.
func (e *rpcError) links() ([]json.RawMessage, error) {
	var data struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if json.Unmarshal(e.Data, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxInputs {
		return nil, errors.New("it does not say what is to be opened")
	}
	for _, params := range data.Elicitations {
		wanted, _, err := parseElicitation(serverRequest{method: "its elicitation", params: params})
		switch {
		case err != nil:
			return nil, err
		case wanted.Mode != "url":
			return nil, errors.New("it wants something else than links opened")
		}
	}
	return data.Elicitations, nil
}
