package lsp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"agentls/agent"
)

// bufferSessions knows the sessions of prompt buffers that were renamed: they
// keep the one that the hash of their old name gave (CONTRACT §6). It lives in
// <state>/buffers.json, which several processes share.
type bufferSessions struct {
	file  string
	log   func(what string, err error)
	first sync.Once // the file was loaded

	mu    sync.Mutex
	known map[string]movedBuffer // by canonical URI
	fresh map[string]movedBuffer // not on disk yet

	// disk is held while the file is read or changed, and before mu: what save
	// takes out of fresh meanwhile would be in neither.
	disk   sync.Mutex
	looked fs.FileInfo // the file's, when it was loaded last; guarded by disk
}

// movedBuffer is the session of a prompt buffer.
type movedBuffer struct {
	Session string    `json:"session"`
	Folder  string    `json:"folder"` // that the session is bound to
	At      time.Time `json:"at"`
}

// maxBuffers bounds what is remembered; the oldest go first.
const maxBuffers = 10_000

// buffersVersion is the version of the file.
const buffersVersion = 1

type buffersFile struct {
	Version int                    `json:"version"`
	Buffers map[string]movedBuffer `json:"buffers"`
}

func newBufferSessions(s *Server) *bufferSessions {
	b := &bufferSessions{known: map[string]movedBuffer{}, fresh: map[string]movedBuffer{}}
	b.log = func(what string, err error) {
		s.o.Log.Error("the sessions of renamed prompt buffers", "file", b.file, "problem", what, "error", err)
	}
	if s.o.StateDir != "" {
		b.file = filepath.Join(s.o.StateDir, "buffers.json")
	}
	return b
}

// begin reads the file for the first time: beside the answer to initialize, or
// for who needs it before that is done.
func (b *bufferSessions) begin() { b.first.Do(b.load) }

// load reads the file: also again when a document is opened, as another process
// may have renamed it.
func (b *bufferSessions) load() {
	b.disk.Lock()
	defer b.disk.Unlock()
	b.loadLocked()
}

// loadLocked is load with disk held.
func (b *bufferSessions) loadLocked() {
	on, err := b.read()
	if err != nil {
		b.log("cannot be read", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(on, b.fresh)
	b.known = on
}

// refresh loads the file if it changed since.
func (b *bufferSessions) refresh() {
	info, err := os.Stat(b.file)
	if err != nil {
		return // there is none, or load will tell
	}
	b.disk.Lock()
	defer b.disk.Unlock()
	// It is replaced as a whole: times alone are too coarse.
	if b.looked == nil || !os.SameFile(info, b.looked) || !info.ModTime().Equal(b.looked.ModTime()) {
		b.looked = info
		b.loadLocked()
	}
}

// read reads the file; a newer one is refused and kept.
func (b *bufferSessions) read() (map[string]movedBuffer, error) {
	raw, err := os.ReadFile(b.file)
	if b.file == "" || errors.Is(err, fs.ErrNotExist) {
		return map[string]movedBuffer{}, nil
	}
	var f buffersFile
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	switch {
	case err != nil:
		return nil, err
	case f.Version > buffersVersion:
		return nil, fmt.Errorf("it has version %d; this agentls reads up to %d", f.Version, buffersVersion)
	case f.Buffers == nil:
		f.Buffers = map[string]movedBuffer{}
	}
	return f.Buffers, nil
}

// of gives what is remembered of a prompt buffer.
func (b *bufferSessions) of(key string) (movedBuffer, bool) {
	b.begin()
	b.mu.Lock()
	defer b.mu.Unlock()
	m, ok := b.known[key]
	return m, ok
}

// move gives a prompt buffer's session to its new name. Another buffer that
// gets the old name begins a session of its own.
func (b *bufferSessions) move(s *Server, oldKey, oldPath, newKey string) {
	moved := movedBuffer{Session: s.bufferSession(oldKey, oldPath, 0), Folder: s.bufferFolder(oldKey, oldPath), At: time.Now().UTC()}
	b.mu.Lock()
	for key, m := range map[string]movedBuffer{newKey: moved, oldKey: {Session: newID(), Folder: moved.Folder, At: moved.At}} {
		b.known[key], b.fresh[key] = m, m
	}
	b.mu.Unlock()
	s.background.Go(b.save)
}

// save writes what is not on disk yet. What other processes wrote stays.
func (b *bufferSessions) save() {
	b.disk.Lock()
	defer b.disk.Unlock()
	b.mu.Lock()
	fresh := maps.Clone(b.fresh)
	b.mu.Unlock()
	if len(fresh) == 0 || b.file == "" {
		return
	}
	if err := b.merge(fresh); err != nil {
		b.log("cannot be kept: they hold until agentls ends", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, m := range fresh {
		if b.fresh[key] == m {
			delete(b.fresh, key)
		}
	}
}

func (b *bufferSessions) merge(fresh map[string]movedBuffer) error {
	if err := os.MkdirAll(filepath.Dir(b.file), 0o700); err != nil {
		return err
	}
	unlock, err := agent.LockFile(b.file + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := b.read()
	if err != nil {
		return err
	}
	maps.Copy(all, fresh)
	if n := len(all) - maxBuffers; n > 0 {
		byAge := slices.SortedFunc(maps.Keys(all), func(x, y string) int { return all[x].At.Compare(all[y].At) })
		for _, key := range byAge[:n] {
			delete(all, key)
		}
	}
	raw, err := json.Marshal(buffersFile{Version: buffersVersion, Buffers: all})
	if err != nil {
		return err
	}
	return agent.ReplaceFile(b.file, raw)
}

// bufferSession is the session of a prompt buffer: a hash of folder and URI.
// An untitled one is another buffer each time it is opened; one that was
// renamed keeps the session that it had.
func (s *Server) bufferSession(uri, path string, opened int) string {
	if moved, ok := s.buffers.of(uri); ok {
		return moved.Session
	}
	of := s.folderFor(path) + "\x00" + uri
	if strings.HasPrefix(uri, "untitled:") {
		of += fmt.Sprintf("\x00%s %d", s.runs.nonce, opened)
	}
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:16])
}

// bufferFolder is the folder that the session of a prompt buffer is bound to.
func (s *Server) bufferFolder(uri, path string) string {
	if moved, ok := s.buffers.of(uri); ok {
		return moved.Folder
	}
	return s.folderFor(path)
}
