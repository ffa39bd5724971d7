package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestWire runs the scripts in testdata/wire, which say what goes over the
// wire. Sections, in order:
//
//	in   messages to send, one a line
//	raw  bytes to send, one quoted Go string a line
//	out  answers and messages that must have come, one a line, in any order; an
//	     object may have more members than the line says, "…" is any value
//	end  the input ends here; the line is the exit code
//
// At the end no answer may be left that no line expected.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := newWire(t)
			section := "" // what stands before the first one is comment
			for line := range strings.Lines(string(script)) {
				line = strings.TrimSpace(line)
				if name, ok := strings.CutPrefix(line, "-- "); ok {
					section = strings.TrimSuffix(name, " --")
				} else if line != "" && section != "" {
					w.step(section, line)
				}
			}
			w.finish()
		})
	}
}

// wire is a connection without an editor's manners.
type wire struct {
	t    *testing.T
	in   *io.PipeWriter
	got  chan any // messages of the server, decoded
	left []any    // taken from got and not yet expected
	code chan int
}

func newWire(t *testing.T) *wire {
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	w := &wire{t: t, in: in, got: make(chan any, 10000), code: make(chan int, 1)}
	s := New(testOptions(t))
	base := s.route
	s.route = func(method string) (prepare, bool) {
		if p := testMethod(method); p != nil {
			return p, false
		}
		return base(method)
	}
	go func() { // ends with the input
		code, err := s.Serve(context.Background(), stdin, stdout)
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
		w.code <- code
	}()
	go w.read(out) // ends with Serve
	return w
}

// testMethod are requests that do what no real one should.
func testMethod(method string) prepare {
	var serve func(ctx context.Context) (any, error)
	switch method {
	case "test/panicInline":
		return func(*Server, context.Context, []byte) (func(context.Context) (any, error), error) {
			panic("on purpose")
		}
	case "test/panic":
		serve = func(context.Context) (any, error) { panic("on purpose") }
	case "test/hang":
		serve = func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
	case "test/run":
		serve = func(ctx context.Context) (any, error) {
			<-ctx.Done()
			return nil, &runError{"r1", "s1", context.Cause(ctx)}
		}
	case "test/echo":
		return func(_ *Server, _ context.Context, params []byte) (func(context.Context) (any, error), error) {
			return func(context.Context) (any, error) { return json.RawMessage(params), nil }, nil
		}
	default:
		return nil
	}
	return func(*Server, context.Context, []byte) (func(context.Context) (any, error), error) { return serve, nil }
}

func (w *wire) read(out io.Reader) {
	defer close(w.got)
	r := bufio.NewReader(out)
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.t.Errorf("stdout is not LSP: %v", err)
			}
			return
		}
		n, err := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		if _, err2 := io.ReadFull(r, body); err != nil || err2 != nil {
			w.t.Errorf("stdout is not LSP: %v %v", err, err2)
			return
		}
		var m any
		if err := json.Unmarshal(body, &m); err != nil {
			w.t.Errorf("stdout is not LSP: %v: %s", err, body)
		}
		w.got <- m
	}
}

func (w *wire) step(section, line string) {
	switch section {
	case "in":
		w.write("Content-Length: " + strconv.Itoa(len(line)) + "\r\n\r\n" + line)
	case "raw":
		raw, err := strconv.Unquote(line)
		if err != nil {
			w.t.Fatalf("%s: %v", line, err)
		}
		w.write(raw)
	case "out":
		var want any
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			w.t.Fatalf("%s: %v", line, err)
		}
		w.expect(line, want)
	case "end":
		_ = w.in.Close()
		select {
		case code := <-w.code:
			if line != strconv.Itoa(code) {
				w.t.Errorf("exit code %d, want %s", code, line)
			}
			w.code <- code
		case <-time.After(5 * time.Second):
			w.t.Fatal("the server did not end")
		}
	default:
		w.t.Fatalf("unknown section %q", section)
	}
}

func (w *wire) write(s string) {
	if _, err := io.WriteString(w.in, s); err != nil {
		w.t.Fatalf("the server is gone: %v", err)
	}
}

func (w *wire) expect(line string, want any) {
	w.t.Helper()
	for i, m := range w.left {
		if matches(want, m) {
			w.left = slices.Delete(w.left, i, i+1)
			return
		}
	}
	deadline := time.After(5 * time.Second)
	for {
		select {
		case m, ok := <-w.got:
			if ok && matches(want, m) {
				return
			}
			if !ok {
				w.t.Fatalf("the server ended before %s; left: %s", line, show(w.left))
			}
			w.left = append(w.left, m)
		case <-deadline:
			w.t.Fatalf("no %s; left: %s", line, show(w.left))
		}
	}
}

func (w *wire) finish() {
	_ = w.in.Close()
	select {
	case <-w.code:
	case <-time.After(5 * time.Second):
		w.t.Fatal("the server did not end")
	}
	for m := range w.got {
		w.left = append(w.left, m)
	}
	for _, m := range w.left {
		if o, ok := m.(map[string]any); !ok || o["method"] == nil {
			w.t.Errorf("unexpected answer: %s", show(m))
		}
	}
}

func show(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func matches(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for key := range maps.Keys(want) {
			value, has := got[key]
			if !has || !matches(want[key], value) {
				return false
			}
		}
		return true
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return false
		}
		rest := slices.Clone(got)
		for _, w := range want { // the order of a batch's answers is free
			i := slices.IndexFunc(rest, func(g any) bool { return matches(w, g) })
			if i < 0 {
				return false
			}
			rest = slices.Delete(rest, i, i+1)
		}
		return true
	case string:
		return want == "…" || want == got
	}
	return want == got
}
