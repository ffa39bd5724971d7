package mcptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// RealServer returns how to start a server on stdio that others wrote, "everything" or
// "filesystem" of @modelcontextprotocol. It fails the test where `make setup`
// was not run.
func RealServer(tb testing.TB, name string) (command string, args []string) {
	tb.Helper()
	entry := filepath.Join(serversDir(tb), "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
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
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "mcp", "mcptest", "servers")
		}
		up := filepath.Dir(dir)
		if up == dir {
			tb.Fatal("no go.mod above the test")
		}
		dir = up
	}
}
