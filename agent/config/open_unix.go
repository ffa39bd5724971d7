//go:build !windows

package config

import (
	"os"
	"syscall"
)

// openFile opens for reading. A named pipe must not block it.
func openFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
