//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentls/lsp/lspclient"
)

// listening is `agentls --listen` at work.
type listening struct {
	*exec.Cmd
	path  string
	lines chan string // of its stderr; closed at its end
}

// startListening waits until it says that it serves.
func startListening(t *testing.T, dir, path string) *listening {
	t.Helper()
	l := &listening{Cmd: listener(t, dir, path), path: path, lines: make(chan string, 100)}
	r, err := l.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Process.Kill() })
	go func() { // ends with the process
		defer close(l.lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			l.lines <- s.Text()
		}
	}()
	l.says(t, "serves one client at a time on "+path)
	return l
}

func listener(t *testing.T, dir, path string) *exec.Cmd {
	t.Helper()
	binary := filepath.Join(dir, "agentls")
	if _, err := os.Stat(binary); err != nil {
		binary = linkBinary(t, dir)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "--listen", path)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	for _, name := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
		cmd.Env = append(cmd.Env, "XDG_"+name+"_HOME="+filepath.Join(dir, strings.ToLower(name)))
	}
	return cmd
}

// says waits for a line.
func (l *listening) says(t *testing.T, words string) {
	t.Helper()
	var all []string
	for end := time.After(20 * time.Second); ; {
		select {
		case line, ok := <-l.lines:
			if all = append(all, line); strings.Contains(line, words) {
				return
			}
			if ok {
				continue
			}
		case <-end:
		}
		t.Fatalf("it does not say %q but %q", words, all)
	}
}

// ends signals the process and waits for its end, ten times the goal.
func (l *listening) ends(t *testing.T, sig syscall.Signal) (code int) {
	t.Helper()
	if err := l.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(20*time.Second, func() { _ = l.Process.Kill() })
	for range l.lines {
	}
	_ = l.Wait()
	if !late.Stop() {
		t.Error("it does not end")
	}
	return l.ProcessState.ExitCode()
}

// dial is an editor that connects. popups has what is shown to it.
func (l *listening) dial(t *testing.T, popups chan<- string) *lspclient.Client {
	t.Helper()
	conn, err := net.Dial("unix", l.path)
	if err != nil {
		t.Fatal(err)
	}
	c := lspclient.Connect(conn, conn, lspclient.Options{Take: func(frame []byte) bool {
		if bytes.Contains(frame, []byte("window/showMessage")) {
			popups <- string(frame)
		}
		return false
	}})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func initialize(t *testing.T, c *lspclient.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var r struct {
		ServerInfo struct{ Name string }
	}
	err := c.Call(ctx, "initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": struct{}{}, "initializationOptions": map[string]string{"notifications": "off"}}, &r)
	if err != nil || r.ServerInfo.Name != "agentls" {
		t.Fatalf("%v, %+v", err, r)
	}
	c.Notify("initialized", struct{}{})
}

// leave is how an editor ends.
func leave(t *testing.T, c *lspclient.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Call(ctx, "shutdown", nil, nil); err != nil {
		t.Error(err)
	}
	c.Notify("exit", nil)
	_ = c.Close()
}

// One client is served after the other, and one that has to wait is told so.
func TestListenServesOneClientAfterTheOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := startListening(t, dir, filepath.Join(dir, "s"))
	if info, err := os.Lstat(l.path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	popups := make(chan string, 100)
	first, second := l.dial(t, popups), l.dial(t, popups)
	initialize(t, first)
	second.Request("initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": struct{}{}})
	l.says(t, "client 2 waits")
	if told := <-popups; !strings.Contains(told, "another client is served on this socket") {
		t.Error(told)
	}
	// A process that would take the socket finds it served, and that costs nobody
	// the turn.
	out, err := listener(t, dir, l.path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another process serves on "+l.path+": end it, or give another path") {
		t.Errorf("%v: %s", err, out)
	}
	leave(t, first)
	l.says(t, "client 1 left")
	l.says(t, "client 2 is served")
	third := l.dial(t, popups) // waits when the end comes
	third.Request("initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": struct{}{}})
	l.says(t, "client 3 waits")
	if code := l.ends(t, syscall.SIGTERM); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Lstat(l.path); err == nil {
		t.Error("the socket was left")
	}
}

// A client that is gone without a word leaves the socket to the next one.
func TestListenOutlivesAClientThatDies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := startListening(t, dir, filepath.Join(dir, "s"))
	for range 3 {
		c := l.dial(t, make(chan string, 100))
		initialize(t, c)
		_ = c.Close()
		l.says(t, "left")
	}
	silent, err := net.Dial("unix", l.path) // holds up nobody
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	c := l.dial(t, make(chan string, 100))
	initialize(t, c)
	leave(t, c)
	l.says(t, "client 4 left")
	if code := l.ends(t, syscall.SIGINT); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

// A socket that a killed process left is replaced; nothing else is touched.
func TestListenReplacesOnlyADeadSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	if code := startListening(t, dir, path).ends(t, syscall.SIGKILL); code == exitOK {
		t.Error("it was not killed")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	l := startListening(t, dir, path)
	c := l.dial(t, make(chan string, 100))
	initialize(t, c)
	// Another one's file at its path is left there.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := l.ends(t, syscall.SIGTERM); code != exitOK {
		t.Errorf("exit %d", code)
	}
	for where, want := range map[string]string{
		path:                       "is there already and is no socket, so it is left alone: give another path",
		dir:                        "is there already and is no socket",
		filepath.Join(dir, "no/s"): "the folder " + filepath.Join(dir, "no") + " is not there: make it",
		filepath.Join(path, "s"):   "give another path",
		filepath.Join(dir, strings.Repeat("x", 200)): "bytes, and this system takes 10",
		"": "give --listen the path of a socket",
	} {
		out, err := listener(t, dir, where).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v, %s", where, err, out)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
}
