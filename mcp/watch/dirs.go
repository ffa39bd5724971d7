package watch

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"
)

// PollEvery is how often what cannot be watched is looked at instead.
const PollEvery = 30 * time.Second

// limit bounds the directories that are watched. Where the system's watcher
// opens every file of a watched directory it is less.
func limit() int {
	switch runtime.GOOS {
	case "linux", "windows":
		return 8192
	default:
		return 1024
	}
}

// Dirs watches directories within a bound. Where the system gives no watcher
// it watches none. Add and Remove belong to one goroutine; Events and Errors
// must be drained, also while a directory is added.
type Dirs struct {
	// Limit bounds the directories that are watched at one time.
	Limit int

	watcher *fsnotify.Watcher // nil: there is none
	log     *slog.Logger
	used    int
	said    bool
}

// NewDirs returns a watcher of nothing yet; Close ends it.
func NewDirs(log *slog.Logger) *Dirs {
	d := &Dirs{log: log, Limit: limit()}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		d.say("files cannot be watched", err)
		return d
	}
	d.watcher = watcher
	return d
}

// Events gives what happened in the watched directories; nil: there will be
// nothing.
func (d *Dirs) Events() <-chan fsnotify.Event {
	if d.watcher == nil {
		return nil
	}
	return d.watcher.Events
}

// Errors tells that events were lost; nil: there will be nothing.
func (d *Dirs) Errors() <-chan error {
	if d.watcher == nil {
		return nil
	}
	return d.watcher.Errors
}

// Add reports whether the directory is watched now.
func (d *Dirs) Add(dir string) bool {
	if d.watcher == nil {
		return false
	}
	if d.used >= d.Limit {
		d.say("too many directories to watch", nil)
		return false
	}
	if err := d.watcher.Add(dir); err != nil {
		d.say("a directory cannot be watched", err)
		return false
	}
	d.used++
	return true
}

// Remove ends the watch of a directory for which Add was true.
func (d *Dirs) Remove(dir string) {
	d.used--
	// An error means that the directory went, and its watch with it.
	_ = d.watcher.Remove(dir)
}

// Used counts the directories that are watched.
func (d *Dirs) Used() int { return d.used }

// List names the directories that the system watches.
func (d *Dirs) List() []string {
	if d.watcher == nil {
		return nil
	}
	return d.watcher.WatchList()
}

// Close ends the watches; Events and Errors are closed with it.
func (d *Dirs) Close() {
	if d.watcher != nil {
		_ = d.watcher.Close()
	}
}

// say tells once; what is not watched is looked at again now and then.
func (d *Dirs) say(what string, err error) {
	if !d.said {
		d.said = true
		d.log.Warn("changes of files are noticed late", "why", what, "limit", d.Limit, "err", err)
	}
}
