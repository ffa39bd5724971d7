//go:build unix

package child

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Group is a process group, by the id of its leader; 0 is none. A process that
// makes a group or a session of its own has left it.
type Group int

// Start starts cmd as the leader of a session and a group of its own: what it
// starts in turn ends with it, and no terminal is there to be asked on.
func Start(cmd *exec.Cmd) (Group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return Group(cmd.Process.Pid), nil
}

// Terminate asks all of the group to end.
func (g Group) Terminate() { g.signal(syscall.SIGTERM) }

// Kill ends all of the group.
func (g Group) Kill() { g.signal(syscall.SIGKILL) }

func (g Group) signal(s syscall.Signal) {
	if g > 1 {
		_ = syscall.Kill(-int(g), s)
	}
}

// Alive reports whether anything of the group runs.
func (g Group) Alive() bool { return g > 1 && syscall.Kill(-int(g), 0) == nil }

// ID names the group to another process; see [KillGroup].
func (g Group) ID() int { return int(g) }

// searchPath finds an executable file named command in path.
func searchPath(command, path string, _ []string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) { // "." would be the project's folder
			continue
		}
		file := filepath.Join(dir, command)
		if st, err := os.Stat(file); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// KillGroup ends the group with an ID; 0 is none.
func KillGroup(id int) { Group(id).Kill() }

// Release has nothing to free here.
func (g Group) Release() {}

// Shell returns the command that runs a line of the shell's language: sh's.
// env is the child's, in whose PATH the shell is looked for. ctx kills it, unless
// [Follow] is to end it: that has its own.
func Shell(ctx context.Context, line string, env []string) (*exec.Cmd, error) {
	path, err := Look("sh", env)
	if err != nil {
		if path = "/bin/sh"; searchPath("sh", "/bin", nil) == "" {
			return nil, err
		}
	}
	// Without the dashes a line that begins with one would be an option.
	cmd := exec.CommandContext(ctx, path, "-c", "--", line)
	cmd.Env = env
	return cmd, nil
}
