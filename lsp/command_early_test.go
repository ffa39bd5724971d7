package lsp

import (
	"encoding/json"
	"strings"
	"testing"

	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// givenSettings answers workspace/configuration with section, once release is closed.
func givenSettings(release <-chan struct{}, section func() any) map[string]lsptest.Answer {
	return map[string]lsptest.Answer{"workspace/configuration": func(json.RawMessage) (any, error) {
		<-release
		return []any{section()}, nil
	}}
}

// A command that names a server right after initialized waits until it is known
// which there are; meanwhile others are served. One that there is not is
// refused then, and a cancel ends the wait.
func TestCommandBeforeTheConfigurationIsKnown(t *testing.T) {
	release := make(chan struct{})
	entries := serverEntries(t, map[string]mcptest.Options{"late": {}})
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), answers: givenSettings(release, func() any { return obj{"provider": "offline", "mcpServers": entries} })})
	w.AwaitRequest("workspace/configuration", 1)
	named := w.StartCommand("agentls.mcp.logs", "late", nil)
	login := w.StartCommand("agentls.mcp.login", "late", nil)
	unknown := w.StartCommand("agentls.mcp.restart", "nosuch", nil)
	cancelled := w.StartCommand("agentls.mcp.tools", "late", nil)
	cancelled.Cancel()
	failure(t, cancelled, -32800)
	if info := w.serverInfo("late"); info.Name != "" {
		t.Fatalf("known too early: %+v", info)
	}
	close(release)
	if r := result[logsResult](t, named); r.Name != "late" {
		t.Errorf("%+v", r)
	}
	if r := result[loginResult](t, login); !strings.Contains(r.Note, "is a program and wants no login") {
		t.Errorf("%+v", r)
	}
	if err := failure(t, unknown, -32602); !strings.Contains(err.Message, "there are workspace, late") && !strings.Contains(err.Message, "there are late, workspace") {
		t.Errorf("%s", err.Message)
	}
	w.awaitStatus("late", mcp.StatusReady)
}

// The very first request finds the server of a file: what the editor adds is
// not waited for.
func TestCommandThatNamesAServerAtOnce(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	entries := serverEntries(t, map[string]mcptest.Options{"filed": {}})
	raw, err := json.Marshal(obj{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, setup{
		llm: agenttest.NewLLM(t), files: map[string]string{".mcp.json": string(raw)},
		answers: givenSettings(release, func() any { return nil }),
	})
	if r := result[logsResult](t, w.StartCommand("agentls.mcp.logs", "filed", nil)); r.Name != "filed" {
		t.Errorf("%+v", r)
	}
}
