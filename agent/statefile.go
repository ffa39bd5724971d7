package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockWait is how long another process may hold a lock on a state file.
const lockWait = 2 * time.Second

// LockFile takes a lock on a file that other processes honour. It waits two
// seconds at most.
func LockFile(path string) (unlock func(), err error) { return lockWithin(path, lockWait) }

func lockWithin(path string, most time.Duration) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	l := flock.New(path)
	if _, err := l.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = l.Close() }, nil // the file has no content to lose
}

// ReplaceFile replaces a file of mode 0600 as a whole: a crash leaves the old
// or the new one.
func ReplaceFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
