package lsp

import (
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"agentls/mcp"
)

// line puts an event into one line, foreign text made fit to be shown. more
// counts like events that this one stands for.
func (s *Server) line(e mcp.Event, more int) string {
	var text string
	switch e.Kind {
	case mcp.EventReady:
		text = "ready"
	case mcp.EventFailed:
		text = "cannot be used: " + s.tell(e.Err)
	case mcp.EventDisabled:
		text = "disabled until you enable it (agentls.mcp.enable) or start anew"
	case mcp.EventLost:
		text = "connection lost: " + s.tell(e.Err) + "; restarting"
	case mcp.EventRecovered:
		text = "connected again"
	case mcp.EventUntrusted:
		text = "a project file wants to start this server; it waits for your trust (agentls.mcp.trust)"
	case mcp.EventTools, mcp.EventResources, mcp.EventPrompts:
		return s.tell(e.Server) + ": " + s.listNews(e)
	case mcp.EventUpdated:
		text = s.tell(e.URI) + " was updated"
	case mcp.EventCompleted:
		text = "what you did in the browser is complete"
	case mcp.EventLog:
		text = "[" + clean(e.LogLevel) + "] " + s.tell(e.Text)
	default:
		text = s.tell(e.Text)
	}
	if more > 0 {
		text += fmt.Sprintf(" (and %d more like it)", more)
	}
	return s.tell(e.Server) + ": " + text
}

// listNews tells how a list changed.
func (s *Server) listNews(e mcp.Event) string {
	var parts []string
	if e.AddedN > 0 {
		names := make([]string, 0, 3)
		for _, name := range e.Added[:min(len(e.Added), 3)] {
			names = append(names, s.tell(name))
		}
		text := fmt.Sprintf("%d new", e.AddedN)
		if len(names) > 0 {
			text += " (" + strings.Join(names, ", ")
			if e.AddedN > len(names) {
				text += ", …"
			}
			text += ")"
		}
		parts = append(parts, text)
	}
	if e.RemovedN > 0 {
		parts = append(parts, fmt.Sprintf("%d gone", e.RemovedN))
	}
	if len(parts) == 0 {
		return string(e.Kind) + " changed"
	}
	return string(e.Kind) + ": " + strings.Join(parts, ", ")
}

// messageType is how loud an event is told.
func messageType(e mcp.Event) protocol.MessageType {
	switch e.Kind {
	case mcp.EventFailed:
		return protocol.MessageTypeError
	case mcp.EventLost, mcp.EventProblem:
		return protocol.MessageTypeWarning
	case mcp.EventLog:
		return logType(e.LogLevel)
	}
	return protocol.MessageTypeInfo
}

// logType gives MCP's log levels as LSP's message types.
func logType(logLevel string) protocol.MessageType {
	switch logLevel {
	case "emergency", "alert", "critical", "error":
		return protocol.MessageTypeError
	case "warning":
		return protocol.MessageTypeWarning
	case "debug":
		return protocol.MessageTypeLog
	}
	return protocol.MessageTypeInfo
}
