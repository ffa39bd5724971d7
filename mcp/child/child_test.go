//go:build unix

package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	playHeld()
	goleak.VerifyTestMain(m)
}

// A PATH that holds "." or an empty entry must not let a project's file stand
// in for a program.
func TestRelativePathsAreNotSearched(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/npx", []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if got, err := Look("npx", []string{"PATH=.::./:" + dir}); err != nil || got != dir+"/npx" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Look("npx", []string{"PATH=.::./"}); err == nil {
		t.Errorf("found %q", got)
	}
}

// A program that was cancelled leaves nothing behind, nor does one that ended
// and left a child holding its output.
func TestRunEndsAllOfTheGroup(t *testing.T) {
	cause := errors.New("the user pressed escape")
	for _, c := range []struct {
		name, script string
		cancel       bool
	}{
		{"cancelled", "sleep 1000 & echo $! >&2; echo out; wait", true},
		{"ended", "sleep 1000 & echo $! >&2; echo out", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			var out bytes.Buffer
			var watched watchLog
			cmd := exec.CommandContext(ctx, "sh", "-c", c.script)
			cmd.Stdout, cmd.Stderr = &out, w
			done := make(chan error, 1)
			go func() {
				done <- Run(ctx, cmd, &watched)
			}()
			line := make([]byte, 20)
			n, err := r.Read(line)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
			if err != nil {
				t.Fatal(err)
			}
			if c.cancel {
				cancel(cause)
			}
			select {
			case err = <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("it does not end")
			}
			if c.cancel != errors.Is(err, cause) || !c.cancel && err != nil && !errors.Is(err, exec.ErrWaitDelay) {
				t.Errorf("%v", err)
			}
			for end := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("its child lives")
				}
			}
			if want := fmt.Sprintf("expect, add %d, remove %d", cmd.Process.Pid, cmd.Process.Pid); strings.Join(watched, ", ") != want {
				t.Errorf("watched: %q, want %s", watched, want)
			}
			if !c.cancel && out.String() != "out\n" {
				t.Errorf("%q", &out)
			}
			cancel(nil)
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := Run(ctx, exec.CommandContext(ctx, "sh", "-c", "exit 1"), nil); !errors.Is(err, cause) {
		t.Errorf("started although cancelled: %v", err)
	}
}

// alive reports whether a process runs; one that nobody waited for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return syscall.Kill(pid, 0) == nil && (err != nil || !strings.Contains(string(stat), ") Z "))
}

// watchLog is a [Watch] that notes what it is told.
type watchLog []string

func (l *watchLog) Expect() []string { *l = append(*l, "expect"); return nil }
func (l *watchLog) Add(g Group)      { *l = append(*l, fmt.Sprintf("add %d", g.ID())) }
func (l *watchLog) Remove(g Group)   { *l = append(*l, fmt.Sprintf("remove %d", g.ID())) }
