//go:build unix

package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Group is a process group, by the id of its leader; 0 is none.
type Group int

// Start starts cmd as the leader of a group of its own, so that what it
// starts in turn ends with it.
func Start(cmd *exec.Cmd) (Group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
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
