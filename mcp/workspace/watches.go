package workspace

import (
	"log/slog"
	"runtime"

	"github.com/fsnotify/fsnotify"
)

// maxWatches bounds the directories that are watched, of all folders. Where
// the system's watcher opens every file of a watched directory it is less.
func maxWatches() int {
	switch runtime.GOOS {
	case "linux", "windows":
		return 8192
	default:
		return 1024
	}
}

// watches adds to a watcher within the bound. A nil watcher watches nothing.
// It belongs to the goroutine that scans.
type watches struct {
	watcher *fsnotify.Watcher
	log     *slog.Logger
	limit   int
	used    int
	said    bool
}

// add reports whether the directory is watched now.
func (w *watches) add(dir string) bool {
	if w.watcher == nil {
		return false
	}
	if w.used >= w.limit {
		w.say("too many directories to watch", nil)
		return false
	}
	if err := w.watcher.Add(dir); err != nil {
		w.say("a directory cannot be watched", err)
		return false
	}
	w.used++
	return true
}

func (w *watches) remove(dir string) {
	w.used--
	// An error means that the directory went, and its watch with it.
	_ = w.watcher.Remove(dir)
}

// say tells once; directories that are not watched are read again now and then.
func (w *watches) say(what string, err error) {
	if !w.said {
		w.said = true
		w.log.Warn("changes of files are noticed late", "why", what, "limit", w.limit, "err", err)
	}
}
