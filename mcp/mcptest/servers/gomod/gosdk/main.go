// Gosdk is an MCP server made with the server side of the official Go SDK, for
// the tests of agentls. The SDK's own example over HTTP keeps sessions, and so
// does not speak the protocol of 2026-07-28; this one does.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var address = flag.String("http", "", "listen on this address")

type arguments struct {
	Text    string  `json:"text,omitempty"`
	URI     string  `json:"uri,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

func main() {
	flag.Parse()
	ok := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	s := mcp.NewServer(&mcp.Implementation{Name: "gosdk", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   ok,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addTools(s)
	for i := range 3 {
		addResource(s, fmt.Sprintf("memo://%d", i))
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "memo://{id}", Name: "memos"}, memo)
	s.AddPrompt(&mcp.Prompt{Name: "review", Arguments: []*mcp.PromptArgument{{Name: "focus"}}}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Review " + r.Params.Arguments["focus"]}}}}, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	log.Fatal((&http.Server{Addr: *address, Handler: h, ReadHeaderTimeout: time.Minute}).ListenAndServe())
}

func memo(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "The text of " + r.Params.URI}}}, nil
}

func addResource(s *mcp.Server, uri string) {
	s.AddResource(&mcp.Resource{URI: uri, Name: uri}, memo)
}

func addTools(s *mcp.Server) {
	add := func(name string, f func(context.Context, arguments) string) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: f(ctx, a)}}}, nil, nil
		})
	}
	add("echo", func(_ context.Context, a arguments) string { return a.Text })
	add("pid", func(context.Context, arguments) string { return fmt.Sprint(os.Getpid()) })
	add("sleep", func(ctx context.Context, a arguments) string {
		log.Print("sleep began")
		select {
		case <-ctx.Done():
			log.Print("sleep was cancelled")
			return "cancelled"
		case <-time.After(time.Duration(a.Seconds * float64(time.Second))):
			return "slept"
		}
	})
	add("add_tool", func(context.Context, arguments) string {
		add("late_tool", func(context.Context, arguments) string { return "late tool ran" })
		return "added"
	})
	add("add_resource", func(context.Context, arguments) string {
		addResource(s, "memo://late")
		return "added"
	})
	add("touch", func(ctx context.Context, a arguments) string {
		if err := s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: a.URI}); err != nil {
			return err.Error()
		}
		return "touched"
	})
}
