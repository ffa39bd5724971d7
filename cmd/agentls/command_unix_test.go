//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asking is `agentls ask` at work on a prompt, with the provider of the scripts
// and everything allowed.
type asking struct {
	*exec.Cmd
	folder string
	out    bytes.Buffer
}

func startAsking(t *testing.T, provider http.HandlerFunc, prompt string) *asking {
	t.Helper()
	server := httptest.NewServer(provider)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	t.Cleanup(func() { checkAudit(t, filepath.Join(dir, "state", "agentls"), "", true) })
	binary := linkBinary(t, dir)
	a := &asking{folder: filepath.Join(dir, "project")}
	for name, text := range map[string]string{"project/a.md": "", "config/agentls/config.json": `{"approval": {"default": "allow"}, "limits": {"parallelTools": 10}}`} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.Cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary, "ask", prompt)
	a.Dir = a.folder
	a.Env = append(os.Environ(), "HOME="+dir, "OPENAI_API_KEY=sk-script-secret-1", "OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_MODEL=tiny")
	for _, name := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
		a.Env = append(a.Env, "XDG_"+name+"_HOME="+filepath.Join(dir, strings.ToLower(name)))
	}
	a.Stdout, a.Stderr = &a.out, &a.out
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Process.Kill() })
	return a
}

// linkBinary makes a file of the test binary that is agentls, and starts itself
// as its reaper.
func linkBinary(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "agentls")
	if err := os.Link(os.Args[0], binary); err != nil {
		data, err := os.ReadFile(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(binary, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return binary
}

// pids waits for n process ids in the project's file "pids".
func (a *asking) pids(t *testing.T, n int) []int {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		data, _ := os.ReadFile(filepath.Join(a.folder, "pids")) // not there yet
		if bytes.Count(data, []byte("\n")) >= n {
			var out []int
			for word := range strings.FieldsSeq(string(data)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, pid)
			}
			return out
		}
		if time.Now().After(end) {
			_ = a.Process.Kill()
			_ = a.Wait()
			t.Fatalf("no %d processes after 20 s: %s", n, &a.out)
		}
	}
}

func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ") {
				break
			}
			if time.Now().After(end) {
				t.Errorf("the process %d lives", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}

// A kill of agentls leaves no command behind, nor what it started.
func TestKilledProcessLeavesNoCommand(t *testing.T) {
	t.Parallel()
	a := startAsking(t, provide, `call run_command {"command":"trap '' TERM HUP; sleep 0.3; echo $$ >>pids; sh -c 'echo $$ >>pids; exec sleep 1000'; true"}`)
	pids := a.pids(t, 2)
	if err := a.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = a.Wait()
	gone(t, pids)
}

// Eight commands that ignore every signal that can be ignored, and two that
// left output open: a SIGTERM ends all in time (CONTRACT §1: 2 s), and no child
// is left (charmbracelet/mods#595, CASES 15; hosts #5).
func TestTerminatedProcessLeavesNoCommand(t *testing.T) {
	t.Parallel()
	a := startAsking(t, func(w http.ResponseWriter, _ *http.Request) {
		var calls []map[string]any
		for i := range 10 {
			line := "trap '' TERM HUP INT; echo $$ >>pids; while :; do sleep 0.05; done"
			if i >= 8 {
				line = "trap '' TERM; (echo $(sh -c 'echo $PPID') >>pids; sleep 1000) & wait"
			}
			arguments, _ := json.Marshal(map[string]string{"command": line})
			calls = append(calls, map[string]any{"index": i, "id": fmt.Sprint("c", i), "type": "function", "function": map[string]string{"name": "run_command", "arguments": string(arguments)}})
		}
		delta, _ := json.Marshal(map[string]any{"tool_calls": calls})
		stream(w, string(delta), "tool_calls")
	}, "go")
	pids := a.pids(t, 10)
	began := time.Now()
	if err := a.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = a.Wait()
	took := time.Since(began)
	t.Logf("took %v", took)
	if took > 20*time.Second { // ten times the goal
		t.Errorf("took %v", took)
	}
	if code := a.ProcessState.ExitCode(); code != exitCancelled {
		t.Errorf("exit %d: %s", code, &a.out)
	}
	gone(t, pids)
}
