package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// sessionVersion is the version of the files that this program writes.
const sessionVersion = 1

// maxSessionFile is the largest file that is read into memory.
const maxSessionFile = 1 << 30

// sessionHeader is the first line of a session's file. The lines below it are
// records.
type sessionHeader struct {
	Version    int       `json:"version"`
	Folder     string    `json:"folder"`
	Session    string    `json:"session"`
	CreatedAt  time.Time `json:"createdAt"`
	ForkedFrom string    `json:"forkedFrom,omitempty"`
}

// hash names the files of a session: the same id in another folder is another
// session, and an id is no file name.
func (k sessionKey) hash() string { return shortHash(k.folder + "\x00" + k.id) }

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

const (
	sessionSuffix = ".jsonl"
	lockSuffix    = ".lock"
)

// folderOf is where the sessions of a folder are; "" where none is kept.
func (s *sessions) folderOf(folder string) string {
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, shortHash(folder))
}

func (s *sessions) path(key sessionKey) string {
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.folderOf(key.folder), key.hash()+sessionSuffix)
}

func (f *sessionFile) lockPath() string {
	return f.path[:len(f.path)-len(sessionSuffix)] + lockSuffix
}

// statSession looks at a session's file: nil where there is none. Nothing else
// than a file is taken for one.
func statSession(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case isMissing(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file; move it away", path)
	}
	return info, nil
}

// isMissing reports whether there is nothing at a path, be it because what
// should be its folder is none.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// line encodes a header or a record as a line.
func line(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // all of its fields encode
		panic(err)
	}
	return b.Bytes()
}
