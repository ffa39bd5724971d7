package lsp

import (
	"go/ast"
	"go/parser"
	source "go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rule is a line of testdata/rules.txt.
type rule struct {
	name, section, words string
	tests                []string // package.Name
	notYet               bool
	scripts              []string // that name it
}

func readRules(t *testing.T) map[string]*rule {
	raw, err := os.ReadFile("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]*rule{}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, " |")
		if len(cells) != 4 {
			t.Errorf("rules.txt: %q is no name | section | words | tests", line)
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		r := &rule{name: cells[0], section: cells[1], words: cells[2], notYet: cells[3] == "not yet"}
		if !r.notYet {
			r.tests = strings.Fields(cells[3])
		}
		if rules[r.name] != nil {
			t.Errorf("rules.txt has %s twice", r.name)
		}
		rules[r.name] = r
	}
	return rules
}

// TestRules holds rules.txt, the contract and the proofs against each other.
func TestRules(t *testing.T) {
	rules := readRules(t)
	for name, script := range wireScripts(t) {
		_, line, ok := strings.Cut("\n"+string(script.Comment), "\nrule: ")
		line, _, _ = strings.Cut(line, "\n")
		if !ok || line == "" {
			t.Errorf("%s.txtar names no rule that it proves", name)
		}
		for of := range strings.FieldsSeq(line) {
			if r := rules[of]; r != nil {
				r.scripts = append(r.scripts, name)
			} else {
				t.Errorf("%s.txtar: rules.txt has no rule %q", name, of)
			}
		}
	}
	known := map[string]map[string]bool{} // tests, by package
	for _, r := range rules {
		for _, test := range r.tests {
			dir, name, ok := cutLast(test, ".")
			if known[dir] == nil {
				known[dir] = testsOf(t, dir)
			}
			if !ok || !known[dir][name] {
				t.Errorf("rules.txt: %s: there is no test %s", r.name, test)
			}
		}
		proofs := len(r.tests) + len(r.scripts)
		switch {
		case r.notYet && proofs == 0:
			t.Logf("not in this version: %s %s", r.section, r.name)
		case r.notYet:
			t.Errorf("rules.txt: %s is not yet, and %v proves it", r.name, r.scripts)
		case !r.notYet && proofs == 0:
			t.Errorf("rules.txt: %s has no proof: write a wire script that names it", r.name)
		}
	}
	checkWords(t, rules)
}

// checkWords looks that each rule is one of the contract, and each paragraph of
// its sections has one.
func checkWords(t *testing.T, rules map[string]*rule) {
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
		if !strings.HasPrefix(r.section, "§") {
			continue
		}
		found := false
		for _, line := range sections[r.section] {
			if strings.Contains(line, r.words) && r.words != "" {
				found, covered[r.section+line] = true, true
			}
		}
		if !found {
			t.Errorf("rules.txt: %s: CONTRACT.md %s does not say %q", r.name, r.section, r.words)
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

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// testsOf are the tests and fuzz targets of a package.
func testsOf(t *testing.T, dir string) map[string]bool {
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	set := source.NewFileSet()
	for _, file := range files {
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
