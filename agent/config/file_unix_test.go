//go:build unix

package config

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// loadSoon loads, and fails when that takes long: a file that blocks or never
// ends would hold up initialize, for a project that nobody trusts.
func (w *world) loadSoon() Config {
	w.t.Helper()
	done := make(chan Config, 1)
	go func() { done <- w.load() }()
	select {
	case c := <-done:
		return c
	case <-time.After(10 * time.Second):
		w.t.Fatal("the configuration is still being read")
		return Config{}
	}
}

func TestPipeInTheFilesPlaceIsNotWaitedFor(t *testing.T) {
	w := newWorld(t)
	if err := syscall.Mkfifo(filepath.Join(w.folder, ".mcp.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	problems(t, w.loadSoon(), "no regular file")
}

func TestEnvFileIsARegularFileOfSomeSize(t *testing.T) {
	check := func(name, envFile, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.project("large", strings.Repeat("A=b\n", maxFile/4+1))
			if err := syscall.Mkfifo(filepath.Join(w.folder, "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			w.project(".mcp.json", `{"mcpServers": {"s": {"command": "x", "envFile": `+strconv.Quote(envFile)+`}}}`)
			if got := server(t, w.loadSoon(), "s").Err; !strings.Contains(got, want) || !strings.Contains(got, envFile) {
				t.Errorf("%q does not say %q of %s", got, want, envFile)
			}
		})
	}
	check("pipe", "pipe", "no regular file")
	check("device without an end", "/dev/zero", "no regular file")
	check("large", "large", "is larger than")
}

func TestCommandOfAValueEndsWithItsChildren(t *testing.T) {
	w := newWorld(t)
	w.source.Alone = true
	pidFile := filepath.Join(w.folder, "pid")
	w.user(`{"providers": {"p": {"apiKey": "${cmd:sleep 300 & echo $! > ` + pidFile + `; wait}"}}}`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Load(ctx, w.source, Request{})
	}()
	pid := 0
	eventually(t, "the command runs", func() bool {
		text, _ := os.ReadFile(pidFile)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	})
	cancel()
	<-done
	eventually(t, "its child is gone", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not in 10 s: " + what)
		}
	}
}
