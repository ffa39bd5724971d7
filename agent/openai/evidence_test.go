package openai

import (
	"slices"
	"strings"
	"testing"

	"agentls/mcp/mcptest/proofs"
)

// TestFaultsOfTheLibrary holds the list of what go-openai does wrong against the
// recordings that are played, and against the tests.
func TestFaultsOfTheLibrary(t *testing.T) {
	const file = "testdata/faults.txt"
	list := proofs.Read(t, file, 1)
	proofs.Open(t).Check(t, file, list)
	for _, e := range list {
		for name := range strings.FieldsSeq(e.Cells[0]) {
			if !slices.ContainsFunc(recordings, func(r recording) bool { return r.file == name }) {
				t.Errorf("%s: %s: no recording %s is played", file, e.Name, name)
			}
		}
	}
	if len(list) < 40 {
		t.Errorf("%d rows", len(list))
	}
}

// TestPromisesOfProviders holds what was promised of providers against the tests
// that prove it.
func TestPromisesOfProviders(t *testing.T) {
	const file = "testdata/claims.txt"
	list := proofs.Read(t, file, 0)
	proofs.Open(t).Check(t, file, list)
	if len(list) < 20 {
		t.Errorf("%d rows", len(list))
	}
}
