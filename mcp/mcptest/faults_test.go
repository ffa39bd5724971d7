package mcptest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// open sends a request whose answer is a stream, and returns its lines. The
// stream is closed by cancel.
func openStream(t *testing.T, s *HTTPServer, verb, body string, headers ...string) (lines <-chan string, cancel func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, verb, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	carrier := &http.Transport{DisableKeepAlives: true}
	resp, err := carrier.RoundTrip(req)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s %s: %s", verb, body, resp.Status)
	}
	out := make(chan string, 100)
	go func() { // ends with the stream
		defer close(out)
		defer func() { _ = resp.Body.Close() }()
		for scan := bufio.NewScanner(resp.Body); scan.Scan(); {
			out <- scan.Text()
		}
	}()
	t.Cleanup(stop)
	return out, stop
}

// until returns the lines up to the first that holds text, which must come.
func until(t *testing.T, lines <-chan string, text string) (got []string) {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case line, ok := <-lines:
			got = append(got, line)
			switch {
			case !ok && text == "":
				return got
			case !ok:
				t.Fatalf("the stream ended without %q: %q", text, got)
			case text != "" && strings.Contains(line, text):
				return got
			}
		case <-timeout:
			t.Fatalf("no %q in 10 s: %q", text, got)
		}
	}
}

func session(t *testing.T, s *HTTPServer) []string {
	t.Helper()
	_, h, _ := send(t, s, "POST", initialize, "Accept", both, "Content-Type", "application/json")
	return []string{"Accept", both, "Content-Type", "application/json", "Mcp-Session-Id", h.Get("Mcp-Session-Id"), "MCP-Protocol-Version", "2025-11-25"}
}

func callBody(id int, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

func TestEventsAreSentAgain(t *testing.T) {
	t.Parallel()
	s := ServeHTTP(t, HTTPOptions{Replay: true, Retry: 70 * time.Millisecond})
	headers := session(t, s)
	lines, stop := openStream(t, s, "GET", "", headers...)
	start := until(t, lines, "data:")
	if !strings.Contains(strings.Join(start, "\n"), "retry: 70") {
		t.Errorf("%q", start)
	}
	s.Notify("notifications/tools/list_changed", nil)
	got := until(t, lines, "tools/list_changed")
	id := ""
	for _, line := range got {
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = v
		}
	}
	stop()
	await(t, "nobody listens", func() bool { return s.Listeners() == 0 })
	s.Notify("notifications/prompts/list_changed", nil)
	s.Notify("notifications/resources/list_changed", nil)
	lines, _ = openStream(t, s, "GET", "", append(headers, "Last-Event-ID", id)...)
	got = until(t, lines, "resources/list_changed")
	if all := strings.Join(got, "\n"); !strings.Contains(all, "prompts/list_changed") || strings.Contains(all, "tools/list_changed") {
		t.Errorf("%q", got)
	}
	if n := s.DropStreams(); n != 1 {
		t.Errorf("%d streams dropped", n)
	}
	until(t, lines, "")
}

func TestWithoutReplayEventsAreLost(t *testing.T) {
	t.Parallel()
	s := ServeHTTP(t, HTTPOptions{})
	headers := session(t, s)
	s.Notify("notifications/tools/list_changed", nil)
	lines, _ := openStream(t, s, "GET", "", headers...)
	s.Notify("notifications/prompts/list_changed", nil)
	if got := until(t, lines, "prompts/list_changed"); len(got) > 2 {
		t.Errorf("%q", got)
	}
	s.ForgetSessions()
	until(t, lines, "")
	if status, _, _ := send(t, s, "POST", listTools, headers...); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
}

func TestWhatCancels(t *testing.T) {
	t.Parallel()
	// Up to 2025-11-25 a closed connection is no cancel, the notification is.
	s := ServeHTTP(t, HTTPOptions{})
	headers := session(t, s)
	_, stop := openStream(t, s, "POST", callBody(7, "sleep", `{"seconds":600}`), headers...)
	stop()
	s.Await(t, 1, Call("sleep"), func(r HTTPRequest) bool { return r.Aborted })
	s.fake.mu.Lock()
	running := len(s.fake.running)
	s.fake.mu.Unlock()
	if running != 1 {
		t.Errorf("%d requests run after the connection closed", running)
	}
	lines, _ := openStream(t, s, "POST", callBody(8, "sleep", `{"seconds":600}`), headers...)
	if status, _, _ := send(t, s, "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`, headers...); status != http.StatusAccepted {
		t.Errorf("%d", status)
	}
	until(t, lines, "") // ends without an answer

	// Since 2026-07-28 closing the connection is the cancel.
	m := ServeHTTP(t, HTTPOptions{Mode: Modern})
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`
	body := strings.Replace(callBody(7, "sleep", `{"seconds":600}`), `"params":{`, `"params":{`+meta, 1)
	_, stop = openStream(t, m, "POST", body, "Accept", both, "Content-Type", "application/json", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "sleep")
	stop()
	await(t, "the request ends", func() bool {
		m.fake.mu.Lock()
		defer m.fake.mu.Unlock()
		return len(m.fake.running) == 0
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := ServeHTTP(t, HTTPOptions{JSON: true})
	other := ServeHTTP(t, HTTPOptions{})
	headers := session(t, s)
	for _, c := range []struct {
		name   string
		fault  Fault
		status int
		says   string
	}{
		{"status", Status(500), 500, "Internal Server Error"},
		{"401", Unauthorized(`Bearer realm="x"`), 401, "invalid_token"},
		{"redirect", Redirect(307, other.URL), 307, "elsewhere"},
		{"HTML", HTML(), 200, "<!doctype"},
		{"events", Events(": hello\n\n", "data: junk\n\n", "data: {\"id\":{id}}\n\n"), 200, `"id":2`},
		{"slow", Slow(0), 200, "echo"},
		{"first", First(0, Status(500)), 200, "echo"},
	} {
		s.Break(Method("tools/list"), c.fault)
		if status, _, body := send(t, s, "POST", listTools, headers...); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	s.Break(Any, Huge(1<<20))
	if _, _, body := send(t, s, "POST", listTools, headers...); len(body) < 1<<20 {
		t.Errorf("huge: %d bytes", len(body))
	}
	s.Mend()
	if status, _, _ := send(t, s, "POST", listTools, headers...); status != 200 {
		t.Errorf("mended: %d", status)
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("%d requests went to the other server", n)
	}
	for name, f := range map[string]Fault{"hang": Hang, "hang open": HangOpen} {
		s.Break(Any, f)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		carrier := &http.Transport{DisableKeepAlives: true}
		if resp, err := carrier.RoundTrip(req); err == nil {
			if _, err = resp.Body.Read(make([]byte, 1)); err == nil {
				t.Errorf("%s: it said something", name)
			}
			_ = resp.Body.Close()
		}
		cancel()
	}
	s.Await(t, 2, Verb("GET"), func(r HTTPRequest) bool { return r.Done && r.Aborted })
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s := ServeHTTP(t, HTTPOptions{TLS: true, JSON: true})
	carrier := &http.Transport{DisableKeepAlives: true}
	get := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := carrier.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	if err := get(); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("not trusted: %v", err)
	}
	carrier = &http.Transport{DisableKeepAlives: true, TLSClientConfig: s.TLSConfig()}
	if err := get(); err != nil {
		t.Errorf("trusted: %v", err)
	}
}
