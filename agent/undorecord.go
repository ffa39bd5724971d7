package agent

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	undoVersion = 1 // of the files that this program writes
	undoRuns    = 100
	undoBytes   = 256 << 20
)

// undoStore keeps what the edits of runs can be undone by: of the last runs,
// in memory and in <dir>/<hash of run>.jsonl, 0600 in 0700. A line is written
// before the edit that it is about, so that a crash between loses nothing.
type undoStore struct {
	dir string // "": in memory only
	log *slog.Logger

	mu   sync.Mutex
	runs []*undoRun // those of this process, the oldest first
	told bool       // a failed write was told
}

// undoRun is what is kept of one run.
type undoRun struct {
	store *undoStore
	id    string

	bytes atomic.Int64 // of the texts that are kept

	mu        sync.Mutex
	begun     bool // the file is this run's
	files     []*undoFile
	untracked []string
}

// undoFile is a file that a run changed.
type undoFile struct {
	path     string // as the editor names it
	real     string
	created  bool
	before   string    // the text before the run's first edit
	after    []textSum // of the texts that the run made, the last one last
	made     []string  // directories that the run made for it
	restored bool
}

// undoLine is a line of the file: the head, a change of a file, or a tool.
type undoLine struct {
	Version int       `json:"version,omitzero"` // of the head
	RunID   string    `json:"runId,omitzero"`
	At      time.Time `json:"at,omitzero"`

	Real     string   `json:"real,omitzero"`
	Path     string   `json:"path,omitzero"` // of the first line of a file
	Created  bool     `json:"created,omitzero"`
	Before   string   `json:"before,omitzero"`
	After    string   `json:"after,omitzero"` // SHA-256 in hex
	Made     []string `json:"made,omitzero"`
	Restored bool     `json:"restored,omitzero"`

	Untracked string `json:"untracked,omitzero"`
}

func newUndoStore(dir string, log *slog.Logger) *undoStore { return &undoStore{dir: dir, log: log} }

// start makes the record of a run.
func (s *undoStore) start(runID string) *undoRun { return &undoRun{store: s, id: runID} }

// before takes down a file's text, and what the run is about to make of it.
func (u *undoRun) before(f found, after string) {
	line := undoLine{Real: f.at.real, Path: f.at.abs, Created: !f.exists(), Before: f.text}
	sum := sumOf(after)
	line.After = hex.EncodeToString(sum[:])
	u.add(line)
}

// after takes down what came of an edit, where it is more than was said before.
func (u *undoRun) after(at place, text string, made []string) {
	sum := sumOf(text)
	u.mu.Lock()
	f := u.file(at.real)
	known := f != nil && slices.Contains(f.after, sum)
	u.mu.Unlock()
	if !known || len(made) > 0 {
		u.add(undoLine{Real: at.real, After: hex.EncodeToString(sum[:]), Made: made})
	}
}

// leave takes down a tool that changed what is not known here, once: each line
// waits for the disk.
func (u *undoRun) leave(tool string) {
	u.mu.Lock()
	known := u.begun && slices.Contains(u.untracked, tool)
	u.mu.Unlock()
	if !known {
		u.add(undoLine{Untracked: tool})
	}
}

func (u *undoRun) restored(real string) { u.add(undoLine{Real: real, Restored: true}) }

// add is the one way to change a record.
func (u *undoRun) add(line undoLine) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if f := u.file(line.Real); f != nil && !f.restored {
		line.Path, line.Created, line.Before = "", false, "" // of the first edit
	}
	u.apply(line)
	if !u.begun {
		u.store.keep(u)
	}
	if err := u.write(line); err != nil {
		u.store.tell(err)
	}
}

// apply takes a line over into memory. u.mu is held, or nobody else knows u.
func (u *undoRun) apply(line undoLine) {
	if line.Untracked != "" && !slices.Contains(u.untracked, line.Untracked) {
		u.untracked = append(u.untracked, line.Untracked)
		slices.Sort(u.untracked)
	}
	if line.Real == "" {
		return
	}
	f := u.file(line.Real)
	if f != nil && line.Path != "" { // edited again, after it was restored
		*f = undoFile{}
	}
	if f == nil {
		f = &undoFile{}
		u.files = append(u.files, f)
	}
	if line.Path != "" {
		u.bytes.Add(int64(len(line.Before) - len(f.before)))
		f.real, f.path, f.created, f.before = line.Real, line.Path, line.Created, line.Before
	}
	var sum textSum
	if n, err := hex.Decode(sum[:], []byte(line.After)); err == nil && n == len(sum) {
		f.after = append(f.after, sum)
	}
	f.made = append(f.made, line.Made...)
	f.restored = f.restored || line.Restored
}

func (u *undoRun) file(real string) *undoFile {
	for _, f := range u.files {
		if f.real == real {
			return f
		}
	}
	return nil
}

// write appends a line to the run's file; the first makes it anew. u.mu is
// held.
func (u *undoRun) write(line undoLine) error {
	if u.store.dir == "" {
		u.begun = true
		return nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	data := append(marshal(line), '\n')
	if !u.begun {
		if err := os.MkdirAll(u.store.dir, 0o700); err != nil {
			return err
		}
		flags |= os.O_TRUNC
		data = append(append(marshal(undoLine{Version: undoVersion, RunID: u.id, At: time.Now().UTC().Truncate(time.Second)}), '\n'), data...)
	}
	f, err := os.OpenFile(u.store.path(u.id), flags, 0o600)
	if err != nil {
		return err
	}
	u.begun = true
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (s *undoStore) path(runID string) string {
	sum := sha256.Sum256([]byte(runID))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".jsonl")
}

// size is about what a run takes in memory.
func (u *undoRun) size() int { return int(u.bytes.Load()) }

// keep holds a run in memory, and makes room for it.
func (s *undoStore) keep(u *undoRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(slices.DeleteFunc(s.runs, func(other *undoRun) bool { return other.id == u.id }), u)
	size := 0
	for i, run := range slices.Backward(s.runs) {
		if size += run.size(); len(s.runs)-i > undoRuns || size > undoBytes && run != u {
			s.runs = slices.Delete(s.runs, 0, i+1)
			break
		}
	}
	if s.dir != "" {
		s.prune()
	}
}

// prune removes the files of the oldest runs. s.mu is held.
func (s *undoStore) prune() {
	list, err := os.ReadDir(s.dir)
	if err != nil {
		return // there is nothing yet
	}
	var infos []fs.FileInfo
	for _, d := range list {
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && filepath.Ext(d.Name()) == ".jsonl" {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	size := int64(0)
	for i, info := range infos {
		if size += info.Size(); i >= undoRuns-1 || size > undoBytes {
			_ = os.Remove(filepath.Join(s.dir, info.Name())) // another process may have
		}
	}
}

func (s *undoStore) tell(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told {
		s.told = true
		s.log.Error("what undoes edits cannot be kept on disk; until this process ends it is in memory", "dir", s.dir, "error", err)
	}
}

// ErrNoRun is a run of which nothing is known that could be undone.
var ErrNoRun = errors.New("no run of this id changed files, as far as is known")

// find gives the record of a run, of this process or an earlier one.
func (s *undoStore) find(runID string) (*undoRun, error) {
	s.mu.Lock()
	i := slices.IndexFunc(s.runs, func(u *undoRun) bool { return u.id == runID })
	if i >= 0 {
		defer s.mu.Unlock()
		return s.runs[i], nil
	}
	s.mu.Unlock()
	if s.dir == "" {
		return nil, ErrNoRun
	}
	data, err := os.ReadFile(s.path(runID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoRun
	}
	if err != nil {
		return nil, err
	}
	return s.load(runID, data)
}

// load reads a record. A line that a crash cut is passed over: the edit that
// it is about did not happen.
func (s *undoStore) load(runID string, data []byte) (*undoRun, error) {
	u := &undoRun{store: s, id: runID, begun: true}
	for i, raw := range bytes.Split(data, []byte("\n")) {
		var line undoLine
		err := json.Unmarshal(raw, &line)
		switch {
		case i > 0 && err != nil:
			continue
		case i > 0:
			u.apply(line)
		case err != nil || line.RunID != runID:
			return nil, ErrNoRun
		case line.Version != undoVersion:
			return nil, fmt.Errorf("%s: version %d is not known to this program, which knows %d; it is left as it is", s.path(runID), line.Version, undoVersion)
		}
	}
	return u, nil
}
