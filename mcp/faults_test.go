package mcp

import (
	"testing"

	"agentls/mcp/mcptest/proofs"
)

// TestFaults holds testdata/faults.txt against the tests that it names.
func TestFaults(t *testing.T) {
	proofs.Open(t).CheckNamed(t, "faults.txt", proofs.Read(t, "testdata/faults.txt", 1))
}
