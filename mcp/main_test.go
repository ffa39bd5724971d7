package mcp

import (
	"testing"

	"agentls/mcp/mcptest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	playPart()
	goleak.VerifyTestMain(m)
}
