//go:build unix

package mcp

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// group is a process group, by the id of its leader; 0 is none.
type group int

// startGroup starts cmd as the leader of a group of its own, so that what it
// starts in turn ends with it.
func startGroup(cmd *exec.Cmd) (group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return group(cmd.Process.Pid), nil
}

func (g group) terminate() { g.signal(syscall.SIGTERM) }

func (g group) kill() { g.signal(syscall.SIGKILL) }

func (g group) signal(s syscall.Signal) {
	if g > 1 {
		_ = syscall.Kill(-int(g), s)
	}
}

// id names the group to the reaper.
func (g group) id() int { return int(g) }

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

func killGroup(id int) { group(id).kill() }

// release has nothing to free here.
func (g group) release() {}
