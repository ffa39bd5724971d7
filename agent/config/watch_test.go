package config

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// watched is a watcher at work, with what the files held before.
type watched struct {
	t     *testing.T
	dir   string
	w     *Watcher
	files *Files
}

// watchFiles watches files below a new directory, after prepare.
func watchFiles(t *testing.T, prepare func(*watched), change func(*Watcher), names ...string) *watched {
	t.Helper()
	d := &watched{t: t, dir: t.TempDir(), w: NewWatcher(slog.New(slog.DiscardHandler)), files: NewFiles()}
	if change != nil {
		change(d.w)
	}
	if prepare != nil {
		prepare(d)
	}
	for _, name := range names {
		_, _ = d.files.read(d.path(name))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	d.w.Watch(d.files.Names())
	wg.Go(func() { d.w.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	<-d.w.C // it is armed
	return d
}

func (d *watched) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *watched) must(errs ...error) {
	d.t.Helper()
	for _, err := range errs {
		if err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *watched) write(name, text string) {
	d.t.Helper()
	d.must(os.MkdirAll(filepath.Dir(d.path(name)), 0o700), os.WriteFile(d.path(name), []byte(text), 0o600))
}

func (d *watched) rename(from, to string) { d.t.Helper(); d.must(os.Rename(d.path(from), d.path(to))) }
func (d *watched) remove(name string)     { d.t.Helper(); d.must(os.RemoveAll(d.path(name))) }

func (d *watched) link(to, name string) {
	d.t.Helper()
	d.must(os.MkdirAll(filepath.Dir(d.path(name)), 0o700), os.Symlink(d.path(to), d.path(name)))
}

// expect waits until the watcher tells of just this change.
func (d *watched) expect(name, want string) {
	d.t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case <-d.w.C:
		case <-deadline:
			d.t.Fatalf("nothing was told of %s", name)
		}
		now := d.files.Look()
		changed := d.files.Changed(now)
		text := string(now.held[d.path(name)].text)
		if slices.Equal(changed, []string{d.path(name)}) && text == want {
			d.files.Take(now, changed...)
			return
		}
	}
}

func TestWatcher(t *testing.T) {
	t.Parallel()
	check := func(name string, prepare, act func(*watched)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			act(watchFiles(t, prepare, nil, "p/f.json", "p/.agentls/c.json"))
		})
	}
	there := func(d *watched) { d.write("p/f.json", "1"); d.write("p/.agentls/c.json", "1") }
	folder := func(d *watched) { d.must(os.Mkdir(d.path("p"), 0o700)) }
	check("created", folder, func(d *watched) { d.write("p/f.json", "2"); d.expect("p/f.json", "2") })
	check("changed, removed, back", there, func(d *watched) {
		d.write("p/f.json", "2")
		d.expect("p/f.json", "2")
		d.remove("p/f.json")
		d.expect("p/f.json", "")
		d.write("p/f.json", "3")
		d.expect("p/f.json", "3")
	})
	check("replaced by rename, as editors save", there, func(d *watched) {
		for _, text := range []string{"2", "3", "4"} {
			d.write("p/.f.json.tmp", text)
			d.rename("p/.f.json.tmp", "p/f.json")
			d.expect("p/f.json", text)
		}
	})
	check("the directory comes later", folder, func(d *watched) {
		d.write("p/.agentls/c.json", "2")
		d.expect("p/.agentls/c.json", "2")
		d.write("p/.agentls/c.json", "3")
		d.expect("p/.agentls/c.json", "3")
	})
	check("two levels come later", nil, func(d *watched) {
		d.write("p/.agentls/c.json", "2")
		d.expect("p/.agentls/c.json", "2")
	})
	check("the directory goes and comes back", there, func(d *watched) {
		d.remove("p/.agentls")
		d.expect("p/.agentls/c.json", "")
		d.write("p/.agentls/c.json", "2")
		d.expect("p/.agentls/c.json", "2")
	})
	check("another directory takes its place", there, func(d *watched) {
		d.write("q/c.json", "2")
		d.rename("p/.agentls", "old")
		d.rename("q", "p/.agentls")
		d.expect("p/.agentls/c.json", "2")
		d.write("old/c.json", "no more")
		d.write("p/.agentls/c.json", "3")
		d.expect("p/.agentls/c.json", "3")
	})
	check("behind a symlink", func(d *watched) { d.write("real/f", "1"); d.link("real/f", "p/f.json") }, func(d *watched) {
		d.write("real/f", "2")
		d.expect("p/f.json", "2")
		d.write("other/f", "3")
		d.remove("p/f.json")
		d.link("other/f", "p/f.json")
		d.expect("p/f.json", "3")
		d.write("other/f", "4")
		d.expect("p/f.json", "4")
	})
	check("in a symlinked directory", func(d *watched) { d.write("one/c.json", "1"); d.link("one", "p/.agentls") }, func(d *watched) {
		d.write("one/c.json", "2")
		d.expect("p/.agentls/c.json", "2")
		d.write("two/c.json", "3")
		d.link("two", "next")
		d.rename("next", "p/.agentls")
		d.expect("p/.agentls/c.json", "3")
	})
	check("a symlink that leads nowhere yet", func(d *watched) { folder(d); d.link("real/f", "p/f.json") }, func(d *watched) {
		d.write("real/f", "2")
		d.expect("p/f.json", "2")
	})
	check("a symlink in a circle", func(d *watched) { folder(d); d.link("p/f.json", "p/f.json") }, func(d *watched) {
		d.remove("p/f.json")
		d.write("p/f.json", "2")
		d.expect("p/f.json", "2")
	})
}

// Where inotify is out of instances, or tells nothing, files are looked at.
func TestWatcherThatCannotWatchPolls(t *testing.T) {
	t.Parallel()
	d := watchFiles(t, nil, func(w *Watcher) { w.dirs.Limit, w.poll = 0, 10*time.Millisecond }, "a/f.json")
	d.write("a/f.json", "2")
	d.expect("a/f.json", "2")
}

// Files that are named later are watched from then on, and others no more.
func TestWatcherTakesOtherFiles(t *testing.T) {
	t.Parallel()
	d := watchFiles(t, func(d *watched) { d.write("a/f", "1"); d.write("b/f", "1") }, nil, "a/f")
	_, _ = d.files.read(d.path("b/f"))
	d.w.Watch(d.files.Names())
	d.write("b/f", "2")
	d.expect("b/f", "2")
	d.w.Watch([]string{d.path("b/f")})
	d.write("b/f", "3")
	d.expect("b/f", "3")
	if d.w.counts(d.path("a/f")) || !d.w.counts(d.path("b/f")) || d.w.counts(d.path("b/other")) {
		t.Errorf("what counts: %v", d.w.paths)
	}
}

// A file that comes with its directory while the watcher is being armed is not
// missed.
func TestWatcherMissesNothingWhileItIsArmed(t *testing.T) {
	t.Parallel()
	for range 30 {
		dir := t.TempDir()
		f := NewFiles()
		file := filepath.Join(dir, "a", "b", "f")
		_, _ = f.read(file)
		w := NewWatcher(slog.New(slog.DiscardHandler))
		w.Watch(f.Names())
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { w.Run(ctx) })
		for _, made := range []string{filepath.Join(dir, "a"), filepath.Join(dir, "a", "b")} {
			if err := os.Mkdir(made, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(file, []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
		for seen, late := false, time.After(10*time.Second); !seen; {
			select {
			case <-w.C:
				seen = len(f.Changed(f.Look())) == 1
			case <-late:
				t.Fatal("missed")
			}
		}
		cancel()
		wg.Wait()
	}
}
