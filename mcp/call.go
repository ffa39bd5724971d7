package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// callTool calls a tool that the server has.
func (s *session) callTool(ctx context.Context, tool string, args json.RawMessage, progress func(Progress)) (ToolResult, error) {
	c, err := s.use(ctx)
	if err != nil {
		return ToolResult{}, err
	}
	t, known := s.tool(tool)
	if !known {
		return ToolResult{}, fmt.Errorf("%w: %q of server %q", ErrUnknownTool, tool, s.cfg.Name)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	res, err := c.callTool(ctx, tool, args, progress)
	switch {
	case errors.Is(err, errLost) && ctx.Err() == nil:
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
