package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// trustVersion is the version of trust.json that we write. A newer one is
// refused and kept.
const trustVersion = 1

// trustStore remembers which folders the user trusts, and which project
// servers may start, by the fingerprint of all that was shown (CONTRACT §2 and
// §8). Several processes share the file.
type trustStore struct {
	file string
}

type trustFile struct {
	Version int                   `json:"version"`
	Servers map[string]trustEntry `json:"servers"` // by fingerprint
	Folders map[string]time.Time  `json:"folders"` // by absolute path: since when
}

// trustEntry is for a person who reads the file; nothing depends on it.
type trustEntry struct {
	Name   string    `json:"name"`
	Source string    `json:"source"`
	Folder string    `json:"folder"`
	Time   time.Time `json:"time"`
}

var errNewerTrust = errors.New("was written by a newer version of agentls; it is not used and not changed")

// load reads the file; one that is not there trusts nobody.
func (t trustStore) load() (trustFile, error) {
	f := trustFile{Version: trustVersion, Servers: map[string]trustEntry{}, Folders: map[string]time.Time{}}
	if t.file == "" {
		return f, nil
	}
	data, err := os.ReadFile(t.file)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	var got trustFile
	if err := json.Unmarshal(data, &got); err != nil {
		return f, fmt.Errorf("%s: %w", t.file, err)
	}
	if got.Version > trustVersion {
		return f, fmt.Errorf("%s %w", t.file, errNewerTrust)
	}
	if got.Servers != nil {
		f.Servers = got.Servers
	}
	if got.Folders != nil {
		f.Folders = got.Folders
	}
	return f, nil
}

// set stores the user's word about a server.
func (t trustStore) set(c ServerConfig, trust bool) error {
	if c.Fingerprint == "" {
		return fmt.Errorf("server %q has no fingerprint to trust", c.Name)
	}
	return t.change(func(f *trustFile) {
		if trust {
			f.Servers[c.Fingerprint] = trustEntry{Name: c.Name, Source: c.Source, Folder: c.Folder, Time: now()}
		} else {
			delete(f.Servers, c.Fingerprint)
		}
	})
}

// setFolder stores that the user trusts a folder.
func (t trustStore) setFolder(path string) error {
	return t.change(func(f *trustFile) { f.Folders[path] = now() })
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// change rewrites the file under its lock.
func (t trustStore) change(f func(*trustFile)) error {
	if t.file == "" {
		return errors.New("there is no file to remember trust in")
	}
	if err := os.MkdirAll(filepath.Dir(t.file), 0o700); err != nil {
		return err
	}
	lock := flock.New(t.file+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); !ok {
		return fmt.Errorf("%s is locked by another process: %w", t.file, err)
	}
	defer func() { _ = lock.Unlock() }()
	file, err := t.load()
	if err != nil {
		return err
	}
	f(&file)
	return t.write(file)
}

// write replaces the file as a whole, so that no reader sees half of it.
func (t trustStore) write(f trustFile) (err error) {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(t.file), ".trust-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(append(data, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), t.file)
}
