//go:build unix

package agent

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// dirHandle is an open folder. What is opened in it is of that very folder,
// whatever its path leads to by now, and is no symbolic link.
type dirHandle struct {
	f  *os.File
	fd int // of f, as long as that is open
}

func openDir(path string) (*dirHandle, error) {
	return openDirAt(unix.AT_FDCWD, path, path)
}

func openDirAt(at int, name, path string) (*dirHandle, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	return &dirHandle{os.NewFile(uintptr(fd), path), fd}, nil
}

// dir opens a folder inside.
func (d *dirHandle) dir(name string) (*dirHandle, error) {
	return openDirAt(d.fd, name, filepath.Join(d.f.Name(), name))
}

func (d *dirHandle) list() ([]fs.DirEntry, error) { return d.f.ReadDir(-1) }

func (d *dirHandle) close() { _ = d.f.Close() } // only read from

// read reads a regular file of at most most bytes; a larger one is errLarge.
func (d *dirHandle) read(name string, most int64, room *[]byte) ([]byte, error) {
	fd, err := retry(func() (int, error) { // a pipe in its place must not make us wait
		return unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }() // only read from
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return nil, err
	}
	switch {
	case info.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%s is no file any more", name)
	case info.Size > most:
		return nil, errLarge
	}
	return readInto(info.Size, room, func(p []byte) (int, error) {
		return retry(func() (int, error) { return unix.Read(fd, p) })
	}), nil
}

// retry calls f again when a signal interrupted it.
func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != unix.EINTR { //nolint:errorlint // as the system gives it
			return n, err
		}
	}
}
