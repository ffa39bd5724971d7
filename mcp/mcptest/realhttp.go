package mcptest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// remotes are the servers over HTTP that others wrote, or whose protocol
// others wrote, by the name that [RealHTTP] takes.
var remotes = map[string]struct {
	path    string
	command func(tb testing.TB, port string) *exec.Cmd
}{
	// @modelcontextprotocol/server-everything: Streamable HTTP with sessions,
	// kept events and a GET stream; and HTTP+SSE of 2024-11-05.
	"everything": {"/mcp", everything("streamableHttp")},
	"sse":        {"/sse", everything("sse")},
	// The example of the official Go SDK, with sessions and so up to
	// 2025-11-25; and a server made with it, without sessions, of both eras.
	"go-sdk":           {"/", goServer("everything")},
	"go-sdk-stateless": {"/", goServer("gosdk")},
	// A server made with mcp-go, of both eras. It takes any session id, or
	// only those that it gave.
	"mcp-go":          {"/mcp", goServer("mcpgo")},
	"mcp-go-stateful": {"/mcp", goServer("mcpgo", "-stateful")},
	// The example of the official TypeScript SDK that wants a login, with its
	// authorization server. Both know themselves as localhost.
	"oauth": {"/mcp", oauthExample},
}

func everything(mode string) func(testing.TB, string) *exec.Cmd {
	return func(tb testing.TB, port string) *exec.Cmd {
		tb.Helper()
		node, args := RealServer(tb, "everything")
		cmd := exec.Command(node, append([]string{"-r", filepath.Join(serversDir(tb), "loopback.cjs")}, append(args, mode)...)...)
		cmd.Env = append(os.Environ(), "PORT="+port)
		return cmd
	}
}

func oauthExample(tb testing.TB, port string) *exec.Cmd {
	tb.Helper()
	node, _ := RealServer(tb, "everything")
	dir := serversDir(tb)
	example := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "sdk", "dist", "esm", "examples", "server", "simpleStreamableHttp.js")
	cmd := exec.Command(node, "-r", filepath.Join(dir, "loopback.cjs"), example, "--oauth", "--oauth-strict")
	cmd.Env = append(os.Environ(), "MCP_PORT="+port, "MCP_AUTH_PORT="+freePort(tb))
	return cmd
}

func goServer(name string, args ...string) func(testing.TB, string) *exec.Cmd {
	return func(tb testing.TB, port string) *exec.Cmd {
		tb.Helper()
		return exec.Command(GoServer(tb, name), append([]string{"-http", "127.0.0.1:" + port}, args...)...)
	}
}

// GoServer returns the program of a real server in Go, which speaks on stdio
// without arguments.
func GoServer(tb testing.TB, name string) string {
	tb.Helper()
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	file := filepath.Join(serversDir(tb), "bin", name)
	if _, err := os.Stat(file); err != nil {
		tb.Fatalf("the server %q is not built, run `make setup`: %v", name, err)
	}
	return file
}

// RealHTTPServer is a server over HTTP in a process of its own, which ends
// with the test.
type RealHTTPServer struct {
	URL string // stays the same when it is restarted

	name string
	port string

	mu     sync.Mutex // guards everything below
	cmd    *exec.Cmd
	exited chan struct{}
	output bytes.Buffer
}

// RealHTTP starts a server of [remotes] on a free port of 127.0.0.1. It fails
// the test where `make setup` was not run.
func RealHTTP(tb testing.TB, name string) *RealHTTPServer {
	tb.Helper()
	remote, known := remotes[name]
	if !known {
		tb.Fatalf("there is no server %q over HTTP", name)
	}
	s := &RealHTTPServer{name: name}
	tb.Cleanup(s.Stop)
	// The port may be taken by another between our look and its start.
	for range 5 {
		s.port = freePort(tb)
		if s.start(tb) {
			s.URL = "http://127.0.0.1:" + s.port + remote.path
			return s
		}
		s.Stop()
	}
	tb.Fatalf("the server %q does not start; its output:\n%s", name, s.Output())
	return nil
}

// freePort returns a port that nobody has. It is below those that the system
// gives to whoever asks for any: another test's server could have it before
// ours is up, and be taken for ours.
func freePort(tb testing.TB) string {
	tb.Helper()
	for range 100 {
		port := fmt.Sprint(10_000 + rand.IntN(20_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	tb.Fatal("no port is free")
	return ""
}

// start starts the process and waits until it listens; false: it ended.
func (s *RealHTTPServer) start(tb testing.TB) bool {
	tb.Helper()
	cmd := remotes[s.name].command(tb, s.port)
	ownGroup(cmd)
	cmd.Stdout, cmd.Stderr = (*tail)(s), (*tail)(s)
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { // ends with the process, which Stop kills
		_ = cmd.Wait()
		close(exited)
	}()
	s.mu.Lock()
	s.cmd, s.exited = cmd, exited
	s.mu.Unlock()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		select {
		case <-exited:
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if conn, err := net.DialTimeout("tcp", "127.0.0.1:"+s.port, time.Second); err == nil {
			_ = conn.Close()
			return true
		}
	}
	tb.Fatalf("the server %q does not listen after 30 s; its output:\n%s", s.name, s.Output())
	return false
}

// Stop kills the server and what it started, and waits for its end.
func (s *RealHTTPServer) Stop() {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	killGroup(cmd)
	<-exited
}

// Restart stops the server and starts it again on the same port.
func (s *RealHTTPServer) Restart(tb testing.TB) {
	tb.Helper()
	s.Stop()
	if !s.start(tb) {
		tb.Fatalf("the server %q does not start again on its port; its output:\n%s", s.name, s.Output())
	}
}

// PID returns the process id of the server.
func (s *RealHTTPServer) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Pid
}

// Output returns the last of what the server wrote to stdout and stderr.
func (s *RealHTTPServer) Output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.String()
}

// AwaitOutput waits until the server has written text.
func (s *RealHTTPServer) AwaitOutput(tb testing.TB, text string) {
	tb.Helper()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(s.Output(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("the server %q did not write %q in 10 s; its output:\n%s", s.name, text, s.Output())
		}
	}
}

// tail keeps the last 64 KiB of the server's output.
type tail RealHTTPServer

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.output.Write(p)
	t.output.Next(max(0, t.output.Len()-64<<10))
	return len(p), nil
}
