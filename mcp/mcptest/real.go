package mcptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// entries are the scripts of the servers that [RealServer] starts.
var entries = map[string]string{
	"everything":  "@modelcontextprotocol/server-everything/dist/index.js",
	"filesystem":  "@modelcontextprotocol/server-filesystem/dist/index.js",
	"hello-world": "mcp-hello-world/build/stdio.js",
	"code-runner": "mcp-server-code-runner/dist/cli.js",
}

// programs are those that [RealServer] starts by themselves.
var programs = map[string]string{"gosdk-everything": "everything", "mcpgo-everything": "mcpgo-everything", "sequentialthinking": "sequentialthinking"}

// RealServer returns how to start one of entries or programs on stdio, which others wrote.
// It fails the test where `make setup` was not run.
func RealServer(tb testing.TB, name string) (command string, args []string) {
	tb.Helper()
	if program, ok := programs[name]; ok {
		path := filepath.Join(serversDir(tb), "bin", program)
		if _, err := os.Stat(path); err != nil {
			tb.Fatalf("the server %q is not built, run `make setup`: %v", name, err)
		}
		return path, nil
	}
	script, known := entries[name]
	if !known {
		tb.Fatalf("there is no server %q", name)
	}
	entry := filepath.Join(serversDir(tb), "node_modules", filepath.FromSlash(script))
	if _, err := os.Stat(entry); err != nil {
		tb.Fatalf("the server %q is not installed, run `make setup`: %v", name, err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		tb.Fatalf("the server %q needs node, see `make setup`: %v", name, err)
	}
	return node, []string{entry}
}

// serversDir returns the folder in which `make setup` installs servers.
func serversDir(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(Root(tb), "mcp", "mcptest", "servers")
}

// Root returns the folder of the module that the test runs in.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			tb.Fatal("no go.mod above the test")
		}
		dir = up
	}
}
