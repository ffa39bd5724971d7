package lsp

import (
	"context"

	"agentls/mcp"
)

// logText is how many code points of a log line are given.
const logText = 4000

// logsArg is the argument of agentls.mcp.logs.
type logsArg struct {
	Server *string `json:"server"`
	Limit  *int    `json:"limit"`
}

// logsResult is the result of agentls.mcp.logs: the last lines, the oldest
// first.
type logsResult struct {
	Name   string        `json:"name"`
	Status mcp.Status    `json:"status"`
	Error  string        `json:"error,omitzero"`
	Lines  []mcp.LogLine `json:"lines"`
}

func prepareLogs(s *Server, ctx context.Context, arg logsArg, in invocation) (serveFunc, error) {
	if err := s.server(in.command, arg.Server); err != nil {
		return nil, err
	}
	limit := listLimit
	if arg.Limit != nil {
		if limit = *arg.Limit; limit < 1 || limit > listMost {
			return nil, badf("%s: limit must be from 1 to %d, not %d", in.command, listMost, limit)
		}
	}
	lines, err := s.o.Manager.Logs(*arg.Server)
	if err != nil {
		return nil, s.mcpError(ctx, in.command, *arg.Server, err)
	}
	info, _ := s.serverInfo(*arg.Server)
	return func(context.Context) (any, error) {
		lines = lines[max(0, len(lines)-limit):]
		for i := range lines {
			lines[i].Text = cleanTo(lines[i].Text, logText)
		}
		return logsResult{Name: *arg.Server, Status: info.Status, Error: s.tell(info.Error), Lines: lines}, nil
	}, nil
}
