package lsp

import (
	"testing"

	"go.uber.org/goleak"

	"agentls/mcp/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	goleak.VerifyTestMain(m)
}
