package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agentls/lsp/lsptest"
)

// benchServer is a server on a pipe without an editor's overhead, with a prompt
// buffer open. Its method bench/echo answers with reply.
func benchServer(b *testing.B, reply json.RawMessage, prompt string) (request func(method, params string) []byte) {
	b.Helper()
	o := testOptions(b)
	o.Log = slog.New(slog.DiscardHandler)
	s := New(o)
	s.route = func(method string) (prepare, bool) {
		if method == "bench/echo" {
			return later(func(*Server, context.Context) (any, error) { return reply, nil }), false
		}
		return route(method)
	}
	stdin, in := pipe(b) // as between processes
	out, stdout := pipe(b)
	done := make(chan struct{})
	go func() { // ends with its input
		defer close(done)
		_, _ = s.Serve(context.Background(), stdin, stdout)
	}()
	b.Cleanup(func() { _ = in.Close(); <-done })
	f, id := newFrameReader(out), 0
	request = func(method, params string) []byte {
		id++
		_, _ = io.WriteString(in, frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)))
		for {
			body, err := f.next()
			if err != nil {
				b.Fatal(err)
			}
			if bytes.Contains(body[:40], []byte(`"id":`)) {
				return body
			}
		}
	}
	root := b.TempDir()
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("chapter-%04d.md", i)), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	request("initialize", fmt.Sprintf(`{"rootUri":%q,"capabilities":{}}`, lsptest.FileURI(root)))
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		if list, err := o.Manager.Resources("workspace"); err == nil && len(list.Resources) >= 1000 {
			break
		}
		if time.Since(start) > lsptest.Deadline {
			b.Fatal("the workspace's resources are not listed")
		}
	}
	_, _ = io.WriteString(in, frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":%s}`, openParams("file:///a.agentls.md", prompt))))
	return request
}

func pipe(b *testing.B) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, w
}

const benchPrompt, benchParams = "see @workspace:file://ch", `{"textDocument":{"uri":"file:///a.agentls.md"},"position":{"line":0,"character":24}}`

// BenchmarkCompletion1000's p50 must stay below three times BenchmarkEcho's, which
// answers the same bytes on the same pipe; 1,000 resources are cached.
func BenchmarkCompletion1000(b *testing.B) { benchRequests(b, "textDocument/completion", nil) }

// BenchmarkEcho answers what BenchmarkCompletion1000 does, ready made.
func BenchmarkEcho(b *testing.B) {
	whole := benchServer(b, nil, benchPrompt)("textDocument/completion", benchParams)
	var m struct{ Result json.RawMessage }
	if err := json.Unmarshal(whole, &m); err != nil || len(m.Result) < 10000 {
		b.Fatalf("%v: %.100s", err, whole)
	}
	benchRequests(b, "bench/echo", m.Result)
}

func benchRequests(b *testing.B, method string, reply json.RawMessage) {
	request := benchServer(b, reply, benchPrompt)
	var took []time.Duration
	var size int
	for b.Loop() {
		start := time.Now()
		size = len(request(method, benchParams))
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(size), "bytes")
}
