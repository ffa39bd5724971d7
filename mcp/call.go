package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// maxCallTime bounds a call whose server keeps reporting progress.
const maxCallTime = 15 * time.Minute

// callTool calls a tool that the server has.
func (s *session) callTool(ctx context.Context, tool string, args json.RawMessage, progress func(Progress)) (ToolResult, error) {
	c, err := s.use(ctx)
	if err != nil {
		return ToolResult{}, err
	}
	s.mu.Lock()
	known := slices.ContainsFunc(s.tools, func(t Tool) bool { return t.Name == tool })
	s.mu.Unlock()
	if !known {
		return ToolResult{}, fmt.Errorf("%w: %q of server %q", ErrUnknownTool, tool, s.cfg.Name)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return c.callTool(ctx, tool, args, progress)
}

// callTool calls a tool. Its deadline is the request's, from the call or from
// the last progress that the server reported, and maxCallTime at most.
func (c *connection) callTool(ctx context.Context, tool string, args json.RawMessage, progress func(Progress)) (ToolResult, error) {
	defer c.calls.begin(ctx)()
	token, values := c.progress.add()
	defer c.progress.remove(token)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var req mcpgo.CallToolRequest
	req.Params.Name = tool
	req.Params.Arguments = args
	req.Params.Meta = &mcpgo.Meta{ProgressToken: token}
	type outcome struct {
		raw json.RawMessage
		err error
	}
	done := make(chan outcome, 1)
	go func() { // ends with ctx at the latest; awaited below
		raw, err := c.askWithin(ctx, &exchange{}, guarded(func(ctx context.Context) error {
			_, err := c.client.CallTool(ctx, req)
			return err
		}))
		done <- outcome{raw, err}
	}()

	start, clock, limit := time.Now(), time.NewTimer(c.timeout), max(maxCallTime, c.timeout)
	defer clock.Stop()
	report := func(p Progress) {
		if progress != nil && ctx.Err() == nil {
			progress(p)
		}
	}
	for {
		select {
		case p := <-values:
			clock.Reset(min(c.timeout, max(0, limit-time.Since(start))))
			report(p)
		case <-clock.C:
			cancel(&timeoutError{"tools/call of " + tool, time.Since(start).Round(time.Millisecond)})
		case r := <-done:
			for len(values) > 0 { // what came before the result
				report(<-values)
			}
			if r.err != nil {
				return ToolResult{}, r.err
			}
			return parseToolResult(r.raw), nil
		}
	}
}
