package workspace

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func problem(line uint32, message string) Diagnostic {
	return Diagnostic{Position: Position{Line: line}, Severity: 1, Message: message}
}

func TestDiagnosticsComeAndGo(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"all": "", "a b.go": "", ".gitignore": "gen/\n", "gen/x.go": ""})
	s := stateOf(dir)
	c := serve(t, s)
	files := []string{"file://.gitignore", "file://a%20b.go", "file://all"}
	c.listed(files...)
	if _, err := c.tryRead("diagnostics://all"); codeOf(err) != codeResourceNotFound {
		t.Errorf("nobody told any: %v", err)
	}
	set := func(rel string, list ...Diagnostic) {
		s.SetDiagnostics(Diagnostics{Path: filepath.Join(dir, rel), URI: "file:///" + rel, List: list})
	}
	s.TellsDiagnostics(true)
	c.told("list_changed")
	c.listed(append([]string{"diagnostics://all"}, files...)...)
	if got := c.text("diagnostics://all") + c.text("diagnostics://a%20b.go"); got != "No diagnostics.\nNo diagnostics.\n" {
		t.Errorf("%q", got)
	}
	if err := c.call("resources/subscribe", map[string]string{"uri": "diagnostics://all"}, nil); err != nil {
		t.Fatal(err)
	}
	set("a b.go", problem(1, "two"), problem(0, "one\n\x1b[31mred"))
	c.told("updated diagnostics://a%20b.go") // it was read
	set("all", problem(0, "of all"))
	c.told("updated diagnostics://all")
	set("gen/x.go", problem(0, "SECRET"))
	set(".env", problem(0, "SECRET"))
	c.listed(append([]string{"diagnostics://%61ll", "diagnostics://.env", "diagnostics://a%20b.go", "diagnostics://all"}, files...)...)
	want := "a b.go:1:1: error: one\n     [31mred\na b.go:2:1: error: two\nall:1:1: error: of all\n"
	if got := c.text("diagnostics://all"); got != want {
		t.Errorf("%q", got)
	}
	if got := c.text("diagnostics://%61ll"); got != "all:1:1: error: of all\n" {
		t.Errorf("%q", got)
	}
	// The same again is no change.
	for c.quiet() {
		continue
	}
	set("all", problem(0, "of all"))
	s.SetDiagnostics(Diagnostics{Path: filepath.Join(dir, "none")})
	if c.quiet() {
		t.Error("told of what did not change")
	}
	// veryfront-code#2226, openhuman#1898.
	for _, uri := range []string{
		"diagnostics://gen/x.go", "diagnostics://../a", "diagnostics://%2e%2e/a", "diagnostics://", "diagnostics://a%00", "diagnostics:///etc/passwd",
		"diagnostics://.git/config",
	} {
		if r, err := c.tryRead(uri); err == nil {
			t.Errorf("%s is read: %+v", uri, r)
		}
	}
	s.SetDocument(Document{URI: "untitled:1", Text: "x"})
	s.SetDocument(Document{URI: "untitled:2", Text: "x", LanguageID: "agentls"})
	for _, uri := range []string{"untitled:1", "untitled:2", "gopher://x"} {
		s.SetDiagnostics(Diagnostics{URI: uri, List: []Diagnostic{problem(0, "in "+uri)}})
	}
	if got := c.text("diagnostics://all"); got != want+"buffer://untitled/1:1:1: error: in untitled:1\n" {
		t.Errorf("%q", got)
	}
	s.ReplaceDiagnostics([]Diagnostics{{Path: filepath.Join(dir, "all"), List: []Diagnostic{problem(0, "of all")}}})
	c.told("updated diagnostics://all")
	c.listed(append([]string{"buffer://untitled/1", "diagnostics://%61ll", "diagnostics://all"}, files...)...)
}

func TestDiagnosticsOfSeveralFolders(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"a/x.go": "", "all/x.go": ""})
	s := stateOf(filepath.Join(top, "a"))
	s.SetFolders([]Folder{{Path: filepath.Join(top, "a")}, {Path: filepath.Join(top, "all")}})
	c := serve(t, s)
	for _, dir := range []string{"a", "all"} {
		s.SetDiagnostics(Diagnostics{Path: filepath.Join(top, dir, "x.go"), List: []Diagnostic{{
			Message: "in " + dir, Severity: 4, Source: "s", Code: "c", Related: []Related{{Path: filepath.Join(top, "a", "x.go"), Message: "see"}, {URI: "u:x", Message: "and"}},
		}}})
	}
	c.listed("diagnostics://a/x.go", "diagnostics://all", "diagnostics://all/x.go", "file://a/x.go", "file://all/x.go")
	if got := c.text("diagnostics://all/x.go"); got != "all/x.go:1:1: hint: in all [s c]\n    a/x.go:1:1: see\n    u:x:1:1: and\n" {
		t.Errorf("%q", got)
	}
}

// A language server gone wild fills no memory.
func TestDiagnosticsAreBounded(t *testing.T) {
	s := NewState()
	var many []Diagnostic
	for i := range 3 * maxPerDocument {
		many = append(many, problem(uint32(i), strings.Repeat("ä", maxMessage)))
	}
	for i := range 3 * maxDiagnosed {
		s.SetDiagnostics(Diagnostics{URI: fmt.Sprint("x:", i), List: many[:1+i%3]})
	}
	if len(s.diagnosed) != maxDiagnosed || s.diagnostics > 3*maxDiagnosed {
		t.Errorf("%d documents, %d diagnostics", len(s.diagnosed), s.diagnostics)
	}
	for i := range 50 {
		s.SetDiagnostics(Diagnostics{URI: fmt.Sprint("x:", i), List: many})
	}
	total := 0
	for _, d := range s.diagnosed {
		total += len(d.List)
		if len(d.List) > maxPerDocument || len(d.List[0].Message) > maxMessage+len("…") {
			t.Fatalf("%d diagnostics, the first of %d bytes", len(d.List), len(d.List[0].Message))
		}
	}
	if total != s.diagnostics || total > maxDiagnostics {
		t.Errorf("%d diagnostics, %d are counted", total, s.diagnostics)
	}
	s.ReplaceDiagnostics(nil)
	if len(s.diagnosed) != 0 || s.diagnostics != 0 {
		t.Errorf("%d documents, %d diagnostics", len(s.diagnosed), s.diagnostics)
	}
	for want, d := range map[string]Diagnostic{
		"1:1: error: a\n    b": {Severity: -5, Message: "a\r\nb"}, "1:1: error: ": {Severity: 99},
		"4:1: hint: x [s]": {Severity: 4, Message: " x\n", Source: "s", Position: Position{Line: 3}},
	} {
		if got := s.DiagnosticText(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
