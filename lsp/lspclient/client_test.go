package lspclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// variable makes the test binary a server, which answers each request by its
// method.
const variable = "AGENTLS_LSPCLIENT_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(variable) != "" {
		serve()
		return
	}
	goleak.VerifyTestMain(m)
}

func serve() {
	in := bufio.NewReader(os.Stdin)
	for {
		body, err := ReadFrame(in)
		if err != nil {
			return
		}
		var m Message
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			continue
		}
		say := func(format string, args ...any) { _ = WriteFrame(os.Stdout, fmt.Appendf(nil, format, args...)) }
		switch m.Method {
		case "echo":
			say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, *m.ID, m.Params)
		case "refuse":
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32803,"message":"no","data":{"kind":"context"}}}`, *m.ID)
		case "ask":
			say(`{"jsonrpc":"2.0","id":"q","method":"question","params":{"n":1}}`)
		case "": // the answer to that
			say(`{"jsonrpc":"2.0","method":"answered","params":%s}`, m.Result)
		case "exit":
			return
		case "garbage":
			fmt.Println("Starting up …")
			fmt.Println()
		case "nothing":
		}
	}
}

func start(t *testing.T, o Options) (*Client, context.Context) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), variable+"=1", "GORACE=atexit_sleep_ms=0")
	c, err := Start(cmd, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return c, ctx
}

func TestCallsAndAnswers(t *testing.T) {
	var taken int
	c, ctx := start(t, Options{
		Take:   func(frame []byte) bool { taken++; return strings.Contains(string(frame), "hidden") },
		Answer: func(_ context.Context, method string, params json.RawMessage) any { return method + string(params) },
	})
	var out string
	if err := c.Call(ctx, "echo", "hello", &out); err != nil || out != "hello" {
		t.Errorf("%q, %v", out, err)
	}
	e, ok := errors.AsType[*Error](c.Call(ctx, "refuse", nil, nil))
	if !ok || e.Code != -32803 || string(e.Data) != `{"kind":"context"}` {
		t.Errorf("error %v", e)
	}
	before := c.Mark()
	c.Request("ask", nil)
	if err := c.Await(ctx, before, "no answer came", func(m Message) bool {
		return m.Method == "answered" && string(m.Params) == `"question{\"n\":1}"`
	}); err != nil {
		t.Error(err)
	}
	late, cancel := context.WithCancelCause(ctx)
	_, wait := c.Request("echo", "hidden")
	cancel(errors.New("enough"))
	if err := wait(late, nil); err == nil || err.Error() != "echo: enough" {
		t.Errorf("an answer that was taken away: %v", err)
	}
	if err := c.Call(ctx, "echo", "again", &out); err != nil || taken != 6 {
		t.Errorf("%d frames were seen, %v", taken, err)
	}
}

// A request that the server takes back, or leaves behind, ends what answers it.
func TestRequestsOfTheServerThatEnd(t *testing.T) {
	for _, how := range []string{"takes it back", "is gone"} {
		t.Run(how, func(t *testing.T) {
			fromServer, toClient := io.Pipe()
			fromClient, toServer := io.Pipe()
			asked, ended := make(chan struct{}), make(chan struct{})
			var notes []string // of the client's reader, until Close
			c := Connect(fromServer, toServer, Options{
				Answer: func(ctx context.Context, _ string, _ json.RawMessage) any {
					close(asked)
					<-ctx.Done()
					close(ended)
					return "too late"
				},
				Note: func(method string, params json.RawMessage) { notes = append(notes, method+string(params)) },
			})
			say := func(text string) { _ = WriteFrame(toClient, []byte(text)) }
			say(`{"jsonrpc":"2.0","id":7,"method":"ask","params":{}}`)
			<-asked
			say(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":8}}`) // of another one
			say(`{"jsonrpc":"2.0","method":"note","params":1}`)
			if how == "takes it back" {
				say(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}`)
				<-ended
				answer, err := ReadFrame(bufio.NewReader(fromClient))
				if err != nil || !strings.Contains(string(answer), `"id":7,"error":{"code":-32800`) {
					t.Errorf("%s, %v", answer, err)
				}
			}
			_ = fromClient.Close()
			_ = toClient.Close()
			<-ended
			if err := c.Close(); err != nil || len(notes) != 1 || notes[0] != "note1" {
				t.Errorf("%v, %v", notes, err)
			}
		})
	}
}

// A server that ends, or says something that is no frame, ends every wait.
func TestServerGone(t *testing.T) {
	for _, how := range []string{"exit", "garbage"} {
		t.Run(how, func(t *testing.T) {
			c, ctx := start(t, Options{})
			_, wait := c.Request("nothing", nil)
			c.Request(how, nil)
			if err := wait(ctx, nil); err == nil || !strings.Contains(err.Error(), "the server is gone") {
				t.Errorf("the request under way: %v", err)
			}
			if err := c.Call(ctx, "echo", 1, nil); err == nil || !strings.Contains(err.Error(), "the server is gone") {
				t.Errorf("the next request: %v", err)
			}
			err := c.Await(ctx, 0, "nothing came", func(Message) bool { return false })
			if want := map[string]string{"exit": "nothing came: the server is gone", "garbage": "this is no LSP"}[how]; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}
