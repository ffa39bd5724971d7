package workspace

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	stagedURI   = "git://diff/staged"
	unstagedURI = "git://diff/unstaged"
)

func trusted(dirs ...string) *State {
	s := NewState()
	var list []Folder
	for _, dir := range dirs {
		list = append(list, Folder{Path: dir, Trusted: true})
	}
	s.SetFolders(list)
	return s
}

// serveIn is serve with an environment.
func serveIn(t testing.TB, s *State, env []string) client {
	t.Helper()
	server := NewServer(s, env, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(server.Close)
	return client{t, server}
}

func lacks(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%q is in %q", w, text)
		}
	}
}

func has(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in %q", w, text)
		}
	}
}

func TestDiff(t *testing.T) {
	dir := t.TempDir()
	commit(t, dir, map[string]string{"a.txt": "one\ntwo\n", "b.txt": "b\n", "é ü.txt": "x\n"})
	s := trusted(dir)
	c := serve(t, s)
	c.listed("file://%C3%A9%20%C3%BC.txt", "file://a.txt", "file://b.txt", stagedURI, unstagedURI)
	if got := c.text(unstagedURI) + c.text(stagedURI); got != "No changes.\nNo changes.\n" {
		t.Errorf("%q", got)
	}
	write(t, dir, map[string]string{"a.txt": "one\n2\n", "b.txt": "B\n", "é ü.txt": "y\xff\n", "new.txt": "new\n"})
	gitIn(t, dir, "add", "b.txt", "new.txt")
	r, err := c.tryRead(unstagedURI)
	if err != nil || r.MIMEType != "text/x-diff" {
		t.Fatalf("%+v %v", r, err)
	}
	has(t, *r.Text, "--- a/a.txt\n+++ b/a.txt\n", "-two\n+2\n", "+++ b/é ü.txt", "+y\uFFFD\n")
	lacks(t, *r.Text, "b.txt", "new")
	got := c.text(stagedURI)
	has(t, got, "-b\n+B\n", "new file mode", "+new\n")
	lacks(t, got, "a.txt")
	s.SetDocument(Document{Path: filepath.Join(dir, "a.txt"), URI: "file:///a.txt", Text: "one\n3\n", Dirty: true})
	has(t, c.text(unstagedURI), "+2\n", "[unsaved, so not as the editor has them: a.txt]\n")
	lacks(t, c.text(stagedURI), "unsaved")
	for _, uri := range []string{"git://diff/", "git://diff/HEAD", "git://diff/unstaged/x", "git://log", "git://diff/--output=x"} {
		if _, err := c.tryRead(uri); codeOf(err) != codeResourceNotFound {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestDiffLeavesOutWhatMayHoldSecrets(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for _, name := range []string{"a.txt", ".env", "sub/.ENV.local", "key.pem", "x/id_rsa", "built/out.txt", "[a]*.txt", ":(top)b.txt"} {
		files[name] = "old " + name + "\n"
	}
	files[".gitignore"] = "built/\n"
	commit(t, dir, files)
	for name := range files {
		if name != ".gitignore" {
			files[name] = "new " + name + "\n"
		}
	}
	write(t, dir, files)
	c := serve(t, trusted(dir))
	check := func(uri string) {
		t.Helper()
		got := c.text(uri)
		has(t, got, "+new a.txt", "+new [a]*.txt", "+new :(top)b.txt", "[changed and left out", ".env", "sub/.ENV.local", "key.pem", "x/id_rsa", "built/out.txt")
		lacks(t, got, "new .env", "new sub/.ENV", "new key", "new x/id", "new built", "old .env")
	}
	check(unstagedURI)
	gitIn(t, dir, "add", "-Af")
	check(stagedURI)
	gitIn(t, dir, "mv", ".env", "settings.txt")
	got := c.text(stagedURI)
	has(t, got, "settings.txt")
	lacks(t, got, "-old .env", "rename from .env")
}

func TestDiffOfSeveralFolders(t *testing.T) {
	top := t.TempDir()
	one, two, none := filepath.Join(top, "one"), filepath.Join(top, "two"), filepath.Join(top, "none")
	commit(t, one, map[string]string{"lib/a.txt": "old\n", "lib/in/b.txt": "old\n", "app/c.txt": "old\n", "outside.txt": "old\n"})
	commit(t, two, map[string]string{"d.txt": "old\n"})
	write(t, one, map[string]string{"lib/a.txt": "A\n", "lib/in/b.txt": "B\n", "app/c.txt": "C\n", "outside.txt": "OUTSIDE\n"})
	write(t, two, map[string]string{"d.txt": "D\n"})
	write(t, none, map[string]string{"e.txt": ""})
	at := func(rel string) string { return filepath.Join(one, rel) }
	got := serve(t, trusted(at("lib"))).text(unstagedURI)
	has(t, got, "+++ b/a.txt\n", "+++ b/in/b.txt\n")
	lacks(t, got, "OUTSIDE", "+C", "###")
	c := serve(t, trusted(at("lib"), at("lib/in"), at("app"), two, none))
	got = c.text(unstagedURI)
	has(t, got, "### lib, in, app\n", "+++ b/lib/a.txt\n", "+++ b/app/c.txt\n", "### two\n", "+++ b/d.txt\n", "+D\n")
	lacks(t, got, "OUTSIDE", "none")
	if n := strings.Count(got, "+B\n"); n != 1 {
		t.Errorf("a folder in a folder is shown %d times: %q", n, got)
	}
	// Trust holds for what is in a folder, not for what is around it.
	s := NewState()
	s.SetFolders([]Folder{{Path: one, Trusted: true}, {Path: at("lib")}})
	got = serve(t, s).text(unstagedURI)
	has(t, got, "+A\n", "+OUTSIDE\n")
	lacks(t, got, "not trusted")
	s = NewState()
	s.SetFolders([]Folder{{Path: one}, {Path: at("lib"), Trusted: true}})
	got = serve(t, s).text(unstagedURI)
	has(t, got, "+A\n", "not trusted: one]")
	lacks(t, got, "OUTSIDE")
	// One that cannot be read costs the others nothing.
	write(t, two, map[string]string{".git/HEAD": "nonsense\n"})
	got = c.text(unstagedURI)
	has(t, got, "### two\n[git: ", "+A\n")
}

func TestLongDiffIsCut(t *testing.T) {
	dir := t.TempDir()
	commit(t, dir, map[string]string{"a.txt": ""})
	write(t, dir, map[string]string{"a.txt": strings.Repeat("a line of the file\n", maxDiff/10)})
	got := serve(t, trusted(dir)).text(unstagedURI)
	if len(got) > maxDiff+200 || !strings.HasSuffix(got, "+a line of the file\n[the diff is longer than 1048576 bytes; the rest is left out]\n") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-200:])
	}
}

func TestDiffChangesAreTold(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.txt": "old\n"})
	s := trusted(dir)
	c := serve(t, s)
	c.listed("file://a.txt")
	commit(t, dir, nil) // the folder becomes a repository
	c.told("list_changed")
	c.listed("file://a.txt", stagedURI, unstagedURI)
	for _, uri := range []string{stagedURI, unstagedURI} {
		if err := c.call("resources/subscribe", map[string]string{"uri": uri}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for c.quiet() { // what the commit did is told
		continue
	}
	write(t, dir, map[string]string{"a.txt": "new\n"})
	c.told("updated " + unstagedURI)
	gitIn(t, dir, "add", "a.txt")
	c.told("updated " + stagedURI)
	gitIn(t, dir, "commit", "-qm", "second")
	c.told("updated " + stagedURI)
	c.text(stagedURI)
	gitIn(t, dir, "reset", "-q", "--soft", "HEAD~1")
	c.told("updated " + stagedURI)
	has(t, c.text(stagedURI), "-old\n+new\n")
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	c.listed("file://a.txt")
}

// quiet takes what is told within three batches.
func (c client) quiet() bool {
	select {
	case <-c.Notifications():
		return true
	case <-time.After(3 * notifyEvery):
		return false
	}
}
