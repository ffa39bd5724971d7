package mcptest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// Each good mode is tried with the client of mcp-go: what it takes for a
// server, others will too.

var goodModes = []struct {
	name    string
	o       HTTPOptions
	version string
}{
	{"streamable", HTTPOptions{}, "2025-11-25"},
	{"streamable JSON", HTTPOptions{JSON: true}, "2025-11-25"},
	{"streamable with replay", HTTPOptions{Replay: true, Retry: 10 * time.Millisecond}, "2025-11-25"},
	{"streamable polling", HTTPOptions{Replay: true, Retry: 10 * time.Millisecond, Polling: []string{"tools/call"}}, "2025-11-25"},
	{"stateless", HTTPOptions{Mode: Stateless}, "2025-11-25"},
	{"stateless JSON", HTTPOptions{Mode: Stateless, JSON: true}, "2025-11-25"},
	{"modern", HTTPOptions{Mode: Modern}, "2026-07-28"},
	{"modern JSON", HTTPOptions{Mode: Modern, JSON: true}, "2026-07-28"},
	{"SSE", HTTPOptions{Mode: SSE}, "2025-11-25"},
	{"duplicate answers", HTTPOptions{Duplicate: true}, "2025-11-25"},
}

// dialed is a client of mcp-go and the notifications that it got.
type dialed struct {
	*client.Client
	notes chan mcp.JSONRPCNotification
}

func dial(t *testing.T, s *HTTPServer) dialed {
	t.Helper()
	d, err := dialURL(t, s.o.Mode, s.URL)
	if err != nil {
		t.Fatalf("%v; requests:\n%s", err, s.Transcript())
	}
	return d
}

func dialURL(t *testing.T, mode HTTPMode, url string) (dialed, error) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	carrier := &http.Transport{}
	t.Cleanup(carrier.CloseIdleConnections)
	hc := &http.Client{Transport: carrier}
	var tr transport.Interface
	var err error
	var options []client.ClientOption
	switch mode {
	case SSE:
		tr, err = transport.NewSSE(url, transport.WithHTTPClient(hc), transport.WithSSELogger(quiet))
		options = append(options, client.WithLegacyProtocolOnly())
	case Modern:
		tr, err = transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(hc), transport.WithHTTPLogger(quiet))
	default:
		tr, err = transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(hc), transport.WithHTTPLogger(quiet), transport.WithContinuousListening())
	}
	if err != nil {
		t.Fatal(err)
	}
	d := dialed{client.NewClient(tr, options...), make(chan mcp.JSONRPCNotification, 100)}
	d.OnNotification(func(n mcp.JSONRPCNotification) { d.notes <- n })
	t.Cleanup(func() { _ = d.Close() })
	if err := d.Start(context.WithoutCancel(t.Context())); err != nil {
		return d, err
	}
	_, err = d.Initialize(t.Context(), mcp.InitializeRequest{})
	return d, err
}

func (d dialed) call(t *testing.T, tool string, args object, token any) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = tool, args
	if token != nil {
		req.Params.Meta = &mcp.Meta{ProgressToken: token}
	}
	r, err := d.CallTool(ctx, req)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, c := range r.Content {
		if text, ok := c.(mcp.TextContent); ok {
			parts = append(parts, text.Text)
		}
	}
	return strings.Join(parts, "\n"), nil
}

func (d dialed) note(t *testing.T, s *HTTPServer, method string) mcp.JSONRPCNotification {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case n := <-d.notes:
			if n.Method == method {
				return n
			}
		case <-timeout:
			t.Fatalf("no %s in 10 s; requests:\n%s", method, s.Transcript())
		}
	}
}

func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in 10 s: %s", what)
		}
	}
}

func TestGoodModesSatisfyAClient(t *testing.T) {
	for _, mode := range goodModes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			mode.o.Page = 2
			s := ServeHTTP(t, mode.o)
			d := dial(t, s)
			if v := d.ProtocolVersion(); v != mode.version {
				t.Errorf("version %q", v)
			}
			tools, err := d.ListTools(t.Context(), mcp.ListToolsRequest{})
			if err != nil || len(tools.Tools) != len(toolList) {
				t.Errorf("%d tools, %v", len(tools.Tools), err)
			}
			resources, err := d.ListResources(t.Context(), mcp.ListResourcesRequest{})
			if err != nil || len(resources.Resources) != 3 {
				t.Errorf("%+v %v", resources, err)
			}
			var read mcp.ReadResourceRequest
			read.Params.URI = "file://doc1.md"
			if body, err := d.ReadResource(t.Context(), read); err != nil || len(body.Contents) != 1 {
				t.Errorf("%+v %v", body, err)
			}
			read.Params.URI = "file://ünknown.md" // not ASCII: base64 in Mcp-Name
			if _, err := d.ReadResource(t.Context(), read); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("an unknown resource: %v", err)
			}
			if got, err := d.call(t, "echo", object{"text": "grüß"}, nil); got != "grüß" || err != nil {
				t.Errorf("%q %v", got, err)
			}
			if got, err := d.call(t, "error", nil, nil); err == nil {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestWhatIsNoAnswerArrives(t *testing.T) {
	for _, mode := range goodModes {
		if mode.o.Mode == Stateless {
			continue // it has nowhere to say it
		}
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			s := ServeHTTP(t, mode.o)
			d := dial(t, s)
			if mode.o.Mode == Modern {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go func() { // ends with ctx
					_ = d.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"file://doc1.md"}})
				}()
			}
			await(t, "the client listens", func() bool { return s.Listeners() == 1 })
			s.Notify("notifications/tools/list_changed", nil)
			d.note(t, s, "notifications/tools/list_changed")
			if _, err := d.call(t, "touch", object{"uri": "file://doc1.md"}, nil); err != nil {
				t.Error(err)
			}
			if n := d.note(t, s, "notifications/resources/updated"); n.Params.AdditionalFields["uri"] != "file://doc1.md" {
				t.Errorf("%+v", n)
			}
			if mode.o.Mode == Modern {
				if !mode.o.JSON {
					d.progress(t, s)
				}
				return
			}
			d.progress(t, s)
			if mode.o.Mode == SSE {
				return // mcp-go's client takes no requests there
			}
			if answer := s.Request(t, "ping", nil); !strings.Contains(string(answer), `"result"`) {
				t.Errorf("%s", answer)
			}
			if got, err := d.call(t, "ask", object{"method": "ping"}, nil); err != nil || !strings.Contains(got, `"result"`) {
				t.Errorf("%q %v", got, err)
			}
		})
	}
}

func (d dialed) progress(t *testing.T, s *HTTPServer) {
	t.Helper()
	if _, err := d.call(t, "progress", object{"steps": 2}, "tok"); err != nil {
		t.Error(err)
	}
	if n := d.note(t, s, "notifications/progress"); n.Params.AdditionalFields["progressToken"] != "tok" {
		t.Errorf("%+v", n)
	}
}

func TestSessionsEndAndStartAgain(t *testing.T) {
	t.Parallel()
	s := ServeHTTP(t, HTTPOptions{})
	d := dial(t, s)
	url := s.URL
	s.ForgetSessions()
	if _, err := d.call(t, "echo", object{"text": "x"}, nil); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("after the session was forgotten: %v", err)
	}
	s.Stop()
	if _, err := d.Initialize(t.Context(), mcp.InitializeRequest{}); err == nil {
		t.Error("a stopped server answered")
	}
	s.Restart(t)
	if s.URL != url {
		t.Errorf("%s is not %s", s.URL, url)
	}
	e := dial(t, s)
	if got, err := e.call(t, "echo", object{"text": "again"}, nil); got != "again" {
		t.Errorf("%q %v", got, err)
	}
	if err := e.Close(); err != nil || s.Sessions() != 0 || len(s.Requests(Verb("DELETE"))) != 1 {
		t.Errorf("DELETE: %v, %d sessions\n%s", err, s.Sessions(), s.Transcript())
	}
}

func TestToolThatEndsTheServer(t *testing.T) {
	t.Parallel()
	for _, o := range []HTTPOptions{{}, {JSON: true}, {Mode: Modern}, {Mode: SSE}} {
		s := ServeHTTP(t, o)
		d := dial(t, s)
		start := time.Now()
		if o.Mode == SSE { // mcp-go notices nothing before its deadline
			go func() { _, _ = d.call(t, "die", nil, nil) }()
			s.Await(t, 1, Call("die"))
		} else if got, err := d.call(t, "die", nil, nil); err == nil {
			t.Errorf("%q", got)
		}
		await(t, "it is gone", func() bool {
			_, err := http.Get(s.URL) // refused
			return err != nil
		})
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%v", took)
		}
		_ = d.Close()
	}
}

// send sends one request without a client's help.
func send(t *testing.T, s *HTTPServer, verb, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), verb, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	carrier := &http.Transport{DisableKeepAlives: true}
	resp, err := carrier.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(got)
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	listTools  = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
	both       = "application/json, text/event-stream"
)

func TestBadHeadersAreRefused(t *testing.T) {
	t.Parallel()
	s := ServeHTTP(t, HTTPOptions{JSON: true})
	_, h, _ := send(t, s, "POST", initialize, "Accept", both, "Content-Type", "application/json")
	id := h.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatal("no session")
	}
	good := []string{"Accept", both, "Content-Type", "application/json", "Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25"}
	with := func(pairs ...string) []string { return append(slices.Clone(good), pairs...) }
	modern := ServeHTTP(t, HTTPOptions{Mode: Modern, JSON: true})
	modernBody := `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	modernGood := []string{"Accept", both, "Content-Type", "application/json", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}
	withModern := func(pairs ...string) []string { return append(slices.Clone(modernGood), pairs...) }
	for _, c := range []struct {
		name    string
		s       *HTTPServer
		verb    string
		body    string
		headers []string
		status  int
		says    string
	}{
		{"good", s, "POST", listTools, good, 200, "echo"},
		{"one type accepted", s, "POST", listTools, with("Accept", "application/json"), 406, "must accept"},
		{"GET accepts no events", s, "GET", "", with("Accept", "application/json"), 406, "must accept"},
		{"type of the body", s, "POST", listTools, with("Content-Type", "text/plain"), 415, "Content-Type"},
		{"no message", s, "POST", "{", good, 400, "-32700"},
		{"no session", s, "POST", listTools, with("Mcp-Session-Id", ""), 400, "Mcp-Session-Id"},
		{"another session", s, "POST", listTools, with("Mcp-Session-Id", "x"), 404, "Session not found"},
		{"no version", s, "POST", listTools, with("MCP-Protocol-Version", ""), 400, "MCP-Protocol-Version"},
		{"no version on GET", s, "GET", "", with("MCP-Protocol-Version", ""), 400, "MCP-Protocol-Version"},
		{"another version", s, "POST", listTools, with("MCP-Protocol-Version", "2024-11-05"), 400, "version"},
		{"modern good", modern, "POST", modernBody, modernGood, 200, "echo"},
		{"modern GET", modern, "GET", "", modernGood, 405, ""},
		{"modern DELETE", modern, "DELETE", "", modernGood, 405, ""},
		{"modern without version", modern, "POST", modernBody, withModern("MCP-Protocol-Version", ""), 400, "-32020"},
		{"legacy at a modern server", modern, "POST", initialize, with("MCP-Protocol-Version", ""), 400, "-32022"},
		{"modern without _meta", modern, "POST", listTools, modernGood, 400, "-32020"},
		{"modern method header", modern, "POST", modernBody, withModern("Mcp-Method", "tools/call"), 400, "Mcp-Method"},
		{"modern with session", modern, "POST", modernBody, withModern("Mcp-Session-Id", "x"), 400, "sessions"},
		{"modern ping", modern, "POST", strings.ReplaceAll(modernBody, "tools/list", "ping"), withModern("Mcp-Method", "ping"), 404, "-32601"},
		{"modern call without name", modern, "POST", strings.ReplaceAll(modernBody, "tools/list", "tools/call"), withModern("Mcp-Method", "tools/call", "Mcp-Name", "x"), 400, "Mcp-Name"},
	} {
		if status, _, body := send(t, c.s, c.verb, c.body, c.headers...); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
}
