package lsp

import (
	"log/slog"
	"path/filepath"
	"testing"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/workspace"
)

// testOptions are those of a server with nothing configured, in scratch
// folders. Everything in them is real and ends with the test.
func testOptions(t testing.TB) Options {
	t.Helper()
	dir := t.TempDir()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	secrets, state := mcp.NewSecrets(), workspace.NewState()
	manager := mcp.NewManager(mcp.Options{
		Name: "agentls", Version: "test", State: state, TrustFile: filepath.Join(dir, "trust.json"), Secrets: secrets, Log: log,
	})
	t.Cleanup(manager.Close)
	return Options{
		Version: "test", Manager: manager, State: state, StateDir: dir, Secrets: secrets, Log: log,
		Config: config.Source{
			Dir: filepath.Join(dir, "config"), Home: dir, Getenv: func(string) (string, bool) { return "", false }, Secrets: secrets,
		},
		NewLLM: func(config.Provider) (agent.LLM, error) { panic("no model in this test") },
		Alive:  func(int) bool { return true },
	}
}

// connect starts a server and gives the editor that speaks to it.
func connect(t testing.TB) *lsptest.Editor {
	t.Helper()
	return lsptest.New(t, New(testOptions(t)).Serve)
}
