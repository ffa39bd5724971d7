//go:build !windows

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPipesAndDevices(t *testing.T) {
	w := newWorld(t)
	if err := syscall.Mkfifo(filepath.Join(w.folder, ".mcp.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	problems(t, w.load(), "is no regular file")
	if err := os.Remove(filepath.Join(w.folder, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(w.folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.project(".mcp.json", `{"mcpServers": {"a": {"command": "x", "envFile": "pipe"}, "b": {"command": "x", "envFile": "/dev/zero"}}}`)
	c := w.load()
	for _, name := range []string{"a", "b"} {
		if s := server(t, c, name); !strings.Contains(s.Err, "is no regular file") {
			t.Errorf("%s: %q", name, s.Err)
		}
	}
}
