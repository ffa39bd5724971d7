package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

// These measure the real binary from outside, on a pipe, as an editor meets
// it. Machines are noisy, so each compares within one run: read the ratios.

// benchServer is a running agentls (or echo) with a client on its pipes.
type benchServer struct {
	*demoClient
	cmd *exec.Cmd
	in  io.WriteCloser
	// bytes, when set, takes what the server writes in place of the client.
	bytes atomic.Pointer[func([]byte)]
}

// take hands the server's frames to f from now on, undecoded.
func (s *benchServer) take(f func([]byte)) { s.bytes.Store(&f) }

// buildBinary builds the real program once per benchmark: the test binary
// starts slower.
func buildBinary(b *testing.B) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), "agentls")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", name, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return name
}

func startBench(b *testing.B, env []string, command string, args ...string) *benchServer {
	b.Helper()
	cmd := exec.Command(command, args...)
	cmd.Dir = b.TempDir()
	cmd.Env = append(demoEnvironment(os.Environ(), b.TempDir()), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	s := &benchServer{cmd: cmd, in: in}
	s.demoClient = newDemoClient(in, func(bool, []byte) {}, func(string, json.RawMessage) any { return nil })
	r, w := io.Pipe()
	go s.read(r) // ends with the child's output
	go func() {  // likewise
		defer w.Close()
		s.split(bufio.NewReaderSize(out, 1<<20), w)
	}()
	b.Cleanup(s.stop)
	return s
}

// split reads frames and gives each to the client, or to the taker.
func (s *benchServer) split(in *bufio.Reader, client io.Writer) {
	for {
		header, err := textproto.NewReader(in).ReadMIMEHeader()
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		if f := s.bytes.Load(); f != nil {
			(*f)(body)
			continue
		}
		if _, err := fmt.Fprintf(client, "Content-Length: %d\r\n\r\n%s", n, body); err != nil {
			return
		}
	}
}

func (s *benchServer) stop() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

func (s *benchServer) open(b *testing.B, options map[string]any) {
	b.Helper()
	options["workspaceTrusted"] = true
	err := s.call(b.Context(), "initialize", map[string]any{
		"processId": nil, "rootUri": nil, "capabilities": map[string]any{"window": map[string]any{"workDoneProgress": true}},
		"clientInfo": map[string]string{"name": "bench"}, "initializationOptions": options,
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	s.notify("initialized", struct{}{})
}

func (s *benchServer) command(ctx context.Context, name string, arg, result any) error {
	return s.call(ctx, "workspace/executeCommand", map[string]any{"command": name, "arguments": []any{arg}}, result)
}

// fakeServer is the configuration of one fake MCP server.
func fakeServer(tb testing.TB, o mcptest.Options) map[string]any {
	command, args, env := mcptest.Command(tb, o)
	return map[string]any{"command": command, "args": args, "env": env}
}

// quantile of durations, in microseconds.
func quantile(d []time.Duration, q float64) float64 {
	d = slices.Sorted(slices.Values(d))
	return float64(d[min(len(d)-1, int(q*float64(len(d))))].Nanoseconds()) / 1000
}

// BenchmarkInitialize: from the process's start to the answer of initialize,
// with no servers and with 10 of which 3 hang. The goal: at most 50 ms, and at
// most 1.5 times.
func BenchmarkInitialize(b *testing.B) {
	binary := buildBinary(b)
	servers := map[string]any{}
	for i := range 10 {
		servers[fmt.Sprint("s", i)] = fakeServer(b, mcptest.Options{Silent: i < 3})
	}
	measure := func(options map[string]any) time.Duration {
		start := time.Now()
		s := startBench(b, nil, binary)
		s.open(b, options)
		took := time.Since(start)
		s.stop()
		return took
	}
	var none, ten []time.Duration
	for b.Loop() {
		none = append(none, measure(map[string]any{}))
		ten = append(ten, measure(map[string]any{"mcpServers": servers}))
	}
	b.ReportMetric(quantile(none, 0.5)/1000, "none-ms")
	b.ReportMetric(quantile(ten, 0.5)/1000, "ten-ms")
	b.ReportMetric(quantile(ten, 0.5)/quantile(none, 0.5), "ratio")
}

// BenchmarkCompletion: a mention completed from 1,000 cached resources against
// an echo, a process that answers the same request with the same bytes. Only
// bytes are counted on the client's side, as decoding would hide the server.
// The goal: at most 3 times.
func BenchmarkCompletion(b *testing.B) {
	const text = "see @fake:file://doc1"
	s := startBench(b, nil, buildBinary(b))
	s.open(b, map[string]any{"notifications": "off", "mcpServers": map[string]any{"fake": fakeServer(b, mcptest.Options{Resources: new(1000)})}})
	awaitResources(b, s, 1000)
	s.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file:///b/a.agentls.md", "languageId": "agentls", "version": 1, "text": text}})
	ask := map[string]any{"textDocument": map[string]string{"uri": "file:///b/a.agentls.md"}, "position": map[string]int{"line": 0, "character": len(text)}}
	var reply json.RawMessage
	if err := s.call(b.Context(), "textDocument/completion", ask, &reply); err != nil || !strings.Contains(string(reply), "doc1") {
		b.Fatalf("no completion: %v %s", err, reply)
	}
	echo := startBench(b, []string{echoVariable + "=" + string(reply)}, os.Args[0])
	ours, floor := s.raw(b, ask), echo.raw(b, ask)
	ours() // the first is slower on both sides
	floor()
	var a, e []time.Duration
	for b.Loop() {
		a, e = append(a, ours()), append(e, floor())
	}
	b.ReportMetric(float64(len(reply)), "reply-B")
	b.ReportMetric(quantile(a, 0.5), "p50-µs")
	b.ReportMetric(quantile(a, 0.99), "p99-µs")
	b.ReportMetric(quantile(e, 0.5), "echo-p50-µs")
	b.ReportMetric(quantile(a, 0.5)/quantile(e, 0.5), "ratio")
}

// raw takes the pipes from the client and gives a func that times one
// completion, from the first byte written to the last one read.
func (s *benchServer) raw(b *testing.B, ask any) func() time.Duration {
	b.Helper()
	frames := make(chan int)
	s.take(func(body []byte) {
		if bytes.Contains(body[:min(len(body), 64)], []byte(`"id":9`)) {
			frames <- len(body)
		}
	})
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"textDocument/completion","params":%s}`, params(ask))
	frame := fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(request), request)
	return func() time.Duration {
		start := time.Now()
		if _, err := s.in.Write(frame); err != nil {
			b.Fatal(err)
		}
		<-frames
		return time.Since(start)
	}
}

func awaitResources(b *testing.B, s *benchServer, n int) {
	b.Helper()
	for range 1000 {
		var r struct{ Resources []any }
		if err := s.command(b.Context(), "agentls.mcp.resources", map[string]any{"server": "fake", "limit": n}, &r); err == nil && len(r.Resources) == n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.Fatal("the resources were never listed")
}

// echoVariable makes the test binary the echo.
const echoVariable = "AGENTLS_TEST_ECHO"

// echo answers every request with the same result.
func echo(r io.Reader, w io.Writer, result string) {
	in := bufio.NewReader(r)
	for {
		header, err := textproto.NewReader(in).ReadMIMEHeader()
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		var m message
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			continue
		}
		out := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, *m.ID, result)
		fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(out), out)
	}
}

// BenchmarkCancel: from $/cancelRequest to the answer, with a provider that
// streams. The goal: p99 at most 20 ms.
func BenchmarkCancel(b *testing.B) {
	var hungUp atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				hungUp.Add(1)
				return
			case <-time.After(time.Millisecond):
			}
		}
	}))
	defer provider.Close()
	s := startBench(b, nil, buildBinary(b))
	s.open(b, map[string]any{"provider": "p", "providers": map[string]any{"p": map[string]string{"baseURL": provider.URL + "/v1", "model": "m"}}})
	var took []time.Duration
	for b.Loop() {
		before := s.mark()
		id, wait := s.start("workspace/executeCommand", map[string]any{"command": "agentls.ask", "arguments": []any{"go on"}, "workDoneToken": "t"})
		err := s.await(b.Context(), before, "no progress", func(m message) bool {
			return m.Method == "$/progress" && strings.Contains(string(m.Params), "word")
		})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		s.notify("$/cancelRequest", map[string]json.RawMessage{"id": id})
		if err := wait(b.Context(), nil); err == nil || !strings.Contains(err.Error(), "-32800") {
			b.Fatalf("not cancelled: %v", err)
		}
		took = append(took, time.Since(start))
	}
	b.ReportMetric(quantile(took, 0.5), "p50-µs")
	b.ReportMetric(quantile(took, 0.99), "p99-µs")
	if n := hungUp.Load(); n < int64(len(took))-1 {
		b.Errorf("the provider saw %d of %d hang-ups", n, len(took))
	}
}
