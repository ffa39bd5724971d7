package lsp

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agentls/mcp/mcptest/proofs"
)

// TestRules holds rules.txt, the contract and the proofs against each other. A
// line has a name, a section and words of it; wire scripts name the rules that
// they prove.
func TestRules(t *testing.T) {
	list := proofs.Read(t, "testdata/rules.txt", 2)
	rules := map[string]*proofs.Entry{}
	for _, r := range list {
		rules[r.Name] = r
	}
	for name, script := range wireScripts(t) {
		_, line, ok := strings.Cut("\n"+string(script.Comment), "\nrule: ")
		line, _, _ = strings.Cut(line, "\n")
		if !ok || line == "" {
			t.Errorf("%s.txtar names no rule that it proves", name)
		}
		for of := range strings.FieldsSeq(line) {
			if r := rules[of]; r != nil {
				r.Proofs = append(r.Proofs, "lsp/testdata/wire/"+name+".txtar")
			} else {
				t.Errorf("%s.txtar: rules.txt has no rule %q", name, of)
			}
		}
	}
	proofs.Open(t).Check(t, "rules.txt", list)
	checkWords(t, list)
}

// checkWords looks that each rule is one of the contract, and each paragraph of
// its sections has one.
func checkWords(t *testing.T, rules []*proofs.Entry) {
	raw, err := os.ReadFile(filepath.Join("..", "CONTRACT.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][]string{} // paragraphs, rows of tables, lines of lists
	section, fenced := "", false
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if m := regexp.MustCompile(`^## (\d+)\. `).FindStringSubmatch(line); m != nil {
			section = "§" + m[1]
			continue
		}
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if !fenced && !strings.HasPrefix(line, "```") && strings.Trim(line, "|- ") != "" {
			sections[section] = append(sections[section], line)
		}
	}
	covered := map[string]bool{}
	for _, r := range rules {
		section, words := r.Cells[0], r.Cells[1]
		if !strings.HasPrefix(section, "§") {
			continue
		}
		found := false
		for _, line := range sections[section] {
			if words != "" && strings.Contains(line, words) {
				found, covered[section+line] = true, true
			}
		}
		if !found {
			t.Errorf("rules.txt: %s: CONTRACT.md %s does not say %q", r.Name, section, words)
		}
	}
	for _, s := range []string{"§3", "§4", "§5", "§6", "§7", "§9"} {
		for _, line := range sections[s] {
			if !covered[s+line] && !strings.HasPrefix(line, "| command |") && !strings.HasPrefix(line, "| from the server |") {
				t.Errorf("CONTRACT.md %s: rules.txt has no rule of %.160q", s, line)
			}
		}
	}
}
