package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fake is one running fake server.
type fake struct {
	Options
	log *os.File

	mu        sync.Mutex // guards stdout and everything below
	out       io.Writer
	running   map[string]context.CancelFunc // requests under way, by id
	asked     map[string]chan json.RawMessage
	listening string // id of subscriptions/listen; empty: none
	extra     []Tool
	late      int // resources added
	changes   map[string]int
	mutated   bool
	first     bool // a message came
	sent      chan struct{}
}

// message is any JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// serve runs the fake until the end of stdin and returns its exit code.
func serve(o Options) int {
	if o.idle {
		time.Sleep(time.Hour)
		return 0
	}
	f := &fake{
		Options: o, out: os.Stdout, running: map[string]context.CancelFunc{}, asked: map[string]chan json.RawMessage{},
		changes: map[string]int{}, sent: make(chan struct{}),
	}
	if o.Log != "" {
		_, err := os.Stat(o.Log)
		f.Silent = f.Silent || o.Once && err == nil
		if f.log, err = os.OpenFile(o.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return 98
		}
	}
	f.note(Entry{Event: "start"})
	f.prelude()
	if o.ExitCode != 0 {
		return o.ExitCode
	}
	return f.loop(os.Stdin)
}

// prelude does what a server does before it reads.
func (f *fake) prelude() {
	if f.IgnoreEOF {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	if f.Stderr != "" {
		_, _ = io.WriteString(os.Stderr, f.Stderr)
	}
	if f.Child {
		f.spawn()
	}
	if f.Junk {
		_, _ = io.WriteString(f.out, "Listening on stdio...\n\n\ufeff\nnot json {\n[1,2]\n{\"half\":\n\"text\"\nnull\n")
	}
	if f.Banner {
		_, _ = io.WriteString(f.out, "Code Runner MCP Server running on stdio")
	}
}

// spawn starts a grandchild that holds stdout.
func (f *fake) spawn() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), variable+"="+encode(Options{idle: true}))
	cmd.Stdout = os.Stdout
	if cmd.Start() == nil {
		f.note(Entry{Event: "grandchild", Child: cmd.Process.Pid})
	}
}

func (f *fake) note(e Entry) {
	if f.log == nil {
		return
	}
	e.PID = os.Getpid()
	if data, err := json.Marshal(e); err == nil {
		_, _ = f.log.Write(append(data, '\n')) // one write: appended whole
	}
}

func (f *fake) loop(in io.Reader) int {
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			f.note(Entry{Event: "eof"})
			if f.IgnoreEOF {
				time.Sleep(time.Hour)
			}
			return 0
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		f.note(Entry{Method: m.Method, ID: m.ID, Params: m.Params})
		if slices.Contains(f.ExitOn, m.Method) || !f.first && f.ExitOnOther != "" && m.Method != f.ExitOnOther {
			return 3
		}
		f.first = true
		switch {
		case f.Silent, slices.Contains(f.Unanswered, m.Method):
		case m.Method == "":
			f.answered(line, m)
		case len(m.ID) == 0:
			f.notified(m)
		case m.Method == "tools/call" && toolName(m.Params) == "noread":
			time.Sleep(time.Hour)
		case m.Method == "initialize":
			f.handle(context.Background(), m)
		default:
			ctx, cancel := context.WithCancel(context.Background())
			f.mu.Lock()
			f.running[string(m.ID)] = cancel
			f.mu.Unlock()
			go f.handle(ctx, m) // the process ends with its stdin
		}
	}
}

// answered takes the client's answer to a request of ours.
func (f *fake) answered(line []byte, m message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.asked[string(m.ID)]; c != nil {
		c <- line
		delete(f.asked, string(m.ID))
	}
}

func (f *fake) notified(m message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(m.Params, &p)
	f.mu.Lock()
	defer f.mu.Unlock()
	if cancel := f.running[string(p.RequestID)]; cancel != nil {
		cancel()
	}
	if f.listening == string(p.RequestID) {
		f.listening = ""
	}
}

func (f *fake) handle(ctx context.Context, m message) {
	result, err := f.result(ctx, m)
	f.mu.Lock()
	cancel := f.running[string(m.ID)]
	delete(f.running, string(m.ID))
	f.mu.Unlock()
	if cancel != nil {
		defer cancel()
	}
	if ctx.Err() != nil {
		return // a cancelled request gets no answer
	}
	out := message{ID: m.ID, Result: result}
	if err != nil {
		out.Result = nil
		if e, ok := errors.AsType[*rpcError](err); ok {
			out.Error = e
		} else {
			out.Error = &rpcError{-32603, err.Error()}
		}
	}
	f.send(out)
	if m.Method == "initialize" && (f.Early || f.EarlyOnly) {
		for _, list := range []string{"tools", "resources", "prompts"} {
			f.notify("notifications/"+list+"/list_changed", nil)
		}
		close(f.sent)
	}
}

func (f *fake) send(m message) {
	m.JSONRPC = "2.0"
	if data, err := json.Marshal(m); err == nil {
		f.write(append(data, '\n'))
	}
}

func (f *fake) write(data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.out.Write(data)
}

// notify sends a notification. One that a server of 2026-07-28 must be asked
// for is sent only while subscriptions/listen is open.
func (f *fake) notify(method string, params any) {
	f.mu.Lock()
	listening := f.listening
	f.mu.Unlock()
	asked := strings.HasSuffix(method, "list_changed") || strings.HasSuffix(method, "updated")
	if f.Modern && asked && listening == "" {
		return
	}
	raw, _ := json.Marshal(params)
	if params == nil {
		raw = nil
	}
	f.send(message{Method: method, Params: raw})
}

// ask sends a request to the client and returns its whole answer.
func (f *fake) ask(ctx context.Context, method string) (string, error) {
	c := make(chan json.RawMessage, 1)
	f.mu.Lock()
	id := fmt.Sprintf(`"ask-%d"`, len(f.asked)+f.late)
	f.asked[id] = c
	f.mu.Unlock()
	f.send(message{ID: json.RawMessage(id), Method: method, Params: json.RawMessage("{}")})
	select {
	case answer := <-c:
		return strings.TrimSpace(string(answer)), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func toolName(params json.RawMessage) string {
	var p struct{ Name string }
	_ = json.Unmarshal(params, &p)
	return p.Name
}
