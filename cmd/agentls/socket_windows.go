package main

import (
	"net"
	"os"

	"golang.org/x/sys/windows"
)

// errNobodyServes is what connecting to a socket without a listener gives.
const errNobodyServes = windows.WSAECONNREFUSED

// listenPrivately makes a socket. Who may connect is decided by its folder here.
func listenPrivately(path string) (*net.UnixListener, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
}

// isOwn: what is another user's cannot be removed here anyway.
func isOwn(os.FileInfo) bool { return true }
