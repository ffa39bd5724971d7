//go:build unix

package main

import "golang.org/x/sys/unix"

// freeBytes is the room that this user has on the disk of a folder.
func freeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil //nolint:gosec,unconvert // their types differ between systems
}
