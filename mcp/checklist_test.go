package mcp

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"agentls/mcp/mcptest/proofs"
)

// notFollowed finds the numbers of a paragraph of ARCHITECTURE.md.
var notFollowed = regexp.MustCompile(`\((\d+)\)`)

// TestChecklist holds testdata/checklist.txt against the tests that it names,
// and what it does not follow against the page that says why.
func TestChecklist(t *testing.T) {
	const file = "testdata/checklist.txt"
	list := proofs.Read(t, file, 1)
	proofs.Open(t).Check(t, file, list)
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Not followed\n")
	section, _, _ = strings.Cut(section, "\n## ")
	told := map[string]bool{}
	for _, m := range notFollowed.FindAllStringSubmatch(section, -1) {
		told[m[1]] = true
	}
	for i, e := range list {
		if e.Name != strconv.Itoa(i+1) {
			t.Errorf("%s: row %d is named %s", file, i+1, e.Name)
		}
		if (e.Reason != "") != told[e.Name] {
			t.Errorf("row %s: not followed here: %v; under \"Not followed\" of ARCHITECTURE.md: %v", e.Name, e.Reason != "", told[e.Name])
		}
	}
	if len(list) != 73 {
		t.Errorf("%s has %d rows", file, len(list))
	}
}
