package lsp

import (
	"context"

	"agentls/mcp"
)

func prepareEnable(s *Server, _ context.Context, arg serverArg, in invocation) (serveFunc, error) {
	if err := s.server(in.command, arg.Server); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		info, err := s.enable(*arg.Server)
		return s.told(info), s.mcpError(ctx, in.command, *arg.Server, err)
	}, nil
}

// enable starts a server, and asks for the trust that it needs.
func (s *Server) enable(server string) (mcp.ServerInfo, error) {
	info, err := s.o.Manager.Enable(server)
	if err == nil && info.Status == mcp.StatusUntrusted {
		s.asks.askFolder(true) // does nothing in a trusted folder, where the server itself is asked about
	}
	return info, err
}

func prepareDisable(s *Server, _ context.Context, arg serverArg, in invocation) (serveFunc, error) {
	if err := s.server(in.command, arg.Server); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		info, err := s.o.Manager.Disable(*arg.Server)
		return s.told(info), s.mcpError(ctx, in.command, *arg.Server, err)
	}, nil
}

// told takes secrets out of what an information of a server says.
func (s *Server) told(info mcp.ServerInfo) mcp.ServerInfo {
	info.Error = s.o.Secrets.Redact(info.Error)
	return info
}
