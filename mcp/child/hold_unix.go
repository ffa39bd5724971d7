//go:build unix

package child

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// The files that a process finds which calls Hold.
const (
	gateFD   = 3 // gives a byte when the program may run; ends with who started it
	statusFD = 4 // takes the errno of an exec that failed; ends with the exec
)

// holdable reports whether the holding process is there: an update may have
// taken it away.
func holdable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.IsDir()
}

// startHeld starts cmd by way of a process that becomes the program once watch
// knows of it.
func startHeld(cmd *exec.Cmd, hold []string, watch Watch) (Group, error) {
	path, args := cmd.Path, cmd.Args
	if len(args) == 0 {
		args = []string{path}
	}
	gateIn, gate, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = gate.Close() }()
	status, statusIn, err := os.Pipe()
	if err != nil {
		_ = gateIn.Close()
		return 0, err
	}
	defer func() { _ = status.Close() }()
	cmd.Path = hold[0]
	cmd.Args = append(append(append([]string{}, hold...), path), args...)
	cmd.ExtraFiles = []*os.File{gateFD - 3: gateIn, statusFD - 3: statusIn}
	g, err := Start(cmd)
	cmd.Path, cmd.Args, cmd.ExtraFiles = path, args, nil
	_, _ = gateIn.Close(), statusIn.Close()
	if err != nil {
		return 0, err
	}
	watch.Add(g)
	_, _ = gate.Write([]byte{1}) // it fails where the process has ended: Wait tells
	failed, _ := io.ReadAll(status)
	if errno, err := strconv.Atoi(string(failed)); err == nil {
		_ = cmd.Wait()
		watch.Remove(g)
		return 0, &fs.PathError{Op: "exec", Path: path, Err: syscall.Errno(errno)}
	}
	return g, nil
}

// Hold is the whole of a process that [Watch.Expect] names; args is what
// follows that command line, environ its environment. It becomes the program
// when it may, and returns the exit code of the process otherwise.
func Hold(args, environ []string) int {
	const failed = 127
	if len(args) < 2 {
		return failed
	}
	gate, status := os.NewFile(gateFD, "gate"), os.NewFile(statusFD, "status")
	if gate == nil || status == nil {
		return failed
	}
	syscall.CloseOnExec(gateFD)
	syscall.CloseOnExec(statusFD)
	if n, _ := gate.Read(make([]byte, 1)); n == 0 {
		return failed // who started it is gone
	}
	err := syscall.Exec(args[0], args[1:], environ) //nolint:gosec // what was asked for
	if errno, ok := err.(syscall.Errno); ok {       //nolint:errorlint // of a system call
		_, _ = status.WriteString(strconv.Itoa(int(errno)))
	}
	return failed
}
