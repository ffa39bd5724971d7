//go:build unix

package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var errEscape = errors.New("the user pressed escape")

// follow runs a line and returns how it ended and what it said.
func follow(ctx context.Context, t *testing.T, line string, watch Watch) (Ending, string, error) {
	t.Helper()
	cmd, err := Shell(context.WithoutCancel(ctx), line, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	e, err := Follow(ctx, cmd, &out, watch)
	return e, out.String(), err
}

// pids waits for a file with n process ids, a line each.
func pids(t *testing.T, file string, n int) []int {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		data, _ := os.ReadFile(file) // not there yet
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
			t.Fatalf("no %d process ids after 10 s: %q", n, data)
		}
	}
}

func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for end := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(2 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the process %d lives", pid)
			}
		}
	}
}

func TestFollow(t *testing.T) {
	for _, c := range []struct {
		line, out, state string
		left             bool
	}{
		{"echo a; echo b >&2; echo c; exit 3", "a\nb\nc\n", "exit status 3", false},
		{"-no-option", "", "exit status 127", false},
		{"cat; echo at its end", "at its end\n", "exit status 0", false},
		{"kill -SEGV $$", "", "signal: segmentation fault", false},
		{"exec >&- 2>&-; sleep 0.2; exit 5", "", "exit status 5", false}, // closes its output and goes on
		{"echo out; sleep 1000 &", "out\n", "exit status 0", true},
		{"sleep 1000 >/dev/null 2>&1 & echo out; exit 7", "out\n", "exit status 7", true},
		{"yes | head -n 2; echo done", "y\ny\ndone\n", "exit status 0", false},
		{"tty; test -t 0 || test -t 1 || test -t 2 || echo none", "not a tty\nnone\n", "exit status 0", false},
		{"(: </dev/tty) 2>/dev/null || echo no terminal", "no terminal\n", "exit status 0", false},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			e, out, err := follow(t.Context(), t, c.line, nil)
			if err != nil || e.State == nil {
				t.Fatalf("%+v, %v", e, err)
			}
			if c.line == "-no-option" {
				out = "" // each shell has its words
			}
			if out != c.out || !strings.HasPrefix(e.State.String(), c.state) || e.Left != c.left || e.Escaped {
				t.Errorf("%q, %v, %+v", out, e.State, e)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// A process that goes on in the background after its shell ended (hosts #7,
// charmbracelet/crush#3328), one that ignores TERM, and all of a group that
// is cancelled: none is left. The group is asked first.
func TestFollowEndsAllOfTheGroup(t *testing.T) {
	for _, c := range []struct {
		name, line string
		n          int
		cancel     bool
		out        string
	}{
		{"background", "echo $$ >>pids; (trap '' TERM; echo $(sh -c 'echo $PPID') >>pids; sleep 1000 >/dev/null 2>&1 & sleep 1000 &) ; echo said", 2, false, "said\n"},
		{"polite", "trap 'echo asked; exit 0' TERM; echo $$ >>pids; while :; do sleep 0.01; done", 1, true, "asked\n"},
		{"stubborn", "trap '' TERM; echo $$ >>pids; sleep 1000 & echo $! >>pids; echo said; wait; while :; do sleep 1; done", 2, true, "said\n"},
		{"polite grandchild", "sh -c \"trap 'echo tidied; exit 0' TERM; echo \\$\\$ >>pids; while :; do sleep 0.01; done\" & echo $$ >>pids; wait", 2, true, "tidied\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			dir := t.TempDir()
			cmd, err := Shell(context.Background(), c.line, os.Environ())
			if err != nil {
				t.Fatal(err)
			}
			cmd.Dir = dir
			var found []int
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				found = pids(t, filepath.Join(dir, "pids"), c.n)
				if c.cancel {
					cancel(errEscape)
				}
			}()
			var out lockedBuffer
			var watched watchLog
			e, err := Follow(ctx, cmd, &out, &watched)
			<-asked
			if c.cancel != errors.Is(err, errEscape) || e.State == nil || e.Left == c.cancel || e.Escaped {
				t.Errorf("%+v, %v", e, err)
			}
			if !strings.HasSuffix(out.String(), c.out) { // some shells tell of what was killed under them
				t.Errorf("said %q", out.String())
			}
			gone(t, found)
			if want := fmt.Sprintf("expect, add %d, remove %d", cmd.Process.Pid, cmd.Process.Pid); strings.Join(watched, ", ") != want {
				t.Errorf("watched: %q, want %s", watched, want)
			}
		})
	}
}

// A process that makes a session of its own leaves the group: it is not ended,
// but it does not hold us, and that is told.
func TestFollowOfWhatEscapes(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid here")
	}
	dir := t.TempDir()
	cmd, err := Shell(context.Background(), "setsid sh -c 'echo $$ >>pids; exec sleep 1000' & while ! test -s pids; do sleep 0.01; done; echo out", os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir = dir
	var out lockedBuffer
	e, err := Follow(t.Context(), cmd, &out, nil)
	escaped := pids(t, filepath.Join(dir, "pids"), 1)
	defer KillGroup(escaped[0])
	if err != nil || !e.Left || !e.Escaped || e.State.ExitCode() != 0 || out.String() != "out\n" {
		t.Errorf("%+v, %v, %q", e, err, out.String())
	}
	if !alive(escaped[0]) {
		t.Error("it was ended all the same: say so")
	}
}

func TestFollowStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEscape)
	if e, out, err := follow(ctx, t, "echo ran", nil); !errors.Is(err, errEscape) || e.State != nil || out != "" {
		t.Errorf("started although cancelled: %+v, %q, %v", e, out, err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(t.TempDir(), "none"))
	if e, err := Follow(t.Context(), cmd, io.Discard, nil); err == nil || e.State != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// Who takes the output may fail, or hang: the command and the caller go on.
func TestFollowWithoutAnOutput(t *testing.T) {
	cmd, _ := Shell(context.Background(), "yes | head -n 100000; exit 4", os.Environ())
	if e, err := Follow(t.Context(), cmd, failing{}, nil); err != nil || e.State.ExitCode() != 4 {
		t.Errorf("%+v, %v", e, err)
	}
	stuck := make(hanging)
	defer close(stuck)
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(errEscape) })
	cmd, _ = Shell(context.Background(), "yes", os.Environ())
	done := make(chan error, 1)
	go func() {
		_, err := Follow(ctx, cmd, stuck, nil)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, errEscape) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not come back")
	}
}

func TestShellIsFoundWithoutAPath(t *testing.T) {
	cmd, err := Shell(t.Context(), "exit 0", nil)
	if err != nil || cmd.Run() != nil {
		t.Errorf("%v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

type hanging chan struct{}

func (h hanging) Write([]byte) (int, error) {
	<-h
	return 0, errors.New("late")
}

// lockedBuffer is a buffer that a late writer may still write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
