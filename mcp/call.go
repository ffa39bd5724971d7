package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// listWait is how long a call of a tool that is not listed waits for a list that
// is on its way.
const listWait = 2 * time.Second

// callTool calls a tool that the server has.
func (s *session) callTool(ctx context.Context, tool string, args json.RawMessage, progress func(Progress)) (ToolResult, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	var t Tool
	var res ToolResult
	err := s.using(ctx, refused, func(c *connection) (err error) {
		var known bool
		if t, known = s.tool(tool); !known { // it may be in the list that is being fetched
			wait, cancel := context.WithTimeout(ctx, listWait)
			s.settle(wait)
			cancel()
			t, known = s.tool(tool)
		}
		if !known {
			return fmt.Errorf("%w: %q of server %q", ErrUnknownTool, tool, s.cfg.Name)
		}
		res, err = c.callTool(ctx, tool, args, progress)
		return err
	})
	switch {
	case errors.Is(err, errLost) && !refused(err) && ctx.Err() == nil:
		return ToolResult{}, &toldError{err.Error(), fmt.Errorf("%w: %w", ErrUnknownOutcome, err)}
	case err != nil:
		return ToolResult{}, err
	}
	return s.checked(t, res), nil
}

// callTool calls a tool.
func (c *connection) callTool(ctx context.Context, tool string, args json.RawMessage, progress func(Progress)) (ToolResult, error) {
	defer c.calls.begin(ctx)()
	raw, err := c.attend(ctx, &exchange{}, attended{"tools/call of " + tool, progress, func(ctx context.Context, meta *mcpgo.Meta) error {
		var req mcpgo.CallToolRequest
		req.Params.Name, req.Params.Arguments, req.Params.Meta = tool, args, meta
		_, err := c.client.CallTool(ctx, req)
		return err
	}})
	if err != nil {
		return ToolResult{}, err
	}
	return parseToolResult(raw), nil
}
