package child

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Group is a job object that ends all its processes when its last handle is
// closed, which happens also when this process is killed: no reaper is needed.
type Group struct{ job windows.Handle }

// Start puts cmd into a job of its own, so that what it starts in turn
// ends with it.
func Start(cmd *exec.Cmd) (Group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return Group{}, err
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	if _, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err == nil {
		attr := &windows.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
		if cmd.SysProcAttr != nil {
			attr.CmdLine = cmd.SysProcAttr.CmdLine // see Shell
		}
		cmd.SysProcAttr = attr
		err = cmd.Start()
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return Group{}, err
	}
	handle, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, handle)
		_ = windows.CloseHandle(handle)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return Group{}, err
	}
	return Group{job: job}, nil
}

// Terminate has no gentle form on Windows.
func (g Group) Terminate() { g.Kill() }

// Kill ends all of the group.
func (g Group) Kill() { _ = windows.TerminateJobObject(g.job, 1) }

// Alive reports whether anything of the group runs.
func (g Group) Alive() bool {
	var info struct { // JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		userTime, kernelTime, periodUserTime, periodKernelTime int64

		pageFaults, processes, active, terminated uint32
	}
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.active > 0
}

// ID is 0: the job ends with our handle, another process has nothing to do.
func (g Group) ID() int { return 0 }

// searchPath finds command in path with one of the extensions of PATHEXT.
func searchPath(command, path string, env []string) string {
	exts := ".COM;.EXE;.BAT;.CMD"
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); strings.EqualFold(name, "PATHEXT") && value != "" {
			exts = value
		}
	}
	suffixes := strings.Split(exts, ";")
	if filepath.Ext(command) != "" {
		suffixes = append([]string{""}, suffixes...)
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) { // "." would be the project's folder
			continue
		}
		for _, ext := range suffixes {
			file := filepath.Join(dir, command+ext)
			if st, err := os.Stat(file); err == nil && !st.IsDir() {
				return file
			}
		}
	}
	return ""
}

// KillGroup does nothing here.
func KillGroup(int) {}

// Release closes the job, which ends what is left in it.
func (g Group) Release() { _ = windows.CloseHandle(g.job) }

// Shell returns the command that runs a line of the shell's language:
// cmd.exe's, which reads its command line in a way of its own. env is the
// child's, in whose PATH the shell is looked for. ctx kills it, unless [Follow]
// is to end it: that has its own.
func Shell(ctx context.Context, line string, env []string) (*exec.Cmd, error) {
	path, err := Look("cmd.exe", env)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = env
	cmd.SysProcAttr = &windows.SysProcAttr{CmdLine: `cmd /d /s /c "` + line + `"`}
	return cmd, nil
}
