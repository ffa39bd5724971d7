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

// stateFile is a file of <state> that several processes share: one JSON object
// with a version. A newer one is refused and kept (CONTRACT §1).
type stateFile struct {
	path    string // empty: nothing is kept
	version int    // that we write
}

var errNewerState = errors.New("was written by a newer version of agentls; it is not used and not changed")

// read decodes the file into v, and leaves v as it is when there is none.
func (f stateFile) read(v any) error {
	if f.path == "" {
		return nil
	}
	data, err := os.ReadFile(f.path)
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
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if head.Version > f.version {
		return fmt.Errorf("%s %w", f.path, errNewerState)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// locked calls change while no other process reads the file to change it.
func (f stateFile) locked(change func() error) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(f.path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); !ok {
		return fmt.Errorf("%s is locked by another process: %w", f.path, err)
	}
	defer func() { _ = lock.Unlock() }()
	return change()
}

// write replaces the file as a whole, so that no reader sees half of it.
func (f stateFile) write(v any) (err error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+"-*") // mode 0600
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
	return os.Rename(tmp.Name(), f.path)
}
