package mcptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a fake server that runs as a process of its own and speaks on
// stdin and stdout.
type child struct {
	*fake
	log   *os.File
	first bool // a message came

	mu  sync.Mutex // guards stdout
	out io.Writer
}

// serve runs the fake until the end of stdin and returns its exit code.
func serve(o Options) int {
	if o.idle {
		time.Sleep(time.Hour)
		return 0
	}
	c := &child{fake: newFake(o), out: os.Stdout}
	c.say = func(_ context.Context, m message) { c.send(m) }
	c.exit = func(fork bool) {
		if fork {
			c.spawn()
		}
		os.Exit(3)
	}
	if o.Log != "" {
		_, err := os.Stat(o.Log)
		c.Silent = c.Silent || o.Once && err == nil
		if c.log, err = os.OpenFile(o.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return 98
		}
	}
	c.note(Entry{Event: "start"})
	c.prelude()
	if o.ExitCode != 0 {
		return o.ExitCode
	}
	return c.loop(os.Stdin)
}

// prelude does what a server does before it reads.
func (c *child) prelude() {
	if c.IgnoreEOF {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	if c.Stderr != "" {
		_, _ = io.WriteString(os.Stderr, c.Stderr)
	}
	if c.Child {
		c.spawn()
	}
	if c.Junk {
		_, _ = io.WriteString(c.out, "Listening on stdio...\n\n\ufeff\nnot json {\n[1,2]\n{\"half\":\n\"text\"\nnull\n")
	}
	for i := range c.Chatty {
		data := object{"message": "starting"}
		for at, char := range strings.Split(fmt.Sprintf("step %d", i), "") {
			data[strconv.Itoa(at)] = char
		}
		c.notify(context.Background(), "notifications/message", object{"level": "info", "data": data})
	}
	if c.Banner {
		_, _ = io.WriteString(c.out, "Code Runner MCP Server running on stdio")
	}
}

// spawn starts a grandchild that holds stdout.
func (c *child) spawn() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), variable+"="+encode(Options{idle: true}))
	cmd.Stdout = os.Stdout
	if cmd.Start() == nil {
		c.note(Entry{Event: "grandchild", Child: cmd.Process.Pid})
	}
}

func (c *child) note(e Entry) {
	if c.log == nil {
		return
	}
	e.PID = os.Getpid()
	if data, err := json.Marshal(e); err == nil {
		_, _ = c.log.Write(append(data, '\n')) // one write: appended whole
	}
}

// received counts what all processes with the Log received of a method.
func (c *child) received(method string) (n int) {
	data, err := os.ReadFile(c.Log)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.Method == method {
			n++
		}
	}
	return n
}

func (c *child) loop(in io.Reader) int {
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			c.note(Entry{Event: "eof"})
			if c.IgnoreEOF {
				time.Sleep(time.Hour)
			}
			return 0
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		e := Entry{Method: m.Method, ID: m.ID, Params: m.Params}
		if m.Result != nil {
			e.Result, _ = json.Marshal(m.Result) // was JSON
		}
		c.note(e)
		if slices.Contains(c.ExitOn, m.Method) || slices.Contains(c.ExitFirst, m.Method) && c.received(m.Method) == 1 || !c.first && c.ExitOnOther != "" && m.Method != c.ExitOnOther {
			return 3
		}
		c.first = true
		switch {
		case c.mute(m.Method):
		case m.Method == "":
			c.answered(line, m)
		case len(m.ID) == 0:
			c.notified("", m)
		case m.Method == "tools/call" && toolName(m.Params) == "noread":
			time.Sleep(time.Hour)
		case m.Method == "initialize":
			c.handle(context.Background(), m)
		default:
			ctx, end := c.begin(context.Background(), "", m.ID)
			go func() { // the process ends with its stdin
				defer end()
				c.handle(ctx, m)
			}()
		}
	}
}

func (c *child) handle(ctx context.Context, m message) {
	if out, ok := c.answer(ctx, m); ok {
		c.send(out)
		c.after(m)
	}
}

func (c *child) send(m message) {
	data := encodeMessage(m)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.out.Write(append(data, '\n'))
}
