// Mcpgo is an MCP server made with the server side of mcp-go, for the tests of
// agentls: its own examples listen on fixed ports of all interfaces.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

var (
	address  = flag.String("http", "", "listen on this address")
	stateful = flag.Bool("stateful", false, "know one's sessions, so that those from before a restart are refused")
)

func main() {
	flag.Parse()
	s := server.NewMCPServer("mcpgo", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true), server.WithLogging(), server.WithCompletions())
	addTools(s)
	for i := range 3 {
		addResource(s, fmt.Sprintf("memo://%d", i))
	}
	s.AddResourceTemplate(mcp.NewResourceTemplate("memo://{id}", "memos"), func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return memo(r), nil
	})
	s.AddPrompt(mcp.NewPrompt("review", mcp.WithArgument("focus")), func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Review "+r.Params.Arguments["focus"]))}), nil
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s, server.WithStateful(*stateful)))
	log.Fatal((&http.Server{Addr: *address, Handler: mux, ReadHeaderTimeout: time.Minute}).ListenAndServe())
}

func memo(r mcp.ReadResourceRequest) []mcp.ResourceContents {
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "The text of " + r.Params.URI}}
}

func addResource(s *server.MCPServer, uri string) {
	s.AddResource(mcp.NewResource(uri, uri), func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return memo(r), nil
	})
}

func addTools(s *server.MCPServer) {
	add := func(name string, f func(context.Context, mcp.CallToolRequest) string, o ...mcp.ToolOption) {
		s.AddTool(mcp.NewTool(name, o...), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(f(ctx, r)), nil
		})
	}
	add("echo", func(_ context.Context, r mcp.CallToolRequest) string { return r.GetString("text", "") }, mcp.WithString("text"))
	add("pid", func(context.Context, mcp.CallToolRequest) string { return fmt.Sprint(os.Getpid()) })
	add("sleep", func(ctx context.Context, r mcp.CallToolRequest) string {
		log.Print("sleep began")
		select {
		case <-ctx.Done():
			log.Print("sleep was cancelled")
			return "cancelled"
		case <-time.After(time.Duration(r.GetFloat("seconds", 0) * float64(time.Second))):
			return "slept"
		}
	}, mcp.WithNumber("seconds"))
	add("add_tool", func(context.Context, mcp.CallToolRequest) string {
		s.AddTool(mcp.NewTool("late_tool"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("late tool ran"), nil
		})
		return "added"
	})
	add("add_resource", func(context.Context, mcp.CallToolRequest) string {
		addResource(s, "memo://late")
		return "added"
	})
	add("touch", func(_ context.Context, r mcp.CallToolRequest) string {
		s.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": r.GetString("uri", "")})
		return "touched"
	}, mcp.WithString("uri"))
}
