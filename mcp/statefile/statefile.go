// Package statefile keeps what several processes of agentls share on disk: one
// JSON object a file, with a version (CONTRACT §1).
package statefile

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

// File is a file of <state>. One of a newer version is refused and kept.
type File struct {
	Path    string // empty: nothing is kept
	Version int    // that we write
}

var errNewer = errors.New("was written by a newer version of agentls; it is not used and not changed")

// Read decodes the file into v, and leaves v as it is when there is none.
func (f File) Read(v any) error {
	if f.Path == "" {
		return nil
	}
	data, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if head.Version > f.Version {
		return fmt.Errorf("%s %w", f.Path, errNewer)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return nil
}

// lockWait is how long another process may hold the lock to change a file.
const lockWait = 2 * time.Second

// Locked calls change while no other process reads the file to change it. It
// waits two seconds at most.
func (f File) Locked(change func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := Lock(ctx, f.Path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	return change()
}

// Lock waits until no other process holds the lock at path, or ctx ends. The
// file has no content, and stays.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(path, flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); !ok {
		return nil, fmt.Errorf("%s is locked by another process: %w", path, err)
	}
	return func() { _ = lock.Unlock() }, nil
}

// Write replaces the file as a whole, so that no reader sees half of it.
func (f File) Write(v any) (err error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.Path), "."+filepath.Base(f.Path)+"-*") // mode 0600
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
	return os.Rename(tmp.Name(), f.Path)
}
