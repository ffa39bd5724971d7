//go:build unix

package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Parts that the test binary plays when it is started with one as its argument.
const (
	partHold   = "play-hold"
	partKilled = "play-killed" // a process that is killed as it starts a child
)

func playHeld() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case partHold:
		os.Exit(Hold(os.Args[2:], os.Environ()))
	case partKilled:
		_, err := StartWatched(exec.Command("sh", "-c", "echo $$ > ran; exec sleep 1000"), held{func(Group) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}})
		fmt.Fprintln(os.Stderr, err) // it should not come so far
		os.Exit(1)
	}
}

// held is a [Watch] that holds children.
type held struct{ add func(Group) }

func (h held) Expect() []string { return []string{os.Args[0], partHold} }
func (h held) Add(g Group)      { h.add(g) }
func (h held) Remove(Group)     {}

// A child that runs is one that the watch knows of.
func TestProgramRunsWhenItIsWatched(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ran")
	cmd := exec.Command("sh", "-c", `echo "$0" "$1" "$PWD" "$A" > ran; read line; test "$line" = x; exit $?`, "a b", "")
	cmd.Dir, cmd.Env, cmd.Stdin = dir, []string{"A=1", "PATH=" + os.Getenv("PATH")}, strings.NewReader("x\n")
	g, err := StartWatched(cmd, held{func(g Group) {
		if g.ID() != cmd.Process.Pid || !g.Alive() {
			t.Errorf("group %d of process %d", g.ID(), cmd.Process.Pid)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("it ran before")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if g.Alive() {
		t.Error("it lives")
	}
	want := "a b  " + dir + " 1\n"
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%q %v, want %q", got, err, want)
	}
	if cmd.Args[0] != "sh" || !strings.HasSuffix(cmd.Path, "/sh") {
		t.Errorf("%q %q", cmd.Path, cmd.Args)
	}
}

// A kill of who starts a child, before it is watched, starts nothing.
func TestKillAsAChildStarts(t *testing.T) {
	killed := exec.Command(os.Args[0], partKilled)
	killed.Dir = t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	killed.Stderr = w // the held process has it too
	err = killed.Start()
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 100)
	n, _ := r.Read(said) // ends when both are gone
	_ = killed.Wait()
	if _, err := os.Stat(filepath.Join(killed.Dir, "ran")); err == nil || n > 0 {
		t.Errorf("the child ran: %q", said[:n])
	}
	if status, ok := killed.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("%v", killed.ProcessState)
	}
}

// What cannot be started says why, as it does without a watch.
func TestHeldProgramThatCannotStart(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"plain": 0o600, "text": 0o700} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/no/such/interpreter\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]error{"none": fs.ErrNotExist, "plain": fs.ErrPermission, "text": fs.ErrNotExist, ".": fs.ErrPermission} {
		path := filepath.Join(dir, name)
		_, direct := Start(&exec.Cmd{Path: path})
		added := 0
		_, err := StartWatched(&exec.Cmd{Path: path}, held{func(Group) { added++ }})
		if !errors.Is(err, want) || !errors.Is(direct, want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: held %v, directly %v", name, err, direct)
		}
	}
}

// goneHold is a [Watch] whose holding process is not there any more.
type goneHold struct{ held }

func (goneHold) Expect() []string { return []string{"/no/such/agentls", "hold"} }

func TestChildStartsWithoutWhatHoldsIt(t *testing.T) {
	for name, cmd := range map[string]*exec.Cmd{"there": exec.Command("true"), "not there": exec.Command("no-such-program-anywhere")} {
		var got []int
		g, err := StartWatched(cmd, goneHold{held{func(g Group) { got = append(got, g.ID()) }}})
		if name == "not there" {
			if !errors.Is(err, exec.ErrNotFound) || got != nil {
				t.Errorf("%v %v", err, got)
			}
			continue
		}
		if err != nil || len(got) != 1 || got[0] != g.ID() {
			t.Errorf("%v %v", err, got)
		}
		_ = cmd.Wait()
	}
}
