package lsp

import "agentls/mcp"

// notReady says why nothing of a server can be read, and what to do.
func (s *Server) notReady(info mcp.ServerInfo) string { return "the server " + s.standing(info) }

// standing is notReady without its subject.
func (s *Server) standing(info mcp.ServerInfo) string {
	why := ""
	if info.Error != "" {
		why = ": " + s.tell(info.Error)
	}
	if info.Needs != "" {
		why += "; it needs " + s.tell(info.Needs)
	}
	source := s.sourceOf(info)
	switch info.Status {
	case mcp.StatusDisabled:
		return "is disabled in " + source + "; agentls.mcp.enable turns it on"
	case mcp.StatusUntrusted:
		return "comes from " + source + " and does not start before you trust it; agentls.mcp.restart asks you"
	case mcp.StatusStarting:
		return "is being started"
	case mcp.StatusRestarting:
		return "lost its connection and is being started again" + why
	case mcp.StatusNeedsLogin:
		return "needs a login" + why + "; agentls.mcp.login logs in"
	case mcp.StatusFailed:
		return "cannot be used" + why + "; agentls.mcp.restart starts it again"
	}
	return "is " + string(info.Status) + why + "; agentls.mcp.restart starts it again"
}

// sourceOf says where a server is configured.
func (s *Server) sourceOf(info mcp.ServerInfo) string {
	if info.Source == "editor" {
		return "the editor's settings"
	}
	return s.tell(info.Source)
}
