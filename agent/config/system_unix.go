//go:build unix

package config

import (
	"os"
	"os/exec"
	"syscall"
)

// openFile opens for reading. A named pipe must not block the opening.
func openFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// alone makes a command a group of its own, which ends as a whole.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
