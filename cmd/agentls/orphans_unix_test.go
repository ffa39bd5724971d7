//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentls/lsp/lspclient"
	"agentls/mcp/mcptest"
)

// edited is a server under an editor, with MCP servers that do all they can to
// be left behind.
type edited struct {
	*lspclient.Client
	cmd     *exec.Cmd
	editor  *exec.Cmd // whose process is watched
	logs    []mcptest.Log
	closing sync.WaitGroup // what closes the client
}

// hostileServers are MCP servers by name, each of which writes what it starts
// to its log.
func hostileServers() map[string]mcptest.Options {
	return map[string]mcptest.Options{
		"good":        {},
		"silent":      {Silent: true},                                // still starting
		"slow":        {SlowInit: time.Hour, IgnoreEOF: true},        // likewise, and deaf
		"deaf":        {IgnoreEOF: true},                             // to the end of input and SIGTERM
		"grandmother": {Child: true},                                 // leaves a child that holds its output
		"stubborn":    {Child: true, IgnoreEOF: true},                // both
		"failing":     {ExitOn: []string{"initialize"}, Child: true}, // ends, its child does not
	}
}

// startEdited starts agentls under an editor, with all of them configured.
func startEdited(t *testing.T) *edited {
	t.Helper()
	dir := t.TempDir()
	folder := filepath.Join(dir, "ws")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	e := &edited{editor: exec.Command("sleep", "1000")}
	if err := e.editor.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.end(e.editor) })
	servers := map[string]any{}
	for name, o := range hostileServers() {
		log := mcptest.NewLog(t)
		o.Log = string(log)
		servers[name] = fakeServer(t, o)
		e.logs = append(e.logs, log)
		if name == "good" { // charmbracelet/crush#3328: as a wrapper does it
			log := mcptest.NewLog(t)
			o.Log, o.IgnoreEOF = string(log), true
			f := fakeServer(t, o)
			f["command"], f["args"] = "sh", []string{"-c", `"$0" & wait`, fmt.Sprint(f["command"])}
			servers["wrapped"] = f
			e.logs = append(e.logs, log)
		}
	}
	e.cmd = exec.Command(linkBinary(t, dir))
	e.cmd.Dir, e.cmd.Env = folder, demoEnvironment(os.Environ(), dir)
	var err error
	if e.Client, err = lspclient.Start(e.cmd, lspclient.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = e.cmd.Process.Kill()
		e.closing.Wait()
		e.end(e.cmd)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	began := time.Now()
	err = e.Call(ctx, "initialize", map[string]any{
		"processId": e.editor.Process.Pid, "rootUri": "file://" + filepath.ToSlash(folder), "capabilities": struct{}{},
		"initializationOptions": map[string]any{"workspaceTrusted": true, "mcpServers": servers},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second { // far over the goal; the servers take hours
		t.Errorf("initialize took %v", took)
	}
	e.Notify("initialized", struct{}{})
	return e
}

func (e *edited) end(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// pids are the processes that the servers started by now.
func (e *edited) pids(t *testing.T) (all []int) {
	t.Helper()
	for _, log := range e.logs {
		for _, entry := range log.Entries(t) {
			switch entry.Event {
			case "start":
				all = append(all, entry.PID)
			case "grandchild":
				all = append(all, entry.Child)
			}
		}
	}
	return all
}

// No child is left in whatever order things end: servers that still start
// (anthropics/claude-code#93087), that are deaf to the end of their input
// (anthropics/claude-code#1935, aaif-goose/goose#2205), wrappers and
// grandchildren (charmbracelet/crush#3328), when the editor says goodbye, closes
// the pipe, dies (github/copilot.vim#266), or agentls is told to end or killed.
func TestNoOrphans(t *testing.T) {
	signal := func(s syscall.Signal) func(*edited) {
		return func(e *edited) { _ = e.cmd.Process.Signal(s) }
	}
	endings := map[string]func(e *edited){
		"shutdown and exit": func(e *edited) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_ = e.Call(ctx, "shutdown", nil, nil)
			e.Notify("exit", nil)
		},
		"end of input":         func(e *edited) { e.closing.Go(func() { _ = e.Close() }) }, // ends with the server
		"death of the editor":  func(e *edited) { e.end(e.editor) },
		"SIGTERM":              signal(syscall.SIGTERM),
		"SIGINT":               signal(syscall.SIGINT),
		"SIGHUP":               signal(syscall.SIGHUP),
		"SIGKILL":              signal(syscall.SIGKILL),
		"SIGTERM then SIGKILL": func(e *edited) { signal(syscall.SIGTERM)(e); signal(syscall.SIGKILL)(e) },
	}
	moments := map[string]func(t *testing.T, e *edited){
		"at once": func(*testing.T, *edited) {},
		"as they start": func(t *testing.T, e *edited) {
			await(t, "a first server", func() bool { return len(e.pids(t)) > 0 })
		},
		"when all run": func(t *testing.T, e *edited) {
			await(t, "every server and grandchild", func() bool { return len(e.pids(t)) >= 11 })
		},
	}
	for ending, end := range endings {
		for moment, reach := range moments {
			t.Run(ending+" "+moment, func(t *testing.T) {
				e := startEdited(t)
				reach(t, e)
				began := time.Now()
				end(e)
				ended := make(chan struct{})
				go func() { // ends with the process, which the cleanup kills
					_, _ = e.cmd.Process.Wait()
					close(ended)
				}()
				select {
				case <-ended:
				case <-time.After(20 * time.Second): // ten times the goal
					t.Error("agentls has not ended in 20 s")
				}
				t.Logf("took %v", time.Since(began))
				gone(t, e.pids(t))
			})
		}
	}
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in 20 s: %s", what)
		}
	}
}
