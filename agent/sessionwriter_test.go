package agent_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

var errNoSpace = &fs.PathError{Op: "write", Path: "…", Err: errors.New("no space left on device")}

// fullDisk takes so many bytes and then, as a disk that is full, the first
// part of what comes. As of a process that was killed there, nothing is mended.
type fullDisk struct {
	hasty
	room   *atomic.Int64
	killed bool
}

func (d fullDisk) WriteAt(p []byte, off int64) (int, error) {
	room := max(d.room.Load(), 0)
	if int64(len(p)) <= room {
		d.room.Add(-int64(len(p)))
		return d.File.WriteAt(p, off)
	}
	d.room.Store(0)
	n, err := d.File.WriteAt(p[:room], off)
	return n, errors.Join(err, errNoSpace)
}

func (d fullDisk) Truncate(n int64) error {
	if d.killed {
		return errNoSpace
	}
	return d.File.Truncate(n)
}

// Whatever byte is the last that a disk takes: the run goes on in memory and
// that is told once; what comes back from the file is valid; and once there is
// room again, nothing is missing in it.
func TestDiskFullAtEveryByte(t *testing.T) {
	for _, killed := range []bool{false, true} {
		for n := int64(0); ; n += 17 {
			dir := t.TempDir()
			a := keeper(dir)
			var room atomic.Int64
			room.Store(n)
			a.SetDisk(func(f *os.File) agent.Disk { return fullDisk{hasty{f}, &room, killed} })
			d := begin(t, a, "s")
			rich(d)
			d.End()
			err := d.Finish()
			if err == nil {
				break
			}
			if len(d.Told) != 1 || !strings.Contains(d.Told[0].Error(), "no space left") || !errors.Is(err, errNoSpace) {
				t.Fatalf("room for %d: told %v, ended with %v", n, d.Told, err)
			}
			before := d.State()
			room.Store(1 << 20)
			copied := t.TempDir() // as after a restart
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			other := begin(t, keeper(copied), "s")
			checkValid(t, other)
			finish(t, other)
			d = begin(t, a, "s")
			if len(d.Told) > 0 || d.State() != before {
				t.Fatalf("room for %d: told %v; the memory is\n%s\nand was\n%s", n, d.Told, d.State(), before)
			}
			d.Ask("go on", "go on")
			finish(t, d)
			if got, err := keeper(dir).StateOnDisk("/f", "s"); err != nil || got != d.State() {
				t.Fatalf("room for %d: %v: the file says\n%s\nthe memory\n%s", n, err, got, d.State())
			}
		}
	}
}

// What could not be written does not overwrite what another process wrote
// meanwhile.
func TestUnwrittenGivesWayToAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	a := keeper(dir)
	var room atomic.Int64
	room.Store(1000)
	a.SetDisk(func(f *os.File) agent.Disk { return fullDisk{hasty{f}, &room, true} })
	d := begin(t, a, "s")
	rich(d)
	d.End()
	if err := d.Finish(); err == nil {
		t.Fatal("there was room")
	}
	said(t, keeper(dir), "s", "theirs")
	room.Store(1 << 20)
	said(t, a, "s", "ours")
	texts := strings.Join(shown(t, keeper(dir), "s"), "\n")
	contains(t, texts, "user: theirs\nassistant: answer to theirs\nuser: ours\nassistant: answer to ours")
}

// hungDisk takes nothing until it is let go.
type hungDisk struct {
	hasty
	hang <-chan struct{}
}

func (d hungDisk) WriteAt(p []byte, off int64) (int, error) {
	<-d.hang
	return d.File.WriteAt(p, off)
}

// A disk that hangs holds up neither a run nor its cancel, and the session
// stays this process' own until the disk has done what it was given.
func TestDiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		hang := make(chan struct{})
		w.agent.SetDisk(func(f *os.File) agent.Disk { return hungDisk{hasty{f}, hang} })
		began := time.Now()
		_, _, err := w.run(t.Context(), "one")
		if took := time.Since(began); err != nil || took > 3*time.Second {
			t.Errorf("the run took %v, %v", took, err)
		}
		if _, _, err = w.run(t.Context(), "two"); err != nil {
			t.Error(err)
		}
		if got := notices(w.host); len(got) != 1 || !strings.Contains(got[0], "did not take it in time") {
			t.Errorf("told %q", got)
		}
		if _, err := keeper(filepath.Join(w.state, "sessions")).Begin(w.dir, "s"); err == nil {
			t.Error("another process took a session whose file is still written")
		}
		close(hang)
		synctest.Wait()
		_, llm := w.must("three")
		if n := len(llm.Last().Messages); n != 6 {
			t.Errorf("%d messages", n)
		}
	})
}

func TestCancelDoesNotWaitForADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		hang := make(chan struct{})
		w.agent.SetDisk(func(f *os.File) agent.Disk { return hungDisk{hasty{f}, hang} })
		if _, took := w.cancelled("go", agenttest.Step{Text: []string{"some "}, Block: true}); took > 300*time.Millisecond {
			t.Errorf("the answer took %v", took)
		}
		close(hang)
		synctest.Wait()
		_, llm := w.must("next")
		contains(t, llm.Last().Messages[2].Text, "some \n\n[the run was cancelled here]")
	})
}

// slowDisk counts writes, each of which takes a while.
type slowDisk struct {
	hasty
	writes *atomic.Int64
}

func (d slowDisk) WriteAt(p []byte, off int64) (int, error) {
	d.writes.Add(1)
	time.Sleep(10 * time.Millisecond)
	return d.File.WriteAt(p, off)
}

// The pieces of an answer do not wait for the disk: what comes while it writes
// is written at once.
func TestStreamDoesNotWaitForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := keeper(t.TempDir())
		var writes atomic.Int64
		a.SetDisk(func(f *os.File) agent.Disk { return slowDisk{hasty{f}, &writes} })
		d := begin(t, a, "s")
		d.Ask("go", "go")
		began := time.Now()
		for range 1000 {
			d.Stream("word ")
			time.Sleep(100 * time.Microsecond)
		}
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("streaming took %v", took)
		}
		finish(t, d)
		if n := writes.Load(); n > 13 {
			t.Errorf("%d writes", n)
		}
		if got, err := a.StateOnDisk("/f", "s"); err != nil || got != d.State() {
			t.Errorf("%v, the file says\n%s", err, got)
		}
	})
}
