// Auditcheck holds the audits of state directories against the logs beside
// them: no call without its decision and its line. It is for tests that are not
// in Go.
//
//	go run ./agent/agenttest/auditcheck STATE…
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"agentls/agent/agenttest"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run checks each directory, and that there was a call at all: else it would
// hold of the wrong directories too.
func run(states []string, out io.Writer) error {
	calls := 0
	for _, state := range states {
		told := agenttest.Evidence{SomeRuns: true}
		if err := told.LogFile(filepath.Join(state, "log", "agentls.log")); err != nil {
			return err
		}
		if err := agenttest.CheckAudit(state, &told); err != nil {
			return fmt.Errorf("%s: %w", state, err)
		}
		calls += told.Decisions()
	}
	if calls == 0 {
		return fmt.Errorf("no tool call in the logs of %d directories", len(states))
	}
	_, err := fmt.Fprintf(out, "ok audit: %d decisions in %d directories, each with its line\n", calls, len(states))
	return err
}
