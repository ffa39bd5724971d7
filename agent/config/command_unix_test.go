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
