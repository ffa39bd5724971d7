package main

import (
	"context"
	"testing"
	"time"

	"agentls/lsp/lspclient"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// serverStatus is what an editor is told of the server "fake".
func serverStatus(ctx context.Context, t *testing.T, e *lspclient.Client) mcp.Status {
	t.Helper()
	var list []mcp.ServerInfo
	if err := e.Execute(ctx, "agentls.mcp.servers", struct{}{}, &list); err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == "fake" {
			return s.Status
		}
	}
	return ""
}

// Two editors on one folder have a server of each kind each, and either can
// restart and lose its own without a word of the other's
// (ravitemer/mcphub.nvim#49, ravitemer/mcphub.nvim#239).
func TestTwoEditorsHaveTheirOwnServers(t *testing.T) {
	w := newSessionWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	starts := func(n int) int { // the process id of the nth
		t.Helper()
		return mcptest.Log(w.fake).AwaitEvent(t, n, "start")[n-1].PID
	}
	ready := func(e *lspclient.Client) {
		t.Helper()
		for serverStatus(ctx, t, e) != mcp.StatusReady {
			time.Sleep(5 * time.Millisecond)
		}
	}
	first, _ := w.editor(ctx, "hello")
	ones := starts(1)
	second, _ := w.editor(ctx, "hello")
	twos := starts(2)
	ready(first)
	ready(second)

	if err := first.Execute(ctx, "agentls.mcp.restart", map[string]string{"server": "fake"}, nil); err != nil {
		t.Fatal(err)
	}
	again := starts(3)
	ready(first)
	if again == ones || again == twos {
		t.Errorf("started as %d, %d and %d", ones, twos, again)
	}
	kill(t, again)
	starts(4)
	ready(first)
	if err := first.Execute(ctx, "agentls.mcp.disable", map[string]string{"server": "fake"}, nil); err != nil {
		t.Fatal(err)
	}
	if got := serverStatus(ctx, t, first); got != mcp.StatusDisabled {
		t.Errorf("%s", got)
	}
	if err := first.Close(); err != nil {
		t.Errorf("the first ended with %v", err)
	}
	if got := serverStatus(ctx, t, second); got != mcp.StatusReady || !alive(twos) {
		t.Errorf("the second's is %s, alive %v", got, alive(twos))
	}
	if n := len(mcptest.Log(w.fake).Events(t, "start")); n != 4 {
		t.Errorf("%d starts", n)
	}
}
