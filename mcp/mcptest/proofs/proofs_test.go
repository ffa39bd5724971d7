package proofs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test that notes what it was failed with.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper()             {}
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Error(args ...any)   { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, a ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, a...))
}
func (r *recorder) Fatal(args ...any)              { panic(fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

// repository is one with a package of two tests, a helper and a script.
func repository(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n",
		"a/b/b_test.go": `package b
import "testing"
// TestGood is as owner/repo#12 wants it.
func TestGood(t *testing.T) {}
func TestBare(t *testing.T) {
	// owner/repo#12
}
func helper() {}
func TestMain(m *testing.M) {}
type x struct{}
func (x) TestMethod(t *testing.T) {}
`,
		"a/script.txtar": "what owner/repo#12 said\n-- in --\nowner/repo#13\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(dir, "a"))
}

func TestCheckNamed(t *testing.T) {
	for line, want := range map[string]string{
		"1 | owner/repo#12 | a/b.TestGood a/script.txtar": "",
		"1 | owner/repo#12 owner/two#3 | a/b.TestGood":    "",
		"1 | owner/repo#12 | not followed: it is theirs":  "",
		"1 | owner/repo#12 | not yet":                     "",
		"# nothing":                                       "",
		"1 | owner/repo#12 |":                             "1 has no proof",
		"1 | owner/repo#12 | a/b.TestGone":                "there is no test a/b.TestGone",
		"1 | owner/repo#12 | b.TestGood":                  "there is no test b.TestGood",
		"1 | owner/repo#12 | TestGood":                    "there is no test TestGood",
		"1 | owner/repo#12 | a/b.helper":                  "there is no test a/b.helper",
		"1 | owner/repo#12 | a/b.TestMain":                "there is no test a/b.TestMain",
		"1 | owner/repo#12 | a/b.TestMethod":              "there is no test a/b.TestMethod",
		"1 | owner/repo#12 | a/gone.txtar":                "there is no test a/gone.txtar",
		"1 | owner/repo#12 | a/b.TestBare":                "no comment above a/b.TestBare names one of [owner/repo#12]",
		"1 | owner/repo#1 | a/b.TestGood":                 "no comment above a/b.TestGood",
		"1 | owner/repo#13 | a/script.txtar":              "no comment above a/script.txtar",
		"1 | repo#1 | not yet":                            `"repo#1" is no owner/repo#n`,
		"1 | a/b.TestGood":                                "has 2 cells, want 3",
		"1 | o/r#1 | not yet\n1 | o/r#1 | not yet":        "has 1 twice",
	} {
		t.Run(line, func(t *testing.T) {
			repository(t)
			if err := os.WriteFile("list.txt", []byte(line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := &recorder{TB: t}
			Open(r).CheckNamed(r, "list.txt", Read(r, "list.txt", 1))
			got := strings.Join(r.errors, "\n")
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// What is not yet and yet proved is out of date.
func TestCheckWhatIsNotYet(t *testing.T) {
	repository(t)
	r := &recorder{TB: t}
	Open(r).Check(r, "list.txt", []*Entry{{Name: "1", NotYet: true, Proofs: []string{"a/b.TestGood"}}})
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "is not yet") {
		t.Errorf("%q", r.errors)
	}
}
