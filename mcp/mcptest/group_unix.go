//go:build unix

package mcptest

import (
	"os/exec"
	"syscall"
	"testing"
)

// ownGroup makes the command the head of a group of processes.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Freeze stops the server without ending it, as a machine does that hangs: its
// connections stay open, and nobody answers. Thaw lets it go on.
func (s *RealHTTPServer) Freeze(tb testing.TB) { s.signal(tb, syscall.SIGSTOP) }

// Thaw undoes Freeze.
func (s *RealHTTPServer) Thaw(tb testing.TB) { s.signal(tb, syscall.SIGCONT) }

func (s *RealHTTPServer) signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if err := syscall.Kill(-s.PID(), sig); err != nil {
		tb.Fatal(err)
	}
}

// killGroup kills a command of ownGroup and what it started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
