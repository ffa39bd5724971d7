package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"

	"agentls/mcp/watch"
)

const (
	// maxFiles and maxDirs bound what is listed of one folder. The scan goes
	// level by level, so what lies deepest is what is missing.
	maxFiles = 20_000
	maxDirs  = 20_000
	// readChunk is how many entries of a directory are read at once.
	readChunk = 512
)

// tree is what is known of one folder's files. It belongs to the goroutine
// that scans.
type tree struct {
	folder  *folder
	watches *watch.Dirs
	log     *slog.Logger
	nested  func(path string) bool // another folder's root: listed there
	dirs    map[string]*directory  // by slash-separated path; "" is the folder
	files   int
	max     int  // files
	capped  bool // said so
}

// directory holds the names in one directory that are not ignored.
type directory struct {
	files, subs []string
	watched     bool
}

// stale says how a directory is to be read again.
type stale struct {
	deep    bool                // its ignore rules changed: all below it, too
	created map[string]struct{} // names that are new, even if we know them
}

// staleDirs are the directories of a tree that events speak of.
func staleDirs(t *tree, paths map[string]fsnotify.Op) map[string]*stale {
	dirs := map[string]*stale{}
	at := func(rel string) *stale {
		if dirs[rel] == nil {
			dirs[rel] = &stale{}
		}
		return dirs[rel]
	}
	for name, op := range paths {
		rel, ok := within(t.folder.path, name)
		switch {
		case !ok:
		case rel == "": // the folder itself was moved or removed
			at("")
		case path.Base(rel) == ".gitignore":
			at(parent(rel)).deep = true
		case op.Has(fsnotify.Create):
			d := at(parent(rel))
			if d.created == nil {
				d.created = map[string]struct{}{}
			}
			d.created[path.Base(rel)] = struct{}{}
		case op&(fsnotify.Remove|fsnotify.Rename) != 0:
			at(parent(rel))
		}
	}
	return dirs
}

func newTree(f *folder, w *watch.Dirs, log *slog.Logger, nested func(string) bool) *tree {
	return &tree{folder: f, watches: w, log: log, nested: nested, dirs: map[string]*directory{}, max: maxFiles}
}

// has reports whether a file is listed.
func (t *tree) has(rel string) bool {
	d := t.dirs[parent(rel)]
	return d != nil && slices.Contains(d.files, path.Base(rel))
}

// parent is path.Dir with "" for the folder itself.
func parent(rel string) string {
	if dir := path.Dir(rel); dir != "." {
		return dir
	}
	return ""
}

// refresh reads the stale directories again and returns those to be scanned.
func (t *tree) refresh(dirs map[string]*stale) (scan []string) {
	for _, rel := range sortedKeys(dirs) {
		d, how := t.dirs[rel], dirs[rel]
		switch {
		case d == nil: // ignored, or dropped with what is above it
		case how.deep:
			t.folder.ignore.forget(rel)
			t.drop(rel)
			scan = append(scan, rel)
		default:
			scan = append(scan, t.reread(rel, d, how)...)
		}
	}
	return scan
}

// reread brings a known directory up to date and returns the directories in
// it that are to be scanned.
func (t *tree) reread(rel string, d *directory, how *stale) (scan []string) {
	if !d.watched {
		d.watched = t.watches.Add(t.folder.join(rel))
	}
	t.files -= len(d.files)
	d.files = nil
	files, subs, err := t.list(rel)
	if err != nil { // it went, or may not be read any more
		t.unwatch(rel, d)
		files, subs = nil, nil
	}
	for _, name := range d.subs {
		if _, created := how.created[name]; created || !slices.Contains(subs, name) {
			t.drop(path.Join(rel, name))
		}
	}
	d.files, d.subs = files, subs
	t.files += len(files)
	for _, name := range subs {
		if sub := path.Join(rel, name); t.dirs[sub] == nil {
			scan = append(scan, sub)
		}
	}
	return scan
}

// scan reads directories that are not known yet, and all below them.
func (t *tree) scan(ctx context.Context, queue []string) {
	for len(queue) > 0 && ctx.Err() == nil {
		rel := queue[0]
		queue = queue[1:]
		if len(t.dirs) >= maxDirs {
			t.sayCapped()
			return
		}
		d := &directory{}
		t.dirs[rel] = d
		// First watched, then read: nothing falls between.
		d.watched = t.watches.Add(t.folder.join(rel))
		files, subs, err := t.list(rel)
		if err != nil {
			t.unwatch(rel, d)
			if !errors.Is(err, fs.ErrNotExist) {
				t.log.Debug("a directory cannot be read", "folder", t.folder.path, "directory", rel, "err", err)
			}
			continue
		}
		d.files, d.subs = files, subs
		t.files += len(files)
		for _, name := range subs {
			queue = append(queue, path.Join(rel, name))
		}
	}
}

// drop forgets a directory and all below it.
func (t *tree) drop(rel string) {
	d := t.dirs[rel]
	if d == nil {
		return
	}
	for _, name := range d.subs {
		t.drop(path.Join(rel, name))
	}
	t.files -= len(d.files)
	t.unwatch(rel, d)
	delete(t.dirs, rel)
}

func (t *tree) unwatch(rel string, d *directory) {
	if d.watched {
		d.watched = false
		t.watches.Remove(t.folder.join(rel))
	}
}

// list reads one directory and leaves out what is ignored, what is no file,
// and what leads out of the folder.
func (t *tree) list(rel string) (files, subs []string, err error) {
	root, err := os.OpenRoot(t.folder.path)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	dir, err := root.Open(filepath.FromSlash(path.Join(".", rel)))
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	rules := t.folder.ignore.at(rel)
	for {
		entries, err := dir.ReadDir(readChunk)
		for _, e := range entries {
			switch t.kind(root, rules, path.Join(rel, e.Name()), e) {
			case kindDir:
				subs = append(subs, e.Name())
			case kindFile:
				files = append(files, e.Name())
			}
			if t.files+len(files) > t.max {
				files = files[:len(files)-1]
				t.sayCapped()
				return files, subs, nil
			}
		}
		if err == io.EOF {
			return files, subs, nil
		}
		if err != nil {
			return files, subs, err
		}
	}
}

const (
	kindOther = iota
	kindFile
	kindDir
)

// kind says what an entry is to the list. A symlink to a file inside the
// folder is a file; one to a directory is nothing, as it may lead in circles.
func (t *tree) kind(root *os.Root, rules *rules, rel string, e fs.DirEntry) int {
	if isGit(e.Name()) || strings.Contains(e.Name(), "\x00") || rules.match(t.folder.ignore.full(rel), e.IsDir()) {
		return kindOther
	}
	switch {
	case e.IsDir():
		if t.nested(t.folder.join(rel)) {
			return kindOther
		}
		return kindDir
	case e.Type().IsRegular():
		return kindFile
	case e.Type()&fs.ModeSymlink != 0:
		if info, err := root.Stat(filepath.FromSlash(rel)); err == nil && info.Mode().IsRegular() {
			return kindFile
		}
	}
	return kindOther
}

// unwatched returns the directories whose changes are not told.
func (t *tree) unwatched() []string {
	var dirs []string
	for rel, d := range t.dirs {
		if !d.watched {
			dirs = append(dirs, rel)
		}
	}
	return dirs
}

func (t *tree) sayCapped() {
	if !t.capped {
		t.capped = true
		t.log.Warn("the folder is too large: some of its files are not listed", "folder", t.folder.path, "files", t.max, "directories", maxDirs)
	}
}

// sortedKeys gives what is above before what is below.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
