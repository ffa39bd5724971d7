package workspace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// write makes files below dir: a name ending in "/" is a directory.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// stateOf returns a state with one folder.
func stateOf(dir string) *State {
	s := NewState()
	s.SetFolders([]Folder{{Path: dir, Name: filepath.Base(dir)}})
	return s
}

func TestIgnored(t *testing.T) {
	check := func(name string, rules map[string]string, ignored, kept string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{".git/": ""})
			write(t, dir, rules)
			s := stateOf(dir)
			for want, list := range map[bool]string{true: ignored, false: kept} {
				for rel := range strings.FieldsSeq(list) {
					rel, isDir := strings.CutSuffix(rel, "/")
					if got := s.Ignored(filepath.Join(dir, filepath.FromSlash(rel)), isDir); got != want {
						t.Errorf("%s (dir %v): ignored %v, want %v", rel, isDir, got, want)
					}
				}
			}
		})
	}
	root := func(rules string) map[string]string { return map[string]string{".gitignore": rules} }

	check("names at any depth", root("*.log\nbuild/\n"), "a.log x/y/a.log build/ build/x x/build/ x/build/y/z", "a.txt build x/build")
	check("anchored", root("/out\nx/*.o\n"), "out out/a x/a.o", "y/out y/x/a.o x/y/a.o")
	check("a later rule wins", root("*.log\n!keep.log\n"), "a.log", "keep.log x/keep.log")
	check("an ignored directory hides what a rule re-includes", root("d/\n!d/keep\n"), "d/ d/keep", "")
	check("contents only", root("d/**\n!d/keep\n"), "d/x d/y/keep", "d/ d/keep")
	check("only some kinds", root("*\n!*/\n!*.go\n"), "a.txt x/b.txt", "x/ a.go x/y/b.go")
	check("a re-included directory re-includes no file", root("*.log\n!keep/\n"), "keep/a.log", "keep/ keep/a.txt")
	check("double star", root("a/**/b\n**/c/d\n"), "a/b a/x/y/b c/d x/c/d", "b x/d a/bb")
	check("classes and escapes", root("[ab].c\n\\#x\n\\!y\nf?o\nz\\*\n"), "a.c b.c #x !y foo z*", "c.c x y fo zz")
	check("spaces", root("a \nb\\ \n\tc\n"), "a", "b c")
	check("CRLF and a BOM", root("\ufeff*.log\r\nd/\r\n"), "a.log d/", "a.txt")
	check("nested", map[string]string{".gitignore": "*.gen\n", "sub/.gitignore": "!keep.gen\n/local\n", "sub/deep/.gitignore": "*\n"},
		"a.gen sub/b.gen sub/local sub/deep/any keep.gen", "sub/keep.gen sub/x/local local sub/deep/")
	check("info/exclude is weaker than .gitignore", map[string]string{".git/info/exclude": "secret\n*.txt\n", ".gitignore": "!a.txt\n"}, "secret x/secret b.txt", "a.txt")
	check(".git", nil, ".git/ .git/config .git sub/.git/HEAD .GIT/config", ".gitignore .github/ .github/x git")
	check("comments and blanks", root("# *.c\n\n   \n/\n!\n\\\n"), "", "a.c x # !")
	check("a very long line does not end the file", root(strings.Repeat("x", 200_000)+"\n*.log\n"), "a.log", "x")

	t.Run("a .gitignore above the folder", func(t *testing.T) {
		top := t.TempDir()
		write(t, top, map[string]string{".git/": "", ".gitignore": "*.log\n/pkg/web/dist/\n/pkg/\n", "pkg/.gitignore": "*.tmp\n", "pkg/web/": ""})
		dir := filepath.Join(top, "pkg", "web")
		s := stateOf(dir)
		for rel, want := range map[string]bool{"a.log": true, "dist": true, "x/a.tmp": true, "x.go": false, "x/dist": false} {
			if got := s.Ignored(filepath.Join(dir, rel), !strings.Contains(rel, ".")); got != want {
				t.Errorf("%s: ignored %v, want %v", rel, got, want)
			}
		}
	})
	t.Run("outside", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, root("*\n"))
		s := stateOf(filepath.Join(dir, "sub"))
		for _, path := range []string{dir, filepath.Join(dir, "x"), filepath.Join(dir, "sub"), filepath.Join(dir, "sub2", "x")} {
			if s.Ignored(path, false) {
				t.Errorf("%s is ignored", path)
			}
		}
	})
	t.Run("a folder behind a symlink", func(t *testing.T) {
		top := t.TempDir()
		write(t, top, map[string]string{"real/.gitignore": "*.log\n", "real/a.log": ""})
		if err := os.Symlink(filepath.Join(top, "real"), filepath.Join(top, "link")); err != nil {
			t.Skip(err)
		}
		s := stateOf(filepath.Join(top, "link"))
		for _, dir := range []string{"real", "link"} {
			if !s.Ignored(filepath.Join(top, dir, "a.log"), false) {
				t.Errorf("%s/a.log is not ignored", dir)
			}
		}
	})
}

// An edited rule file counts without a server that watches it.
func TestIgnoredFollowsEdits(t *testing.T) {
	dir := t.TempDir()
	s := stateOf(dir)
	path := filepath.Join(dir, "a.log")
	for _, text := range []string{"", "*.log\n", "*.txt\n"} {
		write(t, dir, map[string]string{".gitignore": text})
		want := text == "*.log\n"
		eventually(t, func() bool { return s.Ignored(path, false) == want })
	}
}

// What git itself says is the measure.
func TestIgnoredLikeGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	git := func(args ...string) *exec.Cmd {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "HOME="+dir, "XDG_CONFIG_HOME="+dir)
		return cmd
	}
	if out, err := git("init", "-q").CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	names := []string{"a", "b", "ab", "a.go", "b.log", "c d", "#x", "!y"}
	dirs := []string{"", "a/", "b/", "a/b/", "ab/a/"}
	for range 150 {
		for _, d := range dirs {
			var text strings.Builder
			for range rnd.IntN(5) {
				line := pick("", "", "", "!") + pick("", "", "/", "**/", "a/", "*/", "a/**/")
				line += pick("a", "b", "*", "a*", "?", "*.go", "*.log", "[ab]", "[!a]", "**", "c\\ d", "c d", "\\#x", "#x", "\\!y", "ab", "*b*", "[[:alpha:]]b")
				text.WriteString(line + pick("", "", "/", "/**", " ", "/*", "\r") + "\n")
			}
			write(t, dir, map[string]string{d + ".gitignore": text.String()})
		}
		s := stateOf(dir)
		var asked []string
		for range 60 {
			asked = append(asked, pick(dirs...)+pick(names...)+pick("", "", "/"+pick(names...)))
		}
		cmd := git("check-ignore", "--no-index", "-z", "--stdin", "-v", "-n")
		cmd.Stdin = strings.NewReader(strings.Join(asked, "\x00"))
		out, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Fatal(err)
		}
		fields := strings.Split(string(out), "\x00")
		for i := 0; i+3 < len(fields); i += 4 {
			pattern, path := fields[i+2], fields[i+3]
			want := pattern != "" && !strings.HasPrefix(pattern, "!")
			info, err := os.Stat(filepath.Join(dir, path))
			if got := s.Ignored(filepath.Join(dir, path), err == nil && info.IsDir()); got != want {
				rules := ""
				for _, d := range dirs {
					text, _ := os.ReadFile(filepath.Join(dir, d, ".gitignore"))
					rules += fmt.Sprintf("%s.gitignore %q\n", d, text)
				}
				t.Fatalf("%q: ignored %v, git says %v by %s:%q\n%s", path, got, want, fields[i], pattern, rules)
			}
		}
	}
}
