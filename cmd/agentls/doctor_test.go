package main

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"agentls/mcp"
)

// said is the last finding of a doctor.
func said(d *doctor) finding { return d.findings[len(d.findings)-1] }

func newDoctor() *doctor {
	return &doctor{parts: &parts{secrets: mcp.NewSecrets()}, quiet: true}
}

func TestDoctorComparesTheClock(t *testing.T) {
	d := newDoctor()
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ended := began.Add(3 * time.Second)
	for _, c := range []struct {
		there  time.Time
		status status
		words  string
	}{
		{began, good, "as that of x"},
		{began.Add(-clockOff), good, "as that of x"},
		{began.Add(-clockOff - time.Second), poor, "it is 2m1s ahead of that of x: set it"},
		{ended.Add(clockOff), good, "as that of x"},
		{ended.Add(time.Hour), poor, "it is 1h0m0s behind that of x: set it"},
	} {
		d.compare(began, ended, c.there.Format(http.TimeFormat), "x")
		if f := said(d); f.Status != c.status || !strings.Contains(f.Text, c.words) || f.About != "clock" {
			t.Errorf("%v: %+v", c.there, f)
		}
	}
	n := len(d.findings)
	for _, none := range []string{"", "yesterday"} {
		d.compare(began, ended, none, "x")
	}
	if len(d.findings) != n {
		t.Errorf("%+v", said(d))
	}
}

// Editors start the program by its name: one that is not found so, or another
// one that is, is told.
func TestDoctorLooksForItselfInThePath(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "agentls")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	t.Setenv("PATH", dir)
	d := newDoctor()
	d.program()
	if f := said(d); f.Status != poor || !strings.Contains(f.Text, "not in the PATH") || !strings.Contains(f.Text, filepath.Dir(self)) {
		t.Errorf("%+v", f)
	}
	if err := os.WriteFile(name, []byte("another"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.program()
	if f := said(d); f.Status != poor || !strings.Contains(f.Text, "the one in the PATH is "+name) {
		t.Errorf("%+v", f)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	n := len(d.findings)
	if d.program(); len(d.findings) != n {
		t.Errorf("%+v", said(d))
	}
}

// What doctor says is redacted and on one line, also as JSON.
func TestDoctorTellsNoSecret(t *testing.T) {
	var out strings.Builder
	d := &doctor{parts: &parts{secrets: mcp.NewSecrets()}, out: &out}
	d.parts.secrets.Add("sk-doctor-secret")
	d.say(tooBad, "MCP server", "a\x1b[2Jb", "no\n\u202eway: sk-doctor-secret; set it")
	if got := out.String(); strings.Count(got, "\n") != 1 || strings.ContainsAny(got, "\x1b\u202e") || strings.Contains(got, "secret") || !strings.HasPrefix(got, "fix   MCP server a") {
		t.Errorf("%q", got)
	}
	if f := said(d); strings.Contains(f.Text+f.Name, "secret") || !d.bad() {
		t.Errorf("%+v", f)
	}
}
