//go:build unix

package main

import (
	"net"
	"os"
	"syscall"
)

// errNobodyServes is what connecting to a socket without a listener gives.
const errNobodyServes = syscall.ECONNREFUSED

// listenPrivately makes a socket that was never open to others: it has its mode
// from the beginning.
func listenPrivately(path string) (*net.UnixListener, error) {
	before := syscall.Umask(0o177)
	defer syscall.Umask(before)
	return net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
}

// isOwn reports whether a file is this user's.
func isOwn(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
