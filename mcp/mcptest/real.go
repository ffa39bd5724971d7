package mcptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// RealServer returns how to start a server that others wrote, "everything" or
// "filesystem" of @modelcontextprotocol. It fails the test where `make setup`
// was not run.
func RealServer(tb testing.TB, name string) (command string, args []string) {
	tb.Helper()
	entry := filepath.Join(moduleRoot(tb), "mcp", "mcptest", "servers", "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	if _, err := os.Stat(entry); err != nil {
		tb.Fatalf("the server %q is not installed, run `make setup`: %v", name, err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		tb.Fatalf("the server %q needs node, see `make setup`: %v", name, err)
	}
	return node, []string{entry}
}

// moduleRoot returns the folder of go.mod above the test's.
func moduleRoot(tb testing.TB) string {
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
