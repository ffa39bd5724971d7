package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"agentls/mcp/mcptest"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// BenchmarkCall is a round trip to a child.
func BenchmarkCall(b *testing.B) {
	h := open(b, map[string]mcptest.Options{"fake": {}})
	for b.Loop() {
		if _, err := h.CallTool(b.Context(), "fake", "echo", json.RawMessage(`{"text":"x"}`), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNotification is what one resources/updated costs from a server's
// stdout to the event queue.
func BenchmarkNotification(b *testing.B) {
	h := newHouse(b, Options{}, defaultTiming())
	s, c := newSession(&h.hub, ServerConfig{Name: "fake"}), &connection{inbox: newInbox(time.Second, time.Second)}
	stdout, feed := io.Pipe()
	out, end := io.Pipe()
	taken := make(chan struct{}, 1024)
	carrier := transport.NewIO(out, newOutbox(end, nil), nil)
	carrier.SetNotificationHandler(func(n mcpgo.JSONRPCNotification) {
		s.notified(c, n)
		taken <- struct{}{}
	})
	if err := carrier.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	f := newFrames(stdout, maxFrame, func(string) {})
	f.updated = func(uri string) bool {
		s.updated(uri)
		taken <- struct{}{}
		return true
	}
	go func() { // ends when feed is closed
		_ = f.copyTo(end)
		_ = end.Close()
	}()
	i := 0
	for b.Loop() {
		_, _ = fmt.Fprintf(feed, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file://doc%d.md"}}`+"\n", i%10_000)
		<-taken
		i++
	}
	_ = feed.Close()
}
