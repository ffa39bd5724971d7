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

	"agentls/mcp/child"
)

func TestCommandOfAValueEndsWithItsChildren(t *testing.T) {
	w := newWorld(t)
	w.source.Alone = true
	var watch watchLog
	w.source.Watch = &watch
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
	if got := strings.Join(watch, " "); got != "expect add remove" {
		t.Errorf("who ends it after a kill hears %q", got)
	}
}

type watchLog []string

func (l *watchLog) Expect() []string   { *l = append(*l, "expect"); return nil }
func (l *watchLog) Add(child.Group)    { *l = append(*l, "add") }
func (l *watchLog) Remove(child.Group) { *l = append(*l, "remove") }

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not in 10 s: " + what)
		}
	}
}
