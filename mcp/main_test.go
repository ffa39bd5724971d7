package mcp

import (
	"testing"

	"agentls/mcp/mcptest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	playPart() // first: what is held has the environment of what it becomes
	mcptest.Main()
	goleak.VerifyTestMain(m)
}
