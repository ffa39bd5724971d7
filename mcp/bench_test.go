package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// resident returns this process's resident memory in bytes; 0 where the
// system does not tell.
func resident() (n float64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	_, _ = fmt.Sscan(rest, &n)
	return n * 1024
}

// BenchmarkIdle reports what three servers with 10,000 resources together
// hold, idle.
func BenchmarkIdle(b *testing.B) {
	n := 3334
	h := open(b, map[string]mcptest.Options{"a": {Resources: &n}, "b": {Resources: &n, Page: 100}, "c": {Resources: &n}})
	eventually(b, "resources", func() bool { return len(h.uris("a"))+len(h.uris("b"))+len(h.uris("c")) == 3*n })
	for b.Loop() {
		h.snapshots()
	}
	debug.FreeOSMemory()
	b.ReportMetric(resident()/(1<<20), "MB-resident")
}

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
	go func() { // ends when feed is closed
		_ = newFrames(stdout, maxFrame, func(string) {}).copyTo(end)
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
