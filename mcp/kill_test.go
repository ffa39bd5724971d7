package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentls/mcp/child"
	"agentls/mcp/mcptest"
	"agentls/mcp/workspace"
)

// Parts that the test binary plays when it is started with one as its
// argument: a process with servers, and its reaper.
const (
	partHost = "play-host"
	partReap = "play-reaper"
	partHold = "play-hold"
	partDiff = "play-diff" // a process that reads the diff of a folder
)

func playPart() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case partReap:
		Reap(os.Stdin)
		os.Exit(0)
	case partHold:
		os.Exit(child.Hold(os.Args[2:], os.Environ()))
	case partHost:
		var c ServerConfig
		if err := json.Unmarshal([]byte(os.Args[2]), &c); err != nil {
			os.Exit(1)
		}
		m := NewManager(Options{Environ: os.Environ(), Reaper: []string{os.Args[0], partReap}, Hold: []string{os.Args[0], partHold}})
		m.Configure([]ServerConfig{c})
		select {} // until it is killed
	case partDiff:
		state := workspace.NewState()
		state.SetFolders([]workspace.Folder{{Path: os.Args[2], Trusted: true}})
		m := NewManager(Options{State: state, Environ: os.Environ(), Reaper: []string{os.Args[0], partReap}, Hold: []string{os.Args[0], partHold}})
		go func() { // says when a kill may come; ends with the process
			for told := false; !told; time.Sleep(time.Millisecond) {
				m.reaper.mu.Lock()
				told = len(m.reaper.groups) > 0
				m.reaper.mu.Unlock()
			}
			_ = os.WriteFile(filepath.Join(os.Args[2], "told"), nil, 0o600)
		}()
		_, err := m.Read(context.Background(), workspaceName, "git://diff/unstaged")
		fmt.Fprintln(os.Stderr, err) // it should hang
		os.Exit(1)
	}
}

func TestKilledProcessLeavesNoChild(t *testing.T) {
	log := mcptest.NewLog(t)
	config, err := json.Marshal(fakeConfig(t, "fake", mcptest.Options{IgnoreEOF: true, Child: true, Log: string(log)}))
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(os.Args[0], partHost, string(config))
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	log.AwaitEvent(t, 1, "grandchild")
	log.AwaitMethod(t, 1, "initialize")
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	gone(t, log)
}

// A git that hangs, as over a named pipe in a hostile .git, is a child too.
func TestKilledProcessLeavesNoGit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for git is a shell script; its job object ends git there")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "pid")
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho $$ >"+file+"\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	host := exec.Command(os.Args[0], partDiff, dir)
	host.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	eventually(t, "git runs", func() bool {
		text, _ := os.ReadFile(file) // not there yet
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		_, err := os.Stat(filepath.Join(dir, "told"))
		return pid > 0 && err == nil
	})
	t.Cleanup(func() { child.KillGroup(pid) })
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	eventually(t, "git is gone", func() bool { return !alive(pid) })
}

// Whoever else starts children registers them: those that are left when the
// manager closes are the reaper's to end, and their environment holds no key
// (hosts #28, anomalyco/opencode#31778).
func TestChildrenOfOthers(t *testing.T) {
	m := NewManager(Options{Environ: os.Environ(), Reaper: []string{os.Args[0], partReap}, Hold: []string{os.Args[0], partHold}})
	command, args, env := mcptest.Command(t, mcptest.Options{IgnoreEOF: true})
	cmd := exec.Command(command, args...)
	cmd.Env = os.Environ()
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	g, err := child.StartWatched(cmd, m.Reaper())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Kill()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	m.Close()
	if runtime.GOOS == "windows" {
		g.Kill() // the job ends it, when this process ends
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("it lives")
	}
	base := BaseEnviron([]string{"PATH=/bin", "HOME=/h", "OPENAI_API_KEY=k", "MY_TOKEN=t", "LC_ALL=C", "SSH_AUTH_SOCK=s", "https_proxy=p", "AGENTLS_X=1"})
	if got := strings.Join(base, " "); got != "HOME=/h LC_ALL=C PATH=/bin SSH_AUTH_SOCK=s https_proxy=p" {
		t.Errorf("%s", got)
	}
}
