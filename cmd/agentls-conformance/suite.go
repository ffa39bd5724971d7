package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// required are the sets that have to pass: the revisions of the protocol whose
// requirements the suite froze.
func required() []string { return []string{"2025-11-25", "2026-07-28"} }

const (
	// leastNode is the first major version of node that can run the suite.
	leastNode = 22
	// setTime bounds one set, of which each scenario has 30 s.
	setTime = 10 * time.Minute
)

// suite is an installed conformance suite.
type suite struct {
	node   string // the program
	script string
	self   string // this program, absolute
	out    io.Writer
}

// runSuite runs the required sets against this program and prints what came of
// them; an error says that one did not pass.
func runSuite(ctx context.Context, dir string, unscored bool, out io.Writer) error {
	s, err := findSuite(ctx, dir)
	if err != nil {
		return err
	}
	s.out = out
	failed := 0
	for _, revision := range required() {
		passed, err := s.set(ctx, revision, unscored)
		if err != nil {
			return fmt.Errorf("%s: %w", revision, err)
		}
		if !passed {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d sets did not pass", failed, len(required()))
	}
	return nil
}

// findSuite looks for what `make conformance` installs into dir.
func findSuite(ctx context.Context, dir string) (*suite, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &suite{script: filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")}
	if _, err := os.Stat(s.script); err != nil {
		return nil, fmt.Errorf("the suite is not installed, run make conformance: %w", err)
	}
	if s.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if s.node, err = exec.LookPath("node"); err != nil {
		return nil, fmt.Errorf("the suite needs node %d or newer on PATH: %w", leastNode, err)
	}
	version, err := exec.CommandContext(ctx, s.node, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", s.node, err)
	}
	if major(string(version)) < leastNode {
		return nil, fmt.Errorf("the suite needs node %d or newer; %s is %s: run make conformance, which gets a newer one", leastNode, s.node, bytes.TrimSpace(version))
	}
	return s, nil
}

// major returns the 22 of v22.23.5; 0: it is no version.
func major(version string) int {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(version), "v"), ".")
	n, _ := strconv.Atoi(first)
	return n
}

// set runs the scenarios that a revision requires, and those that the suite
// runs beside them without counting them.
func (s *suite) set(ctx context.Context, revision string, unscored bool) (passed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, setTime)
	defer cancel()
	listed, err := s.run(ctx, "list", "--client", "--requirements", revision)
	if err != nil {
		return false, fmt.Errorf("%w\n%s", err, listed)
	}
	want := scenarios(string(listed))
	if len(want) == 0 {
		return false, fmt.Errorf("the suite lists no scenarios:\n%s", listed)
	}
	results, err := os.MkdirTemp("", "agentls-conformance-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(results) }()
	text, runErr := s.run(ctx, "client", "--command", "./"+filepath.Base(s.self), "--requirements", revision, "--output-dir", results)
	if _, failed := errors.AsType[*exec.ExitError](runErr); runErr != nil && !failed {
		return false, runErr
	}
	got, checks := outcomes(string(text))
	bad := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return got[name] })
	_, _ = fmt.Fprintf(s.out, "%s: %d of %d required client scenarios pass, %d checks\n", revision, len(want)-len(bad), len(want), checks)
	told := slices.Clone(bad)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !got[name] && !slices.Contains(want, name) {
			_, _ = fmt.Fprintf(s.out, "  not counted, and fails: %s\n", name)
			if unscored {
				told = append(told, name)
			}
		}
	}
	for _, name := range told {
		s.tell(results, name)
	}
	if len(bad) == 0 && runErr != nil { // the suite knows something that we do not
		return false, fmt.Errorf("the suite says %w:\n%s", runErr, text)
	}
	return len(bad) == 0, nil
}

// run runs the suite where this program is: it cuts the client's command at
// spaces, so that a path of its own could not be given.
func (s *suite) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.node, append([]string{s.script}, args...)...)
	cmd.Dir = filepath.Dir(s.self)
	return cmd.CombinedOutput()
}

// scenarios returns the names under "Client scenarios" in what the suite lists
// as required; what is not scored comes after it, under another heading.
func scenarios(listed string) (names []string) {
	of := false
	for line := range strings.Lines(listed) {
		name, item := strings.CutPrefix(strings.TrimSpace(line), "- ")
		switch {
		case item && of:
			names = append(names, name)
		case strings.TrimSpace(line) != "":
			of = strings.HasPrefix(line, "Client scenarios")
		}
	}
	return names
}

// outcome is a line of the suite's summary.
var outcome = regexp.MustCompile(`(?m)^([✓✗]) (\S+): (\d+) passed, (\d+) failed`)

// outcomes returns which scenarios ran, and whether each passed, and how many
// checks did.
func outcomes(text string) (passed map[string]bool, checks int) {
	passed = map[string]bool{}
	for _, m := range outcome.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[3])
		passed[m[2]], checks = m[1] == "✓", checks+n
	}
	return passed, checks
}

// check is one entry of a scenario's checks.json.
type check struct {
	ID           string          `json:"id"`
	Status       string          `json:"status"`
	Description  string          `json:"description"`
	ErrorMessage string          `json:"errorMessage"`
	Details      json.RawMessage `json:"details"`
}

// tell prints the checks of a scenario that failed.
func (s *suite) tell(results, name string) {
	_, _ = fmt.Fprintf(s.out, "  %s\n", name)
	told := 0
	_ = filepath.WalkDir(results, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(results, path)
		if err != nil || d.Name() != "checks.json" || !strings.HasPrefix(filepath.ToSlash(rel), name+"-2") {
			return nil //nolint:nilerr // the rest may be readable
		}
		data, err := os.ReadFile(path)
		var checks []check
		if err != nil || json.Unmarshal(data, &checks) != nil {
			return nil //nolint:nilerr // told below
		}
		for _, c := range checks {
			if c.Status != "FAILURE" && c.Status != "WARNING" {
				continue
			}
			told++
			var details bytes.Buffer
			_ = json.Compact(&details, c.Details)
			_, _ = fmt.Fprintln(s.out, "    "+strings.TrimSpace(fmt.Sprintf("%s %s: %s %s %s", c.Status, c.ID, c.Description, c.ErrorMessage, &details)))
		}
		return nil
	})
	if told == 0 {
		_, _ = fmt.Fprintln(s.out, "    no check failed, so the client did: run it alone, as `node dist/index.js client --scenario "+name+"` does")
	}
}
