package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"agentls/agent"
)

// maxSocketPath is how many bytes the path of a socket may have here: one less
// than the system's structure takes.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// socket listens under a path that only this user may connect to.
type socket struct {
	*net.UnixListener
	path string      // absolute
	made os.FileInfo // what was made there
}

// openSocket makes a socket of mode 0600. One of this user's that nobody serves
// any more is replaced; nothing else is ever removed. lock is a file that keeps
// two processes from replacing the same one.
func openSocket(ctx context.Context, path, lock string) (*socket, error) {
	if path == "" {
		return nil, errors.New("the path is empty; give --listen the path of a socket, such as /tmp/agentls.sock")
	}
	path, err := filepath.Abs(path) // "@name" would have no file, and no mode
	if err != nil {
		return nil, fmt.Errorf("the working folder is gone (%w): give the whole path of the socket", err)
	}
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the socket has %d bytes, and this system takes %d: give a shorter one than %s", len(path), maxSocketPath, path)
	}
	dir := filepath.Dir(path)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the folder %s is not there: make it, or give another path for the socket", dir)
	case err != nil:
		return nil, fmt.Errorf("the folder of the socket cannot be looked at (%w): give another path", err)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is no folder: give another path for the socket", dir)
	}
	if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
		return nil, fmt.Errorf("no lock can be made (%w): let yourself write there, or set XDG_STATE_HOME", err)
	}
	unlock, err := agent.LockFile(lock)
	if err != nil {
		return nil, fmt.Errorf("another agentls is opening a socket: try again (%w)", err)
	}
	defer unlock()
	if err := clearSocket(ctx, path); err != nil {
		return nil, err
	}
	l, err := listenPrivately(path)
	if err != nil {
		return nil, fmt.Errorf("no socket can be made (%w): let yourself write into %s, or give another path", err, dir)
	}
	l.SetUnlinkOnClose(false) // another process's may be there by then
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the socket is gone already (%w): give a path where nothing is cleaned up", err), l.Close())
	}
	return &socket{l, path, made}, nil
}

// clearSocket makes room for a socket: it removes one that nobody serves.
func clearSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s cannot be looked at (%w): give another path for the socket", path, err)
	case info.Mode()&os.ModeSocket == 0:
		return fmt.Errorf("%s is there already and is no socket, so it is left alone: give another path", path)
	case !isOwn(info):
		return fmt.Errorf("the socket %s is another user's: give another path", path)
	}
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("another process serves on %s: end it, or give another path", path)
	case !errors.Is(err, errNobodyServes):
		return fmt.Errorf("it cannot be told whether somebody serves on %s (%w): give another path", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("the socket of a process that is gone cannot be removed (%w): give another path", err)
	}
	return nil
}

// Close stops listening and takes the socket away, unless it is another one's
// by now.
func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if errors.Is(err, net.ErrClosed) { // it stopped listening before
		err = nil
	}
	if there, e := os.Lstat(s.path); e == nil && os.SameFile(there, s.made) {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}
