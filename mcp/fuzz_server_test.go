package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

// scripted is a server that says what a script does: for each request the next
// line of it, and before that all lines that begin with '!', as they are.
type scripted struct {
	script [][]byte
	modern bool
	said   chan struct{} // closed when the script is over
	once   sync.Once
}

// answer is what goes to the client for one request. The handshake is right,
// unless the script has a line for it that begins with '?'; a line that begins
// with '-' is an error.
func (s *scripted) answer(id json.RawMessage, method string) (lines [][]byte) {
	for len(s.script) > 0 && bytes.HasPrefix(s.script[0], []byte("!")) {
		lines = append(lines, s.script[0][1:])
		s.script = s.script[1:]
	}
	respond := func(field string, value []byte) {
		lines = append(lines, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%q:%s}`, id, field, value))
	}
	handshake := method == "initialize" || method == "server/discover"
	switch {
	case handshake && (len(s.script) == 0 || !bytes.HasPrefix(s.script[0], []byte("?"))):
		respond("result", []byte(`{"resultType":"complete","protocolVersion":"2025-11-25","supportedVersions":["2026-07-28"],"capabilities":`+allCapabilities+`}`))
		return lines
	case len(s.script) == 0:
		s.once.Do(func() { close(s.said) })
		respond("result", []byte("{}"))
		return lines
	}
	next := bytes.TrimPrefix(s.script[0], []byte("?"))
	s.script = s.script[1:]
	if e, ok := bytes.CutPrefix(next, []byte("-")); ok {
		respond("error", e)
	} else {
		respond("result", next)
	}
	respond("error", []byte(`{"code":-32603,"message":"over"}`)) // so that nobody waits after junk; else it is an answer to nothing
	return lines
}

const allCapabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}`

// carry makes what a connection to it runs on: as a process, without one.
func (s *scripted) carry(problem func(string)) (carrier, error) {
	out, stdout := io.Pipe()  // what the server prints
	in, clean := io.Pipe()    // what is left of it for mcp-go
	input, stdin := io.Pipe() // what it is asked
	lost := make(chan struct{})
	var wg sync.WaitGroup
	asked := make(chan []byte, 4096)
	wg.Go(func() { // ends with stdin
		defer close(asked)
		r := bufio.NewReader(input)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			asked <- line
		}
	})
	wg.Go(func() { // ends with asked
		defer func() { _ = stdout.Close() }()
		for line := range asked {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "" {
				continue
			}
			for _, out := range s.answer(m.ID, m.Method) {
				if _, err := stdout.Write(append(out, '\n')); err != nil {
					return
				}
			}
		}
	})
	wg.Go(func() { // ends with stdout
		_ = newFrames(out, 64<<10, problem).copyTo(clean)
		_ = clean.Close()
		close(lost)
	})
	none := func() string { return "" }
	return carrier{
		transport: transport.NewIO(in, stdin, nil), lost: lost, reason: none, words: none,
		room: func(context.Context) error { return nil },
		close: func() {
			_, _, _ = stdin.Close(), clean.Close(), out.Close()
			wg.Wait()
		},
	}, nil
}

// FuzzServer holds that whatever a server says, in either era, nothing panics,
// hangs, or grows without bounds.
func FuzzServer(f *testing.F) {
	for _, seed := range []string{
		"{\"tools\":[{\"name\":\"t\",\"inputSchema\":5},7]}\n{\"resources\":[{\"uri\":\"u:1\"}],\"nextCursor\":\"\"}\n{\"resources\":[]}\n{\"resourceTemplates\":[{\"uriTemplate\":\"u:{x}\"}]}\n{\"prompts\":[{\"name\":\"p\"}]}",
		"!{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n!{\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"u:1\"}}\n-{\"code\":-32601}\n{}",
		"!{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n!{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\"}}}\n{}\n",
		"?{}\n?{\"protocolVersion\":\"1\",\"capabilities\":[]}", "?-5\n", "!junk\n![]\n!{\"id\":1}\n{\"contents\":[{\"blob\":\"%\"}],\"ttlMs\":1}",
		"{\"tools\":null}\n{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{\"method\":\"roots/list\"}}}\n{\"resultType\":\"input_required\"}\n",
		"!{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":{\"resourceSubscriptions\":[1,\"u:1\"]}}}\n!{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}\n{}",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, script []byte, modern bool) {
		if len(script) > 64<<10 {
			return
		}
		play(t, &scripted{script: bytes.Split(script, []byte("\n")), modern: modern, said: make(chan struct{})})
	})
}

// play uses a scripted server as the product does, until it has nothing more to
// say.
func play(t *testing.T, server *scripted) {
	var panics bytes.Buffer
	tm := fast()
	tm.backoff, tm.backoffMax, tm.tries = time.Millisecond, time.Millisecond, 1
	tm.debounce, tm.debounceMax = time.Millisecond, time.Millisecond
	tm.use, tm.question, tm.acknowledge = 20*time.Millisecond, time.Millisecond, 5*time.Millisecond
	m := newManager(Options{Name: "agentls", Version: "test", Log: slog.New(slog.NewTextHandler(&panics, &slog.HandlerOptions{Level: slog.LevelError}))}, tm)
	protocol := "legacy"
	if server.modern {
		protocol = "modern"
	}
	s := newSession(&m.hub, ServerConfig{Name: "s", Protocol: protocol, Timeout: 50 * time.Millisecond, StartupTimeout: time.Second})
	s.carry = carryLocal(func() (carrier, error) { return server.carry(s.problem) })
	m.mu.Lock()
	m.sessions["s"] = s
	m.reorder()
	m.mu.Unlock()
	var readers sync.WaitGroup
	readers.Go(func() { // ends with Close
		for range m.Events() {
		}
	})
	readers.Go(func() { // likewise
		for r := range m.Requests() {
			r.Reply(RequestAnswer{Accept: true, Content: json.RawMessage(`{"a":1}`), Value: "x"})
		}
	})
	s.start(m.ctx, &m.wg, nil)
	within(t, 20*time.Second, "a conversation", func() {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		m.WaitStarted(ctx)
		for range 2 {
			use(ctx, m)
			select {
			case <-server.said:
			default:
				continue
			}
			break
		}
		m.Close()
	})
	readers.Wait()
	if strings.Contains(panics.String(), "panic") {
		t.Fatalf("%s", panics.String())
	}
}

// use asks the server "s" for everything, by what it said of itself.
func use(ctx context.Context, m *Manager) {
	list, _ := m.ListResources(ctx, "s")
	uris := []string{"u:1"}
	for _, r := range list.Resources[:min(len(list.Resources), 2)] {
		uris = append(uris, r.URI)
	}
	for _, uri := range uris {
		_, _ = m.Read(ctx, "s", uri)
		_, _ = m.Cached("s", uri)
	}
	_, _ = m.CallTool(ctx, "s", "t", nil, func(Progress) {})
	for _, tool := range m.Tools() {
		_, _ = m.CallTool(ctx, "s", tool.Name, json.RawMessage(`{"a":1}`), nil)
		break
	}
	prompts, _ := m.ListPrompts(ctx, "s")
	for _, p := range prompts {
		_, _ = m.GetPrompt(ctx, "s", p.Name, nil)
		break
	}
	_, _ = m.Complete(ctx, "s:u:", 5)
	for _, template := range list.Templates {
		_, _, _ = m.CompleteArgument(ctx, "s", CompletionRef{Template: template.URITemplate}, "x", "", nil)
		break
	}
	settling, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	m.Settle(settling)
	m.Mentions("see @s:u:1 and @s:u:x")
	m.Servers()
}
