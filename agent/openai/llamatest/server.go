package llamatest

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed template.jinja
var template []byte

// Alias is the name under which a server lists its model.
const Alias = "table"

// Deadline bounds everything that a test waits for here.
const Deadline = time.Minute

// Options say what is served. Zero values are the defaults.
type Options struct {
	Model   Model
	Context int // tokens of each slot; 0: 32768, so that an agent's tools fit
	Slots   int // answers beside each other; 0: 2
	APIKey  string
}

// Server is a running llama-server on 127.0.0.1. It ends with its test.
type Server struct {
	URL string // without a path

	cmd    *exec.Cmd
	output *output
	exited chan struct{}
}

// Slot is one of the places in which a server works on an answer.
type Slot struct {
	ID   int  `json:"id"`
	Busy bool `json:"is_processing"`
}

// Start starts a server and waits until it is ready. Where none is installed
// the test is skipped, but with AGENTLS_NEED_PROVIDER it fails.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	program := find(tb)
	if o.Context == 0 {
		o.Context = 32768
	}
	if o.Slots == 0 {
		o.Slots = 2
	}
	dir := tb.TempDir()
	model, chat := filepath.Join(dir, "model.gguf"), filepath.Join(dir, "template.jinja")
	var file bytes.Buffer
	_, _ = o.Model.file(o.Context).WriteTo(&file) // a buffer takes everything
	for name, data := range map[string][]byte{model: file.Bytes(), chat: template} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	var s *Server
	for range 3 { // another process may have taken the port meanwhile
		port := freePort(tb)
		s = &Server{URL: "http://127.0.0.1:" + port, output: &output{}, exited: make(chan struct{})}
		s.cmd = exec.Command(program, "--model", model, "--alias", Alias, "--host", "127.0.0.1", "--port", port,
			"--ctx-size", fmt.Sprint(o.Context*o.Slots), "--parallel", fmt.Sprint(o.Slots), "--threads", "1", "--jinja", "--chat-template-file", chat, "--slots")
		if o.APIKey != "" {
			s.cmd.Args = append(s.cmd.Args, "--api-key", o.APIKey)
		}
		s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
		if err := s.cmd.Start(); err != nil {
			tb.Fatal(err)
		}
		go func() { _ = s.cmd.Wait(); close(s.exited) }() // ends with the process
		tb.Cleanup(s.Kill)
		if s.ready() {
			return s
		}
		s.Kill()
	}
	tb.Fatalf("llama-server is not ready:\n%s", s.output)
	return nil
}

// find returns the program; the version found is printed once.
func find(tb testing.TB) string {
	tb.Helper()
	program := os.Getenv("LLAMA_SERVER")
	if program == "" {
		program = filepath.Join(repository(tb), ".deps", "llama.cpp", "llama-server")
	}
	v, err := version(program)
	switch {
	case err == nil:
		tb.Logf("llama-server %s", v)
	case os.Getenv("AGENTLS_NEED_PROVIDER") != "":
		tb.Fatalf("%s: %v: `make setup-provider` installs it", program, err)
	default:
		tb.Skipf("no real provider here: `make setup-provider` installs llama-server on a Debian, and LLAMA_SERVER can name one (%v)", err)
	}
	return program
}

var versionLine = regexp.MustCompile(`version: *(.+)`)

func version(program string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--version").CombinedOutput()
	if err != nil {
		return "", err
	}
	if m := versionLine.FindSubmatch(out); m != nil {
		return strings.TrimSpace(string(m[1])), nil
	}
	return "of an unknown version", nil
}

// repository is the folder of go.mod above the test's.
func repository(tb testing.TB) string {
	tb.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

func freePort(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// ready waits until the server says that it is, or ends.
func (s *Server) ready() bool {
	for deadline := time.Now().Add(Deadline); time.Now().Before(deadline); {
		if s.get("/health", nil) == nil {
			return true
		}
		select {
		case <-s.exited:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return false
}

// get decodes the answer of one of the server's own pages into v.
func (s *Server) get(path string, v any) error {
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return err
	}
	req.Close = true // no connection that a test would find left over
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	if v == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(v)
}

// BaseURL is the provider's, as agentls is configured with it.
func (s *Server) BaseURL() string { return s.URL + "/v1" }

// Busy counts the slots that work on an answer now.
func (s *Server) Busy(tb testing.TB) (n int) {
	tb.Helper()
	var slots []Slot
	if err := s.get("/slots", &slots); err != nil {
		tb.Fatalf("%v\n%s", err, s.output)
	}
	for _, slot := range slots {
		if slot.Busy {
			n++
		}
	}
	return n
}

// AwaitBusy waits until n slots work, and returns how long that took.
func (s *Server) AwaitBusy(tb testing.TB, n int) time.Duration {
	tb.Helper()
	start := time.Now()
	for time.Since(start) < Deadline {
		if s.Busy(tb) == n {
			return time.Since(start)
		}
		time.Sleep(time.Millisecond) // between two looks
	}
	tb.Fatalf("%d slots are busy after %s, not %d\n%s", s.Busy(tb), Deadline, n, s.output)
	return 0
}

// Hang stops the server where it is: its connections stay, and nothing comes.
func (s *Server) Hang(tb testing.TB) {
	tb.Helper()
	if out, err := exec.Command("kill", "-STOP", fmt.Sprint(s.cmd.Process.Pid)).CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
}

// Kill ends the server at once, as a crash would, and waits for its end.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.exited
}

// output keeps the last of what the server prints.
type output struct {
	mu   sync.Mutex
	data []byte
}

func (o *output) Write(p []byte) (int, error) {
	const most = 16 << 10
	o.mu.Lock()
	defer o.mu.Unlock()
	o.data = append(o.data, p...)
	o.data = o.data[max(0, len(o.data)-most):]
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.data)
}
