package lsp

import (
	"testing"

	"agentls/lsp/lsptest"
)

func TestLifecycle(t *testing.T) {
	e := connect(t)
	t.Logf("%s", e.Initialize(lsptest.Init{Root: t.TempDir()}))
	p := e.StartCommand("test.run", nil, nil)
	p.Cancel()
	_, err := p.Wait()
	t.Log(err)
	_, err = e.Command("test.panic", nil)
	t.Log(err)
	if code := e.Shutdown(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
