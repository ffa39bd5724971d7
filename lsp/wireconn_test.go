package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/textproto"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp/mcptest"
)

// wire is a connection without an editor's manners.
type wire struct {
	*house
	t       testing.TB
	llm     *agenttest.LLM
	servers map[string]mcptest.Options
	vars    map[string]any // what patterns bound, see fill
	never   []string
	in      *io.PipeWriter
	code    chan int
	reader  sync.WaitGroup

	mu      sync.Mutex
	answers map[string]json.RawMessage // to the server's requests, by method
	sent    map[string]string          // methods of our requests, by id
	command map[string]string          // and what they execute
	echoes  map[string]bool            // methods
	all     []any                      // messages of the server, decoded
	taken   []bool                     // those that a line took
	more    chan struct{}              // closed and made anew with each message
	over    bool
}

// wireAnswers are the answers of a client whose user does nothing. What is
// missing here the script answers.
func wireAnswers() map[string]json.RawMessage {
	null := json.RawMessage(`{"result":null}`)
	return map[string]json.RawMessage{
		"workspace/configuration": json.RawMessage(`{"result":[null]}`), "window/workDoneProgress/create": null,
		"window/showDocument":       json.RawMessage(`{"result":{"success":true}}`),
		"client/registerCapability": null, "client/unregisterCapability": null,
		"workspace/codeLens/refresh": null, "workspace/semanticTokens/refresh": null,
	}
}

func (w *wire) connect(llm *agenttest.LLM) {
	h := newHouse(w.t, setup{llm: llm})
	w.servers = h.evidence.watch(w.t, w.servers)
	w.house, w.llm = h, llm
	w.vars["ws"], w.vars["root"], w.vars["servers"] = lsptest.FileURI(h.root), h.root, serverEntries(w.t, w.servers)
	w.vars["state"], w.vars["dir"], w.vars["config"] = lsptest.FileURI(h.state), lsptest.FileURI(h.dir), lsptest.FileURI(filepath.Join(h.dir, "config"))
	h.server.previews.wait = lsptest.Deadline
	base := h.server.route
	h.server.route = func(method string) (prepare, bool) {
		if p := testMethod(method); p != nil {
			return p, false
		}
		return base(method)
	}
	h.evidence.said = w.heard
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	w.in, w.code, w.more, w.sent = in, make(chan int, 1), make(chan struct{}), map[string]string{}
	w.command = map[string]string{}
	go func() { // ends with the input
		code, err := h.server.Serve(context.Background(), stdin, stdout)
		if err != nil {
			w.t.Errorf("Serve: %v", err)
		}
		_ = stdout.Close()
		w.code <- code
	}()
	w.reader.Go(func() { w.read(out) }) // ends with Serve
}

// heard is what the server told of runs.
func (w *wire) heard() (list []json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.all {
		o, _ := m.(map[string]any)
		failure, _ := o["error"].(map[string]any)
		if o["method"] == "agentls/runEvent" {
			list = append(list, mustEncode(o["params"]))
		}
		list = append(list, mustEncode(o["result"]), mustEncode(failure["data"]))
	}
	return list
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

// read takes the server's messages until its output ends.
func (w *wire) read(out io.Reader) {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.over = true
		w.tell()
	}()
	model, err := lsptest.LoadMetaModel()
	if err != nil {
		w.t.Error(err)
		return
	}
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
		w.got(model, body)
	}
}

// got takes one message: checked, answered where the script does not, kept.
func (w *wire) got(model *lsptest.MetaModel, body []byte) {
	var m any
	if err := json.Unmarshal(body, &m); err != nil {
		w.t.Errorf("stdout is not LSP: %v: %s", err, body)
		return
	}
	one, _ := m.(map[string]any)
	method, _ := one["method"].(string)
	params, hasParams := one["params"]
	var answer json.RawMessage
	w.mu.Lock()
	var err error
	if method != "" {
		var raw json.RawMessage
		if hasParams {
			raw = mustEncode(params)
		}
		err = model.Message(method, raw)
		answer = w.answers[method]
	} else if result, ok := one["result"]; ok {
		if asked := w.sent[show(one["id"])]; !w.echoes[asked] {
			err = errors.Join(model.Result(asked, mustEncode(result)), model.CommandResult(w.command[show(one["id"])], mustEncode(result)))
		}
	}
	w.all, w.taken = append(w.all, m), append(w.taken, false)
	w.tell()
	w.mu.Unlock()
	if err != nil {
		w.t.Errorf("not LSP: %v in %s", err, body)
	}
	if id, asks := one["id"]; asks && method != "" && len(answer) > 0 && string(answer) != "null" {
		reply := decodeAs[map[string]any](w.t, answer)
		reply["jsonrpc"], reply["id"] = "2.0", id
		raw := mustEncode(reply)
		_, _ = fmt.Fprintf(w.in, "Content-Length: %d\r\n\r\n%s", len(raw), raw) // at the end nobody reads it
	}
}

// tell wakes who waits. w.mu is held.
func (w *wire) tell() {
	close(w.more)
	w.more = make(chan struct{})
}

// sendLine sends a message, good or bad. A batch and what is no JSON goes out as
// it is.
func (w *wire) sendLine(line string) {
	var m struct {
		ID     any
		Method any
		Params json.RawMessage
	}
	if json.Unmarshal([]byte(line), &m) == nil {
		if method, ok := m.Method.(string); ok && m.ID != nil {
			w.mu.Lock()
			w.sent[show(m.ID)], w.command[show(m.ID)] = method, lsptest.CommandOf(method, m.Params)
			w.mu.Unlock()
		}
	}
	w.write("Content-Length: " + strconv.Itoa(len(line)) + "\r\n\r\n" + line)
}

func (w *wire) write(s string) {
	if _, err := io.WriteString(w.in, s); err != nil {
		w.t.Errorf("the server is gone: %v", err)
	}
}

// look waits until the messages have what find finds.
func (w *wire) look(line string, find func(all []any) bool) {
	w.t.Helper()
	deadline := time.After(lsptest.Deadline)
	for {
		w.mu.Lock()
		found, over, more := find(w.all), w.over, w.more
		var left []any
		for i, m := range w.all {
			if !w.taken[i] {
				left = append(left, m)
			}
		}
		w.mu.Unlock()
		if found {
			return
		}
		if over {
			w.t.Fatalf("the server ended before %s; left:\n%s", line, show(left))
		}
		select {
		case <-more:
		case <-deadline:
			w.t.Fatalf("no %s; left:\n%s", line, show(left))
		}
	}
}

// take waits for a message that no line took yet.
func (w *wire) take(line string) {
	w.t.Helper()
	want := w.decode(line)
	w.look(line, func(all []any) bool {
		for i, m := range all {
			if !w.taken[i] && w.matches(want, m) {
				w.taken[i] = true
				return true
			}
		}
		return false
	})
}

// follow waits for a message that stands behind the first at ones, and returns
// its place.
func (w *wire) follow(at int, line string) (next int) {
	w.t.Helper()
	want := w.decode(line)
	w.look(fmt.Sprintf("%s behind message %d", line, at), func(all []any) bool {
		for i := at; i < len(all); i++ {
			if w.matches(want, all[i]) {
				next, w.taken[i] = i+1, true
				return true
			}
		}
		return false
	})
	return next
}

// end closes the input and looks at the exit code.
func (w *wire) end(want string) {
	_ = w.in.Close()
	select {
	case code := <-w.code:
		if want != "" && want != strconv.Itoa(code) {
			w.t.Errorf("exit code %d, want %s", code, want)
		}
		w.code <- code
	case <-time.After(5 * time.Second):
		w.t.Fatal("the server did not end")
	}
	w.reader.Wait()
}

func (w *wire) finish() {
	w.end("")
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, m := range w.all {
		o, ok := m.(map[string]any)
		if !w.taken[i] && (!ok || o["method"] == nil) {
			w.t.Errorf("unexpected answer: %s", show(m))
		}
		for _, line := range w.never {
			if w.matches(w.decode(line), m) {
				w.t.Errorf("%s came, and never %s", show(m), line)
			}
		}
	}
}

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// merged is a JSON merge patch (RFC 7396).
func merged(base, patch any) any {
	from, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	to, _ := base.(map[string]any)
	to = maps.Clone(to)
	if to == nil {
		to = map[string]any{}
	}
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if from[key] == nil {
			delete(to, key)
		} else {
			to[key] = merged(to[key], from[key])
		}
	}
	return to
}
