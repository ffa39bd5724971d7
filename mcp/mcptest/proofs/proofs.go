// Package proofs holds lists of what must hold, and the tests that prove it,
// against each other.
//
// A list is a text file. Each line is one entry: cells parted by " |", of which
// the first is its name and the last its proofs. Empty lines and those that
// begin with '#' are passed over. A proof is
//
//   - a Go test or fuzz target, as folder and name: mcp.TestRestart,
//     agent/config.FuzzLoad, or
//   - a script that a test runs, as its path in the repository:
//     lsp/testdata/wire/ask.txtar
//
// In the place of proofs "not followed: REASON" says that an entry does not hold,
// on purpose, and "not yet" that it does not hold in this version.
package proofs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentls/mcp/mcptest"
)

// Entry is one line of a list.
type Entry struct {
	Name   string
	Cells  []string // between the name and the proofs
	Proofs []string
	NotYet bool
	Reason string // why it is not followed; empty: it is
}

// Read reads a list whose lines have a name, so many cells, and proofs. What is
// wrong with a line fails the test.
func Read(tb testing.TB, file string, cells int) (list []*Entry) {
	tb.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, " |")
		if len(fields) != cells+2 {
			tb.Errorf("%s: %q has %d cells, want %d", file, line, len(fields), cells+2)
			continue
		}
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		e := &Entry{Name: fields[0], Cells: fields[1 : len(fields)-1]}
		e.parse(fields[len(fields)-1])
		if names[e.Name] {
			tb.Errorf("%s has %s twice", file, e.Name)
		}
		names[e.Name] = true
		list = append(list, e)
	}
	return list
}

func (e *Entry) parse(last string) {
	reason, not := strings.CutPrefix(last, "not followed:")
	switch {
	case not:
		e.Reason = strings.TrimSpace(reason)
	case last == "not yet":
		e.NotYet = true
	default:
		e.Proofs = strings.Fields(last)
	}
}

// Repository knows the tests and scripts of this repository.
type Repository struct {
	root     string
	packages map[string]map[string]string // the doc comments of the tests, by folder and name
}

// Open returns the repository that the test runs in.
func Open(tb testing.TB) *Repository {
	tb.Helper()
	return &Repository{root: mcptest.Root(tb), packages: map[string]map[string]string{}}
}

// Comment returns what stands above a proof: a test's doc comment, or what
// comes before a script's first section. false: there is no such proof.
func (r *Repository) Comment(tb testing.TB, proof string) (text string, ok bool) {
	tb.Helper()
	if strings.HasSuffix(proof, ".txtar") {
		raw, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(proof)))
		text, _, _ = strings.Cut("\n"+string(raw), "\n-- ")
		return text, err == nil
	}
	i := strings.LastIndex(proof, ".")
	if i < 0 {
		return "", false
	}
	tests := r.packages[proof[:i]]
	if tests == nil {
		tests = r.parse(tb, proof[:i])
		r.packages[proof[:i]] = tests
	}
	text, ok = tests[proof[i+1:]]
	return text, ok
}

// parse reads the test files of one folder.
func (r *Repository) parse(tb testing.TB, folder string) map[string]string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(r.root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		tb.Fatal(err)
	}
	tests := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			tb.Error(err)
			continue
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && isTest(f) {
				tests[f.Name.Name] = f.Doc.Text()
			}
		}
	}
	return tests
}

// isTest reports whether `go test` runs f: a helper proves nothing.
func isTest(f *ast.FuncDecl) bool {
	named := func(prefix string) bool { return strings.HasPrefix(f.Name.Name, prefix) }
	return f.Recv == nil && (named("Test") || named("Fuzz")) && f.Name.Name != "TestMain"
}

// Check fails the test where a proof is not there, an entry that holds has none,
// or one that is not yet has some.
func (r *Repository) Check(tb testing.TB, file string, list []*Entry) {
	tb.Helper()
	for _, e := range list {
		for _, proof := range e.Proofs {
			if _, ok := r.Comment(tb, proof); !ok {
				tb.Errorf("%s: %s: there is no test %s", file, e.Name, proof)
			}
		}
		switch {
		case e.NotYet && len(e.Proofs) > 0:
			tb.Errorf("%s: %s is not yet, and %v proves it", file, e.Name, e.Proofs)
		case e.NotYet:
			tb.Logf("not in this version: %s %s", e.Name, strings.Join(e.Cells, " "))
		case e.Reason == "" && len(e.Proofs) == 0:
			tb.Errorf("%s: %s has no proof", file, e.Name)
		}
	}
}

// CheckNamed is Check for a list of reports: each proof must name one of the
// reports (owner/repo#n) of its entry's first cell in the comment above it, and
// each report must be one.
func (r *Repository) CheckNamed(tb testing.TB, file string, list []*Entry) {
	tb.Helper()
	r.Check(tb, file, list)
	for _, e := range list {
		reports := strings.Fields(e.Cells[0])
		for _, report := range reports {
			if repo, number, ok := strings.Cut(report, "#"); !ok || strings.Count(repo, "/") != 1 || number == "" {
				tb.Errorf("%s: %s: %q is no owner/repo#n", file, e.Name, report)
			}
		}
		for _, proof := range e.Proofs {
			text, ok := r.Comment(tb, proof)
			if ok && !slices.ContainsFunc(reports, func(report string) bool { return names(text, report) }) {
				tb.Errorf("%s: %s: no comment above %s names one of %v", file, e.Name, proof, reports)
			}
		}
	}
}

// names reports whether text holds a report, and not only the beginning of one
// with a longer number.
func names(text, report string) bool {
	for {
		_, after, ok := strings.Cut(text, report)
		if !ok {
			return false
		}
		if after == "" || after[0] < '0' || after[0] > '9' {
			return true
		}
		text = after
	}
}
