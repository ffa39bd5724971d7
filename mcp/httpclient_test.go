package mcp

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

func TestOriginsOfURLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"http://h.example/sse", "http://h.example:80/message", true},
		{"https://h.example:443/mcp", "https://H.example/mcp/", true},
		{"http://[::1]:8080/", "http://[::1]:8080/x", true},
		{"https://h.example/mcp", "https://h.example:80/mcp", false},
		{"https://h.example/mcp", "http://h.example/mcp", false},
		{"https://h.example/mcp", "http://h.example:443/mcp", false},
		{"https://h.example/mcp", "https://h.example.evil/mcp", false},
		{"https://h.example/mcp", "https://h.example@evil/mcp", false},
		{"https://h.example/mcp", "https:h.example/mcp", false},
	} {
		a, err := url.Parse(c.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := url.Parse(c.b)
		if err != nil {
			t.Fatal(err)
		}
		if SameOrigin(a, b) != c.same || SameOrigin(b, a) != c.same {
			t.Errorf("%s and %s: same should be %v", c.a, c.b, c.same)
		}
	}
}

// sinkConn loses what is written to it once epoch went on, as a connection
// does whose other end is gone after a sleep.
type sinkConn struct {
	net.Conn
	born  int64
	epoch *atomic.Int64
}

func (c *sinkConn) Write(b []byte) (int, error) {
	if c.born != c.epoch.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Connections that wait for their next use are dead with the one that was found
// to be, and must not take up the starts of a server that is there.
func TestRemoteServerBehindDeadConnections(t *testing.T) {
	t.Parallel()
	srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{JSON: true})
	var epoch atomic.Int64
	var dialer net.Dialer
	transport := &http.Transport{MaxIdleConnsPerHost: 8, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		return &sinkConn{c, epoch.Load(), &epoch}, err
	}}
	tm := fast()
	tm.ping, tm.pong = 100*time.Millisecond, 200*time.Millisecond
	h := newHouse(t, Options{HTTP: func() *http.Transport { return transport }}, tm)
	c := remoteConfig("fake", srv.URL)
	c.StartupTimeout = time.Minute
	h.Configure([]ServerConfig{c})
	h.started()
	var calls sync.WaitGroup
	for range 6 {
		calls.Go(func() { _, _ = h.call("fake", "sleep", args{"seconds": 0.2}) })
	}
	calls.Wait()
	epoch.Add(1)
	h.await("fake", EventLost)
	h.recovered(1)
}
