package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	echoMain()
	os.Exit(m.Run())
}

// TestEachSectionMeasures: the command works with the binary as it is now. How
// fast that is, is not tested.
func TestEachSectionMeasures(t *testing.T) {
	b := &bench{less: 50, dir: t.TempDir(), binary: filepath.Join(t.TempDir(), "agentls")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", b.binary, "../agentls").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var err error
	if b.self, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	r := report{facts: newFacts(t.Context(), b.binary)}
	for _, s := range sections() {
		rows, err := s.measure(t.Context(), b)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		r.rows = append(r.rows, rows...)
	}
	for _, row := range r.rows {
		if row.what == "" || row.goal == "" || row.figure == "" || strings.Contains(row.figure, "NaN") {
			t.Errorf("row %+v", row)
		}
	}
	// Those of two figures stand on two lines.
	page, shown := string(r.markdown()), bytes.Buffer{}
	r.print(&shown)
	if n := strings.Count(page, "\n| ") - 2; n != 25 || len(r.rows) != n {
		t.Errorf("%d rows\n%s", n, page)
	}
	if !strings.Contains(page, "agentls 0.") || !strings.Contains(shown.String(), "met") {
		t.Errorf("%s\n%s", page, shown.String())
	}
}

func TestQuantiles(t *testing.T) {
	var hundred took
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	if hundred.p50() != 51 || hundred.p99() != 100 || (took{}).p99() != 0 || (took{7}).p99() != 7 {
		t.Errorf("p50 %d, p99 %d", hundred.p50(), hundred.p99())
	}
}

// TestArguments: what cannot be measured is an error, and nothing is written.
func TestArguments(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	for _, args := range [][]string{
		{"-agentls", "no-such-binary", "-write", page},
		{"-agentls", os.Args[0], "-write", page, "-less", "9"},
		{"-agentls", "/bin/false", "-only", "initialize"},
	} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("a page was written")
	}
}
