package watch

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDirsAreBoundedAndToldOnce(t *testing.T) {
	var log bytes.Buffer
	d := NewDirs(slog.New(slog.NewTextHandler(&log, nil)))
	defer d.Close()
	d.Limit = 1
	a, b := t.TempDir(), t.TempDir()
	if !d.Add(a) || d.Add(b) || d.Add(b) || d.Used() != 1 {
		t.Errorf("%d watches: %q", d.Used(), d.List())
	}
	if n := strings.Count(log.String(), "noticed late"); n != 1 {
		t.Errorf("said %d times: %s", n, &log)
	}
	d.Remove(a)
	if !d.Add(b) {
		t.Error("a watch that ended still counts")
	}
	file := filepath.Join(b, "x")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if e := <-d.Events(); e.Name != file {
		t.Errorf("%s", e)
	}
}

// Where inotify is out of instances nothing is watched, and nothing waits.
func TestWithoutAWatcher(t *testing.T) {
	d := &Dirs{Limit: 1, log: slog.New(slog.DiscardHandler)}
	if d.Add(t.TempDir()) || d.Events() != nil || d.Errors() != nil || d.List() != nil {
		t.Error("something is watched")
	}
	d.Close()
}
