package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/workspace"
)

// testOptions are those of a server with nothing configured, in scratch
// folders. Everything in them is real and ends with the test.
func testOptions(t testing.TB) Options {
	t.Helper()
	dir := t.TempDir()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	secrets, state := mcp.NewSecrets(), workspace.NewState()
	manager := mcp.NewManager(mcp.Options{
		Name: "agentls", Version: "test", State: state, TrustFile: filepath.Join(dir, "trust.json"), Secrets: secrets, Log: log,
	})
	t.Cleanup(manager.Close)
	if err := os.WriteFile(filepath.Join(dir, "firstrun.json"), nil, 0o600); err != nil { // this is none
		t.Fatal(err)
	}
	return Options{
		Version: "test", Manager: manager, State: state, StateDir: dir, Secrets: secrets, Log: log,
		Config: config.Source{
			Dir: filepath.Join(dir, "config"), Home: dir, Getenv: func(string) (string, bool) { return "", false }, Secrets: secrets,
		},
		NewLLM: func(config.Provider) (agent.LLM, error) { panic("no model in this test") },
		Local:  []config.KnownProvider{},
		Alive:  func(int) bool { return true },
	}
}

// served is a server with a fake editor. Methods in extra are served beside
// the real ones.
func served(t testing.TB, o Options, extra map[string]prepare) (*lsptest.Editor, *Server) {
	t.Helper()
	s := New(o)
	s.route = func(method string) (prepare, bool) {
		if p := extra[method]; p != nil {
			return p, false
		}
		return route(method)
	}
	return lsptest.New(t, s.Serve), s
}

// later is a prepare without a snapshot.
func later(serve func(s *Server, ctx context.Context) (any, error)) prepare {
	return func(s *Server, _ context.Context, _ []byte) (func(context.Context) (any, error), error) {
		return func(ctx context.Context) (any, error) { return serve(s, ctx) }, nil
	}
}

// Each completion sees the text as it was when it was sent, and a burst of
// them is answered to the last (SilasMarvin/lsp-ai transformer_worker.rs left
// out those that were superseded).
func TestRequestsSeeTheTextOfTheirTime(t *testing.T) {
	e, _ := served(t, testOptions(t), map[string]prepare{
		"test/text": func(s *Server, _ context.Context, _ []byte) (func(context.Context) (any, error), error) {
			doc, _ := s.docs.get("file:///a")
			return func(context.Context) (any, error) { return doc.text, nil }, nil
		},
	})
	e.Initialize(lsptest.Init{})
	e.Open("file:///a", "text", "")
	const n = 1000
	var pending [n]*lsptest.Pending
	for i := range pending {
		e.Edit("file:///a", lsptest.TextEdit{NewText: fmt.Sprint(i)})
		pending[i] = e.Start("test/text", nil)
	}
	for i, p := range pending {
		if got, err := p.Wait(); err != nil || string(got) != fmt.Sprintf("%q", fmt.Sprint(i)) {
			t.Fatalf("request %d saw %s (%v)", i, got, err)
		}
	}
}

// A superseded completion has its answer too.
func TestBurstOfCompletions(t *testing.T) {
	e, _ := served(t, testOptions(t), nil)
	e.Initialize(lsptest.Init{})
	e.Open("untitled:a", "agentls", "@")
	var pending [100]*lsptest.Pending
	for i := range pending {
		pending[i] = e.Start("textDocument/completion", map[string]any{"textDocument": map[string]any{"uri": "untitled:a"}, "position": lsptest.Position{Character: 1}})
		if i%2 == 0 {
			pending[i].Cancel()
		}
	}
	for i, p := range pending {
		if _, err := p.Wait(); err != nil && err.Code != -32800 {
			t.Errorf("completion %d: %v", i, err)
		}
	}
}

// CircleCI-Public/circleci-yaml-language-server#371: a log line on stdout. The
// fake editor fails the test over anything that is not LSP.
func TestStdoutIsLSPAlsoWhenHandlersPanic(t *testing.T) {
	e, _ := served(t, testOptions(t), map[string]prepare{
		"test/panic": later(func(*Server, context.Context) (any, error) { panic("on purpose") }),
		"test/odd":   later(func(*Server, context.Context) (any, error) { return func() {}, nil }),
	})
	e.Initialize(lsptest.Init{})
	for _, method := range []string{"test/panic", "test/odd"} {
		if _, err := e.Start(method, nil).Wait(); err == nil || err.Code != -32603 {
			t.Errorf("%s: %v", method, err)
		}
	}
	if code := e.Shutdown(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestPanicInTheBackgroundEndsNothingElse(t *testing.T) {
	e, s := served(t, testOptions(t), nil)
	e.Initialize(lsptest.Init{})
	ended := make(chan struct{})
	s.inBackground("test", func(context.Context) { defer close(ended); panic("on purpose") })
	<-ended
	if code := e.Shutdown(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestErrorsHaveTheirCodes(t *testing.T) {
	provider := &agent.ProviderError{Kind: agent.KindRateLimit, Message: "Wait a minute.", Retryable: true}
	answered := jsonrpc2.NewError(jsonrpc2.MethodNotFound, "the client's word")
	s := &Server{o: Options{Log: slog.New(slog.DiscardHandler), Secrets: mcp.NewSecrets()}}
	s.o.Secrets.Add("hunter2hunter2")
	check := func(err error, code jsonrpc2.Code, message, data string) {
		t.Helper()
		got := s.wireError("x", err)
		if got.Code != code || got.Message != message || string(got.Data) != data {
			t.Errorf("%v: %d %q %s", err, got.Code, got.Message, got.Data)
		}
	}
	check(&paramsError{"bad"}, -32602, "bad", "")
	check(fmt.Errorf("x: %w", &paramsError{"bad"}), -32602, "x: bad", "")
	check(context.Canceled, -32800, "cancelled", "")
	check(errGone, -32800, "cancelled", "")
	check(errors.New("the key is hunter2hunter2"), -32603, "the key is [redacted]", "")
	check(answered, -32603, "the client's word", "")
	check(context.DeadlineExceeded, -32603, "context deadline exceeded", "")
	check(&runError{"r", "s", agent.ErrCancelled}, -32800, "cancelled", `{"runId":"r","session":"s"}`)
	check(&runError{"r", "s", fmt.Errorf("call: %w", context.Canceled)}, -32800, "cancelled", `{"runId":"r","session":"s"}`)
	check(&runError{"r", "s", provider}, -32803, "Wait a minute.", `{"kind":"rateLimit","retryable":true,"runId":"r","session":"s"}`)
	check(&runError{"r", "s", errors.New("x")}, -32803, "internal error: x", `{"kind":"internal","retryable":false,"runId":"r","session":"s"}`)
}

func TestCall(t *testing.T) {
	results := make(chan error, 10)
	call := later(func(s *Server, ctx context.Context) (any, error) {
		var got json.RawMessage
		err := s.call(ctx, "test/question", map[string]int{"n": 1}, &got)
		results <- err
		return got, nil
	})
	e, _ := served(t, testOptions(t), map[string]prepare{"test/call": call})
	e.Initialize(lsptest.Init{})

	e.On("test/question", func(params json.RawMessage) (any, error) { return params, nil })
	if got := e.Call("test/call", nil); string(got) != `{"n":1}` {
		t.Errorf("answer %s", got)
	}
	if err := <-results; err != nil {
		t.Error(err)
	}

	e.On("test/question", func(json.RawMessage) (any, error) { return nil, &lsptest.Error{Code: -32601, Message: "no"} })
	e.Call("test/call", nil)
	if wire, ok := errors.AsType[*jsonrpc2.Error](<-results); !ok || wire.Code != -32601 {
		t.Errorf("the client's error: %v", wire)
	}

	// Answers that are odd end the call all the same.
	for _, odd := range []string{`{"error":{"code":"x","message":5}}`, `{"error":{"code":-32601.0,"message":"x"}}`, `{"result":1,"error":null}`, `{"error":"text"}`} {
		e.On("test/question", func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
		n := len(e.Requests("test/question"))
		p := e.Start("test/call", nil)
		q := e.AwaitRequest("test/question", n+1)
		e.Frame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s`, q.ID, odd[1:]))
		if _, err := p.Wait(); err != nil {
			t.Errorf("%s: %v", odd, err)
		}
		<-results
	}
}

func TestCancelledCallIsTakenBack(t *testing.T) {
	result := make(chan error, 1)
	e, _ := served(t, testOptions(t), map[string]prepare{"test/call": later(func(s *Server, ctx context.Context) (any, error) {
		err := s.call(ctx, "test/question", nil, nil)
		result <- err
		return nil, err
	})})
	e.Initialize(lsptest.Init{})
	e.On("test/question", func(json.RawMessage) (any, error) { return nil, lsptest.ErrSilent })
	p := e.Start("test/call", nil)
	q := e.AwaitRequest("test/question", 1)
	p.Cancel()
	if _, err := p.Wait(); err == nil || err.Code != -32800 {
		t.Errorf("answer %v", err)
	}
	if err := <-result; !errors.Is(err, agent.ErrCancelled) {
		t.Errorf("call returned %v", err)
	}
	if got := e.AwaitNotification("$/cancelRequest", 1); string(got) != fmt.Sprintf(`{"id":%s}`, q.ID) {
		t.Errorf("$/cancelRequest %s for %s", got, q.ID)
	}
	e.Frame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":null}`, q.ID)) // late, and harmless
	e.Shutdown()
}

// The end of the connection, however it comes, cancels what runs, answers it,
// and takes less than 2 s.
func TestEnd(t *testing.T) {
	var dead atomic.Bool
	release := make(chan struct{})
	check := func(name string, end func(e *lsptest.Editor), method string, wantErr bool) {
		t.Run(name, func(t *testing.T) {
			dead.Store(false)
			o := testOptions(t)
			o.Alive = func(int) bool { return !dead.Load() }
			e, _ := served(t, o, map[string]prepare{
				"test/hang":  later(func(_ *Server, ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }),
				"test/stuck": later(func(*Server, context.Context) (any, error) { <-release; return nil, nil }),
			})
			e.Initialize(lsptest.Init{})
			p := e.Start(method, nil)
			e.Call("textDocument/completion", map[string]any{"textDocument": map[string]any{"uri": "file:///a"}, "position": lsptest.Position{}})
			start := time.Now()
			end(e)
			_, err := e.Wait()
			if (err != nil) != wantErr {
				t.Errorf("Serve: %v", err)
			}
			// The bound is far over what it takes.
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("the end took %v", took)
			}
			if _, wire := p.Wait(); wire == nil || wire.Code != -32800 {
				t.Errorf("%s: %v", method, wire)
			}
		})
	}
	check("EOF", (*lsptest.Editor).Close, "test/hang", false)
	check("exit", func(e *lsptest.Editor) { e.Notify("exit", nil) }, "test/hang", false)
	check("ctx", (*lsptest.Editor).Cancel, "test/hang", false)
	// github/copilot.vim#266: the server outlived its editor.
	check("the editor's process dies", func(*lsptest.Editor) { dead.Store(true) }, "test/hang", false)
	check("a handler that does not react", (*lsptest.Editor).Close, "test/stuck", false)
	close(release)
}

// Children take a second to end: were they told only after a handler that does
// not react was given up, the end would take more than two.
func TestChildrenEndBesideTheRest(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	o := testOptions(t)
	e, _ := served(t, o, map[string]prepare{
		"test/stuck": later(func(*Server, context.Context) (any, error) { <-release; return nil, nil }),
	})
	e.Initialize(lsptest.Init{})
	e.Start("test/stuck", nil)
	e.Close()
	if _, err := e.Wait(); err != nil {
		t.Error(err)
	}
	late := time.After(5 * time.Second)
	for {
		select {
		case _, open := <-o.Manager.Events():
			if !open {
				return
			}
		case <-late:
			t.Fatal("the manager still runs")
		}
	}
}

// An editor that was killed has closed both ends.
func TestEditorThatWasKilled(t *testing.T) {
	s := New(testOptions(t))
	started := make(chan struct{})
	s.route = func(method string) (prepare, bool) {
		if method == "test/hang" {
			return later(func(_ *Server, ctx context.Context) (any, error) { close(started); <-ctx.Done(); return nil, ctx.Err() }), false
		}
		return route(method)
	}
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	type end struct {
		code int
		err  error
	}
	ended := make(chan end, 1)
	go func() { // ends with its input
		code, err := s.Serve(context.Background(), stdin, stdout)
		ended <- end{code, err}
	}()
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with out
	for _, body := range []string{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}`, `{"jsonrpc":"2.0","id":1,"method":"test/hang"}`} {
		if _, err := io.WriteString(in, frame(body)); err != nil {
			t.Fatal(err)
		}
	}
	<-started
	_, _ = out.Close(), in.Close()
	if got := <-ended; got != (end{}) {
		t.Errorf("%+v", got)
	}
}

// A processId that is dead at initialize is not watched: it may be from
// another namespace.
func TestProcessThatWasNeverAlive(t *testing.T) {
	o := testOptions(t)
	var asked atomic.Int32
	o.Alive = func(int) bool { asked.Add(1); return false }
	e, _ := served(t, o, nil)
	e.Initialize(lsptest.Init{})
	if code := e.Shutdown(); code != 0 || asked.Load() != 1 {
		t.Errorf("exit code %d, asked %d times", code, asked.Load())
	}
}

// A client that does not read stops neither the read loop nor a handler, and
// is given up when it leaves too much.
func TestClientThatDoesNotRead(t *testing.T) {
	s := New(testOptions(t))
	big := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	served := make(chan struct{}, 100)
	s.route = func(method string) (prepare, bool) {
		if method == "test/big" {
			return later(func(*Server, context.Context) (any, error) { served <- struct{}{}; return big, nil }), false
		}
		return route(method)
	}
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() { // ends when the server gives the client up
		_, err := s.Serve(context.Background(), stdin, stdout)
		ended <- err
	}()
	send := func(body string) {
		_, _ = io.WriteString(in, frame(body)) // fails when the server is gone
	}
	send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}`)
	for i := range 70 {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"test/big"}`, i+1))
	}
	for range 60 {
		<-served // the handlers went on
	}
	if err := <-ended; !errors.Is(err, errUnread) {
		t.Errorf("Serve: %v", err)
	}
	_ = out.Close()
}
