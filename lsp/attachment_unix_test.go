//go:build unix

package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// A document that is not open stays inside the folder, also over links, and
// what is no file does not hold up the server.
func TestDocumentOutsideOfTheFolder(t *testing.T) {
	w := newWorld(t, setup{llm: agenttest.NewLLM(t)})
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(w.root, "link.txt")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(w.root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{"link.txt": "escapes", "pipe": "not a regular file"} {
		err := failure(t, w.ask("look", obj{"document": obj{"uri": lsptest.FileURI(filepath.Join(w.root, name))}}), -32602)
		if !strings.Contains(err.Message, says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
