package agent

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// noHost has no documents open.
type noHost struct{ Host }

func (noHost) Document(string) (string, bool) { return "", false }

// tangle makes a folder with links that lead in, out and around.
func tangle(t testing.TB) (dir string, all folders) {
	dir = t.TempDir()
	var errs []error
	for _, d := range []string{"w/src/a/b", "w/lib", "w/.git/hooks", "other"} {
		errs = append(errs, os.MkdirAll(filepath.Join(dir, d), 0o700))
	}
	for name, to := range map[string]string{
		"w/src/out": "../../other", "w/src/lib": "../lib", "w/src/up": "..", "w/src/git": "../.git", "w/src/loop": "loop", "w/src/self": ".", "w/src/gone": "nowhere/x",
		"w/in": "src", "w/lib/deep": "../src/a/b", "w/SRC": "lib", "other/back": "../w", "w/src/abs": filepath.Join(dir, "w", "lib"),
	} {
		errs = append(errs, os.Symlink(to, filepath.Join(dir, name)))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return dir, findFolders([]Folder{{Path: filepath.Join(dir, "w")}})
}

// look finds the path of a call as the gate does.
func (all folders) look(name string) (*callPath, *place) {
	at, err := all.resolve(name, noHost{})
	if err != nil {
		return all.callPathOf(name, nil), nil
	}
	return all.callPathOf(name, &at), &at
}

// checkPath holds what an allow and a deny of src/** say against where the
// file system leads to.
func checkPath(t *testing.T, dir string, all folders, name string) {
	t.Helper()
	p, at := all.look(name)
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "w", filepath.FromSlash(name)))
	if filepath.IsAbs(name) {
		real, err = filepath.EvalSymlinks(name)
	}
	root, _ := filepath.EvalSymlinks(filepath.Join(dir, "w", "src"))
	inside := func(path string) bool {
		return path == root || strings.HasPrefix(path, root+string(filepath.Separator))
	}
	if p.allowedBy("src/**") {
		if at == nil || !inside(at.real) {
			t.Errorf("%q is allowed below src, and leads to %+v", name, at)
		}
		if err == nil && !inside(real) {
			t.Errorf("%q is allowed below src, and is %s", name, real)
		}
	}
	if err == nil && inside(real) && at != nil && at.real == real && p.restrictedBy("src/**") == matchNo && real != root {
		t.Errorf("%q is %s, and a denial of src/** does not match", name, real)
	}
}

// steps make up random paths.
var steps = []string{"src", "a", "b", "lib", "..", ".", "out", "up", "git", "loop", "self", "gone", "in", "deep", "SRC", "abs", "x", "", "back", "other", ".git", "hooks", "w"}

func TestAllowedPathsStayBelow(t *testing.T) {
	dir, all := tangle(t)
	for seed := range uint64(4000) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		var parts []string
		for range 1 + rnd.IntN(6) {
			parts = append(parts, steps[rnd.IntN(len(steps))])
		}
		name := strings.Join(parts, "/")
		if rnd.IntN(5) == 0 {
			name = dir + "/" + name
		}
		checkPath(t, dir, all, name)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzPathRule(f *testing.F) {
	for _, seed := range []string{"src/x", "src/../lib", "src/out/x", "in/a", "SRC/x", "src/a\x00", "src\\..\\lib", "src//a", "./src/./a/", "src/git/hooks/x", "~/src"} {
		f.Add(seed, "src/**")
	}
	dir, all := tangle(f)
	f.Fuzz(func(t *testing.T, name, glob string) {
		checkPath(t, dir, all, name)
		p, _ := all.look(name)
		p.restrictedBy(glob)
		if p.allowedBy(glob) && p.restrictedBy(glob) != matchYes {
			t.Errorf("%q is allowed by %q, and is not denied by it", name, glob)
		}
	})
}

func TestPathRulesOfSeveralFolders(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, d := range []string{filepath.Join(a, "src"), filepath.Join(b, "src")} {
		if err := errors.Join(os.MkdirAll(d, 0o700), os.WriteFile(filepath.Join(d, "x.go"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	all := findFolders([]Folder{{Path: a}, {Path: b}})
	name := filepath.Base(b)
	for rule, want := range map[string]bool{"src/**": true, name + "/src/**": true, filepath.Base(a) + "/src/**": name == filepath.Base(a), "lib/**": false, "*.go": true} {
		for _, path := range []string{name + "/src/x.go", filepath.Join(b, "src", "x.go")} {
			if name == filepath.Base(a) && !filepath.IsAbs(path) {
				continue // it means the first
			}
			p, _ := all.look(path)
			if got := p.allowedBy(rule); got != want {
				t.Errorf("%s and %s: %v", rule, path, got)
			}
		}
	}
}
