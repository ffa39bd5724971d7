package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// markName is a variable in a server's environment by which its processes are
// known, wherever they went: into another group, or to another parent.
const markName = "AGENTLS_SERVERS_HOME"

// process is a process as Linux tells of it.
type process struct {
	pid, session int
	name         string
	rss          int64 // bytes
}

// marked returns the living processes of the server with a mark, and those of
// the sessions given, which it was seen with before. Elsewhere than on Linux
// there are none to be seen.
func marked(mark string, sessions map[int]bool) (list []process) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	want := []byte(markName + "=" + mark + "\x00")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		p, alive := stat(dir)
		if !alive {
			continue
		}
		p.pid = pid
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if sessions[p.session] || bytes.Contains(append([]byte{0}, environ...), append([]byte{0}, want...)) {
			list = append(list, p)
		}
	}
	return list
}

// stat reads /proc/PID/stat; false for a process that is gone or waits to be
// waited for.
func stat(dir string) (process, bool) {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return process{}, false
	}
	// pid (name) state ppid pgrp session …; the name may hold anything.
	open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return process{}, false
	}
	fields := strings.Fields(string(text[shut+1:]))
	if len(fields) < 22 || fields[0] == "Z" || fields[0] == "X" {
		return process{}, false
	}
	session, _ := strconv.Atoi(fields[3])
	pages, _ := strconv.ParseInt(fields[21], 10, 64)
	return process{session: session, name: string(text[open+1 : shut]), rss: pages * int64(os.Getpagesize())}, true
}

// kill ends a process at once.
func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// sessionsOf returns the sessions of processes, without our own.
func sessionsOf(list []process) map[int]bool {
	ours, _ := stat("/proc/self")
	out := map[int]bool{}
	for _, p := range list {
		if p.session != ours.session {
			out[p.session] = true
		}
	}
	return out
}

// names tells of processes, sorted.
func names(list []process) string {
	var out []string
	for _, p := range list {
		out = append(out, p.name)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}
