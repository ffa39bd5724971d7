package agent

import (
	"encoding/base32"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// store keeps results that are too long for the model, whole and as plain
// text: <dir>/<hash of folder and session>/<id>.txt, 0600 in 0700. Several
// processes may share it: a file appears complete, under a name that is made
// of its content. A store without a directory keeps nothing.
type store struct {
	dir    string
	log    *slog.Logger
	bounds storeBounds

	mu   sync.Mutex // guards told and due
	told bool       // a failed write was told
	due  int64      // bytes that may be written until the bounds are looked after again
}

// storeBounds are the most that is kept; the oldest results go first.
type storeBounds struct {
	result, session, all int64 // bytes
	age                  time.Duration
}

func newStore(dir string, log *slog.Logger) *store {
	return &store{dir: dir, log: log, bounds: storeBounds{result: 64 << 20, session: 256 << 20, all: 1 << 30, age: 14 * 24 * time.Hour}}
}

// errNotKept is why nothing is kept where there is no directory for it.
var errNotKept = errors.New("long results are not kept")

const (
	idLength     = 12 // characters: 60 bits of the sum of the content
	storedSuffix = ".txt"
	partPattern  = "part-*" // being written; what a crash left goes with its age
)

// isResultID reports whether id has the form of one: no path comes through it.
func isResultID(id string) bool {
	return len(id) == idLength && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// shelf is what is kept of one session. No other session can read it.
type shelf struct {
	store *store
	dir   string // empty: nothing is kept
}

func (s *store) of(key sessionKey) shelf {
	if s.dir == "" {
		return shelf{store: s}
	}
	return shelf{store: s, dir: filepath.Join(s.dir, key.hash())}
}

// create makes a file that becomes a result by settle.
func (s shelf) create() (*os.File, error) {
	if s.dir == "" {
		return nil, errNotKept
	}
	for range 2 { // another process may have tidied the folder away
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, err
		}
		f, err := os.CreateTemp(s.dir, partPattern) // 0600
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, fs.ErrNotExist
}

// settle closes a file of create and gives it its name by the sum of its
// content. The same content again is the same result.
func (s shelf) settle(f *os.File, sum []byte, size int64) (id string, err error) {
	id = strings.ToLower(base32.StdEncoding.EncodeToString(sum))[:idLength]
	if err = f.Close(); err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, id+storedSuffix))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	s.store.wrote(size, s.dir)
	return id, nil
}

// put keeps a text and returns its id, "" where that failed.
func (s shelf) put(text string) (id string) {
	if s.dir == "" {
		return ""
	}
	k := s.keep(0)
	k.add(text)
	k.Close()
	return k.id
}

// open opens a result.
func (s shelf) open(id string) (*os.File, error) {
	if s.dir == "" || !isResultID(id) {
		return nil, fs.ErrNotExist
	}
	return os.Open(filepath.Join(s.dir, id+storedSuffix))
}

// storedResult is a result on disk.
type storedResult struct {
	id   string
	size int64
	time time.Time
}

// list returns the results, the newest first.
func (s shelf) list() []storedResult {
	if s.dir == "" {
		return nil
	}
	var out []storedResult
	for _, f := range storedFiles(s.dir) {
		if id, ok := strings.CutSuffix(filepath.Base(f.path), storedSuffix); ok && isResultID(id) {
			out = append(out, storedResult{id, f.size, f.time})
		}
	}
	slices.SortFunc(out, func(a, b storedResult) int { return b.time.Compare(a.time) })
	return out
}

// remove deletes all results of the session.
func (s shelf) remove() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// copyTo lets another session, that goes on from this one, read its results.
func (s shelf) copyTo(other shelf) {
	if s.dir == "" {
		return
	}
	for _, r := range s.list() {
		if err := s.copyOne(r.id, other); err != nil {
			s.store.failed(err)
			return
		}
	}
}

func (s shelf) copyOne(id string, other shelf) error {
	if err := os.MkdirAll(other.dir, 0o700); err != nil {
		return err
	}
	err := os.Link(filepath.Join(s.dir, id+storedSuffix), filepath.Join(other.dir, id+storedSuffix))
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	from, err := s.open(id) // a file system without links
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read from
	k := other.keep(0)
	_, err = from.WriteTo(k)
	k.Close()
	if err == nil {
		err = k.err
	}
	return err
}

// failed tells once why long results are cut for good.
func (s *store) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told && !errors.Is(err, errNotKept) {
		s.told = true
		s.log.Error("long results cannot be kept, so they are cut for good", "dir", s.dir, "error", err)
	}
}

// wrote counts what was written, and looks after the bounds when much was.
func (s *store) wrote(size int64, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due -= size; s.due < 0 {
		s.due = s.bounds.session / 16
		s.tidy(session)
	}
}

// tidy deletes what is beyond the bounds.
func (s *store) tidy(session string) {
	dirs, err := os.ReadDir(s.dir)
	if err != nil {
		return // nothing to tidy
	}
	var all []storedFile
	for _, d := range dirs {
		dir := filepath.Join(s.dir, d.Name())
		files := s.old(storedFiles(dir))
		if dir == session {
			files = shed(files, s.bounds.session)
		}
		if all = append(all, files...); len(files) == 0 && dir != session {
			_ = os.Remove(dir) // if it is empty
		}
	}
	shed(all, s.bounds.all)
}

// old deletes files beyond the age and returns the others.
func (s *store) old(files []storedFile) []storedFile {
	return slices.DeleteFunc(files, func(f storedFile) bool {
		return time.Since(f.time) > s.bounds.age && os.Remove(f.path) == nil
	})
}

// shed deletes the oldest files until the others are at most size bytes.
func shed(files []storedFile, most int64) []storedFile {
	slices.SortFunc(files, func(a, b storedFile) int { return b.time.Compare(a.time) })
	for i, f := range files {
		if most -= f.size; most < 0 {
			for _, f := range files[i:] {
				_ = os.Remove(f.path) // another process may have been first
			}
			return files[:i]
		}
	}
	return files
}

type storedFile struct {
	path string
	size int64
	time time.Time
}

// storedFiles returns the regular files of a folder.
func storedFiles(dir string) []storedFile {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // it is gone, or never was
	}
	var out []storedFile
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			out = append(out, storedFile{filepath.Join(dir, e.Name()), info.Size(), info.ModTime()})
		}
	}
	return out
}
