package config

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"agentls/mcp/watch"
)

const (
	// settle is how long a file must be left alone until it is looked at: a
	// save that replaces a file is one change.
	settle = 100 * time.Millisecond
	// settleMost bounds that where a file is never left alone.
	settleMost = time.Second
	// maxLinks bounds the symlinks on the way to one file.
	maxLinks = 40
)

// Watcher tells when one of a set of files may have changed: was written,
// replaced, removed, or appeared with the directory that it is to be in.
// Whether it did change is for [Files] to say.
type Watcher struct {
	// C gets a token when there is something to look at; it has one slot.
	C <-chan struct{}

	c     chan struct{}
	dirs  *watch.Dirs
	poll  time.Duration
	kick  chan struct{}   // 1 slot: an event came
	other chan struct{}   // 1 slot: other files are to be watched
	armed map[string]bool // the watched directories; of Run

	mu    sync.Mutex
	files []string
	paths map[string]bool // what an event must name to count
	stale map[string]bool // directories that were moved or removed
}

// NewWatcher returns a watcher of nothing yet, for Run.
func NewWatcher(log *slog.Logger) *Watcher {
	c := make(chan struct{}, 1)
	return &Watcher{
		C: c, c: c, dirs: watch.NewDirs(log), poll: watch.PollEvery,
		kick: make(chan struct{}, 1), other: make(chan struct{}, 1),
		armed: map[string]bool{}, paths: map[string]bool{}, stale: map[string]bool{},
	}
}

// Watch replaces the files that are watched, absolute paths. What happened to
// a new one before it was watched is looked at as well.
func (w *Watcher) Watch(files []string) {
	w.mu.Lock()
	same := slices.Equal(w.files, files)
	w.files = files
	w.mu.Unlock()
	if !same {
		signal(w.other)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	var wg sync.WaitGroup
	ended := make(chan struct{})
	wg.Go(func() { w.listen(ended) })
	defer wg.Wait()
	defer close(ended)
	// A network's file system tells nothing of what others write.
	poll := time.NewTicker(w.poll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.other:
			w.arm() // what happens from now on is waited for
			if !w.settled(ctx) {
				return
			}
		case <-w.kick:
			if !w.settled(ctx) {
				return
			}
		case <-poll.C:
			w.mu.Lock()
			maps.Copy(w.stale, w.armed) // one above them may have moved unseen
			w.mu.Unlock()
		}
		w.arm()
		signal(w.c)
	}
}

// settled waits until nothing more happens; false: ctx ended.
func (w *Watcher) settled(ctx context.Context) bool {
	most := time.After(settleMost)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-w.kick:
		case <-most:
			return true
		case <-time.After(settle):
			return true
		}
	}
}

// listen takes the events until ended closes. It never waits: adding a
// directory may wait for the events before it.
func (w *Watcher) listen(ended <-chan struct{}) {
	defer w.dirs.Close()
	events, errs := w.dirs.Events(), w.dirs.Errors()
	for {
		select {
		case <-ended:
			return
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if w.counts(e.Name) {
				signal(w.kick)
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			signal(w.kick) // events were lost
		}
	}
}

// counts reports whether an event is about a file or what leads to it.
func (w *Watcher) counts(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paths[name+string(filepath.Separator)] { // a watched directory itself
		w.stale[name] = true
		return true
	}
	return w.paths[name]
}

// arm watches the directories where something must happen for one of the files
// to change. What happens before a directory is watched is told by nobody, so
// it is looked again once they are.
func (w *Watcher) arm() {
	w.mu.Lock()
	files, stale := w.files, w.stale
	w.stale = map[string]bool{}
	w.mu.Unlock()
	places := placesOf(files)
	for range maxLinks { // as long as somebody makes directories meanwhile
		w.watch(places, stale)
		stale = nil
		next := placesOf(files)
		if maps.Equal(next.paths, places.paths) {
			return
		}
		places = next
	}
}

// watch brings the watched directories in line with places.
func (w *Watcher) watch(places places, stale map[string]bool) {
	w.mu.Lock()
	w.paths = places.paths
	w.mu.Unlock()
	for dir := range w.armed {
		if !places.dirs[dir] || stale[dir] {
			w.dirs.Remove(dir)
			delete(w.armed, dir)
		}
	}
	for dir := range places.dirs {
		if !w.armed[dir] && w.dirs.Add(dir) {
			w.armed[dir] = true
		}
	}
}

// places are the directories to watch, and the paths in them that count; the
// directories themselves end in a separator there. All of them are real paths.
type places struct {
	dirs, paths map[string]bool
}

func placesOf(files []string) places {
	p := places{dirs: map[string]bool{}, paths: map[string]bool{}}
	for _, file := range files {
		p.add(file)
	}
	return p
}

// add finds what one file depends on: where it stands, each symlink on the way
// to it, and the first part of the way that is not there yet.
func (p places) add(file string) {
	dir, rest := root(file)
	for links := 0; ; {
		name, below, deeper := strings.Cut(rest, string(filepath.Separator))
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		switch {
		case err == nil && info.IsDir() && deeper:
			dir, rest = path, below
			continue
		case err == nil && info.Mode()&os.ModeSymlink != 0 && links < maxLinks:
			p.note(dir, path)
			links++
			to, err := os.Readlink(path)
			if err != nil {
				return // it went this moment, which is an event
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(dir, to)
			}
			dir, rest = root(filepath.Join(to, below))
			continue
		}
		p.note(dir, path)
		return
	}
}

func (p places) note(dir, path string) {
	p.dirs[dir], p.paths[path] = true, true
	p.paths[strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator)] = true
}

// root parts an absolute path into its root and the rest.
func root(path string) (dir, rest string) {
	path = filepath.Clean(path)
	dir = filepath.VolumeName(path) + string(filepath.Separator)
	return dir, strings.TrimPrefix(path, dir)
}
