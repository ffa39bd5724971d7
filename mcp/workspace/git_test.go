package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// gitIn runs git as a person does, without their configuration.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+dir, "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.c", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.c", "GIT_ALLOW_PROTOCOL=file")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// commit makes a repository of the files.
func commit(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	write(t, dir, files)
	gitIn(t, dir, "init", "-q", "-b", "main")
	gitIn(t, dir, "add", "-Af")
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
}

// CONTRACT §8: whatever a repository names, none of it runs, and nothing in it
// is written.
func TestGitRunsNothingOfTheRepository(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the markers are shell commands")
	}
	dir, marks := t.TempDir(), t.TempDir()
	mark := func(name string) string { return "touch '" + filepath.Join(marks, name) + "'; cat" }
	commit(t, dir, map[string]string{
		"a.txt": "old\n", "b.bin": "old\n", "c.pro": "old\n", "eq.x": "old\n", "d.diff": "old\n", "info.x": "old\n",
		".gitattributes": "*.txt filter=evil\n*.bin diff=conv\n*.pro filter=proc\n*.diff diff=cmd\neq.* filter=e=v.il\n",
	})
	blob := strings.TrimSpace(gitIn(t, dir, "rev-parse", ":a.txt"))
	sub := t.TempDir()
	commit(t, sub, map[string]string{"s.txt": "old\n", ".gitattributes": "* filter=evil\n"})
	gitIn(t, dir, "submodule", "add", "-q", sub, "sub")
	gitIn(t, dir, "commit", "-qm", "sub")
	for _, at := range []string{dir, filepath.Join(dir, "sub")} {
		for key, name := range map[string]string{
			"filter.evil.clean": "clean", "filter.evil.smudge": "smudge", "filter.e=v.il.clean": "equals", "filter.proc.process": "process",
			"diff.conv.textconv": "textconv", "diff.cmd.command": "command", "diff.external": "external", "core.fsmonitor": "fsmonitor",
			"core.pager": "pager", "pager.diff": "pagerdiff", "pager.config": "pagerconfig", "core.sshCommand": "ssh", "core.editor": "editor",
			"credential.helper": "credential", "core.askPass": "askpass", "core.gitProxy": "proxy", "core.alternateRefsCommand": "refs",
			"sequence.editor": "sequence", "gpg.program": "gpg", "uploadpack.packObjectsHook": "pack", "interactive.diffFilter": "interactive",
		} {
			gitIn(t, at, "config", key, mark(name))
		}
		for alias := range strings.FieldsSeq("diff rev-parse config") {
			gitIn(t, at, "config", "alias."+alias, "!"+mark("alias"))
		}
		gitIn(t, at, "config", "filter.evil.required", "true")
		gitIn(t, at, "config", "diff.submodule", "diff")
		gitIn(t, at, "config", "core.hooksPath", filepath.Join(marks, "hooks"))
		gitIn(t, at, "config", "core.quotePath", "true")
		// A partial clone would fetch what is missing.
		gitIn(t, at, "config", "remote.origin.url", "ssh://host/x")
		gitIn(t, at, "config", "remote.origin.promisor", "true")
		gitIn(t, at, "config", "extensions.partialClone", "origin")
		gitIn(t, at, "config", "core.repositoryFormatVersion", "1")
	}
	hooks := map[string]string{}
	for name := range strings.FieldsSeq("post-index-change pre-auto-gc fsmonitor-watchman post-checkout reference-transaction") {
		hooks["hooks/"+name] = "#!/bin/sh\n" + mark("hook") + "\n"
	}
	write(t, marks, hooks)
	for name := range hooks {
		if err := os.Chmod(filepath.Join(marks, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, map[string]string{
		"a.txt": "new\n", "b.bin": "new\n", "c.pro": "new\n", "eq.x": "new\n", "d.diff": "new\n", "info.x": "new\n", "sub/s.txt": "new\n",
		".git/info/attributes": "info.* filter=evil diff=cmd\n",
	})
	before := snapshot(t, filepath.Join(dir, ".git"))
	c := serve(t, trusted(dir))
	got := c.text(unstagedURI)
	for _, name := range []string{"a.txt", "b.bin", "c.pro", "eq.x", "d.diff", "info.x"} {
		has(t, got, "+++ b/"+name+"\n")
	}
	has(t, got, "-old\n+new\n")
	lacks(t, got, "sub/s.txt")
	c.text(stagedURI)
	if after := snapshot(t, filepath.Join(dir, ".git")); !slices.Equal(before, after) {
		t.Errorf("the repository was written to:\n%q\n%q", before, after)
	}
	// A blob that is missing is not fetched, nor is a HEAD.
	if err := os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	if _, err := c.tryRead(unstagedURI); err == nil || !strings.Contains(err.Error(), blob) {
		t.Errorf("a blob that is missing: %v", err)
	}
	write(t, dir, map[string]string{".git/HEAD": strings.Repeat("1", 40) + "\n"})
	if _, err := c.tryRead(stagedURI); err == nil {
		t.Error("a commit that is missing is none")
	}
	list, err := os.ReadDir(marks)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != "hooks" {
			t.Errorf("%s ran", e.Name())
		}
	}
	// The same repository does run them when git is called plainly, or this
	// test could not fail.
	gitIn(t, dir, "read-tree", "main")
	cmd := exec.CommandContext(t.Context(), "git", "diff")
	cmd.Dir = dir
	_ = cmd.Run() // it fails over a filter that gives nothing
	if list, _ := os.ReadDir(marks); len(list) < 2 {
		t.Error("the traps do not work")
	}
}

// snapshot gives the names, sizes and times of all below a directory.
func snapshot(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		list = append(list, fmt.Sprint(path, info.Size(), info.ModTime()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// CONTRACT §2: no git runs in a folder that is not trusted.
func TestNoGitWithoutTrust(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	commit(t, dir, map[string]string{"a.txt": "old\n"})
	write(t, dir, map[string]string{"a.txt": "new\n"})
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(bin, "ran")
	fakeGit(t, bin, "echo ran >>'"+ran+"'; exec '"+real+"' \"$@\"")
	s := stateOf(dir)
	c := serveIn(t, s, []string{"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")})
	c.listed("file://a.txt")
	for _, uri := range []string{stagedURI, unstagedURI} {
		if _, err := c.tryRead(uri); err == nil || !strings.Contains(err.Error(), "not trusted") {
			t.Errorf("%s: %v", uri, err)
		}
	}
	select {
	case <-s.TrustWanted():
	default:
		t.Error("nobody is asked to trust the folder")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Fatal("git ran in a folder that is not trusted")
	}
	s.TrustFolder(dir)
	c.told("list_changed")
	c.listed("file://a.txt", stagedURI, unstagedURI)
	if _, err := os.Stat(ran); err == nil {
		t.Error("git ran for a list")
	}
	has(t, c.text(unstagedURI), "-old\n+new\n")
	// A folder that is added is trusted on its own, one that stays still is.
	other := t.TempDir()
	commit(t, other, map[string]string{"b.txt": "secret\n"})
	write(t, other, map[string]string{"b.txt": "SECRET\n"})
	s.SetFolders([]Folder{{Path: dir}, {Path: other, Name: "other"}})
	got := c.text(unstagedURI)
	has(t, got, "+new\n", "[not shown, as the folder is not trusted: other]")
	lacks(t, got, "SECRET")
}

func fakeGit(t *testing.T, dir, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake git is a shell script")
	}
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Forms of repositories that look different to who borrows from them.
func TestDiffOfUnusualRepositories(t *testing.T) {
	t.Run("nothing committed", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, map[string]string{"a.txt": "new\n"})
		gitIn(t, dir, "init", "-q")
		c := serve(t, trusted(dir))
		if got := c.text(stagedURI) + c.text(unstagedURI); got != "No changes.\nNo changes.\n" {
			t.Errorf("%q", got)
		}
		gitIn(t, dir, "add", "a.txt")
		has(t, c.text(stagedURI), "+new\n")
	})
	for name, args := range map[string][]string{
		"a split index": {"update-index", "--split-index"}, "sparse": {"sparse-checkout", "set", "--cone", "--sparse-index", "d"},
		"a packed repository": {"gc", "-q"}, "version 4": {"update-index", "--index-version", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "[is no pattern")
			commit(t, dir, map[string]string{"a.txt": "old\n", "d/x": "", "e/y": ""})
			gitIn(t, dir, args...)
			c := serve(t, trusted(dir))
			if got := c.text(unstagedURI); got != "No changes.\n" {
				t.Errorf("%q", got)
			}
			write(t, dir, map[string]string{"a.txt": "new\n"})
			has(t, c.text(unstagedURI), "-old\n+new\n")
		})
	}
	t.Run("a worktree", func(t *testing.T) {
		top := t.TempDir()
		commit(t, filepath.Join(top, "main"), map[string]string{"a.txt": "old\n"})
		gitIn(t, filepath.Join(top, "main"), "worktree", "add", "-q", "../tree")
		dir := filepath.Join(top, "tree")
		write(t, dir, map[string]string{"a.txt": "new\n"})
		c := serve(t, trusted(dir))
		has(t, c.text(unstagedURI), "-old\n+new\n")
		c.text(stagedURI)
		gitIn(t, dir, "add", "a.txt")
		c.told("updated " + stagedURI)
		has(t, c.text(stagedURI), "-old\n+new\n")
	})
	t.Run("SHA-256", func(t *testing.T) {
		dir := t.TempDir()
		gitIn(t, dir, "init", "-q", "--object-format=sha256")
		commit(t, dir, map[string]string{"a.txt": "old\n"})
		write(t, dir, map[string]string{"a.txt": "new\n"})
		c := serve(t, trusted(dir))
		has(t, c.text(unstagedURI), "-old\n+new\n")
		gitIn(t, dir, "add", "a.txt")
		has(t, c.text(stagedURI), "-old\n+new\n")
	})
	t.Run("line ends", func(t *testing.T) {
		dir := t.TempDir()
		commit(t, dir, map[string]string{"a.txt": "one\ntwo\n"})
		gitIn(t, dir, "config", "core.autocrlf", "true")
		write(t, dir, map[string]string{"a.txt": "one\r\ntwo\r\nthree\r\n"})
		got := serve(t, trusted(dir)).text(unstagedURI)
		has(t, got, "+three\n")
		lacks(t, got, "-one", "warning")
	})
	t.Run("a submodule", func(t *testing.T) {
		sub, top := t.TempDir(), t.TempDir()
		commit(t, sub, map[string]string{"a.txt": "old\n"})
		commit(t, top, map[string]string{"x": ""})
		gitIn(t, top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "sub")
		write(t, top, map[string]string{"sub/a.txt": "new\n"})
		has(t, serve(t, trusted(filepath.Join(top, "sub"))).text(unstagedURI), "-old\n+new\n")
	})
	t.Run("a git directory apart", func(t *testing.T) {
		dir, apart := t.TempDir(), filepath.Join(t.TempDir(), "apart")
		gitIn(t, dir, "init", "-q", "--separate-git-dir", apart)
		commit(t, dir, map[string]string{"a.txt": "old\n"})
		write(t, dir, map[string]string{"a.txt": "new\n"})
		if _, err := serve(t, trusted(dir)).tryRead(unstagedURI); err == nil || !strings.Contains(err.Error(), "git config core.worktree") {
			t.Errorf("%v", err)
		}
		gitIn(t, dir, "config", "core.worktree", dir)
		has(t, serve(t, trusted(dir)).text(unstagedURI), "-old\n+new\n")
	})
	t.Run("a work tree elsewhere", func(t *testing.T) {
		dir, other := t.TempDir(), t.TempDir()
		commit(t, dir, map[string]string{"a.txt": "old\n"})
		write(t, other, map[string]string{"a.txt": "SECRET\n"})
		gitIn(t, dir, "config", "core.worktree", other)
		if r, err := serve(t, trusted(dir)).tryRead(unstagedURI); err == nil {
			t.Errorf("%+v", r)
		}
	})
}

// A .git may lead to another repository of the user's, which nobody meant to
// show: an archive can hold one, if no clone can.
func TestDiffShowsNoOtherRepository(t *testing.T) {
	symlink := func(t *testing.T, to, at string) {
		t.Helper()
		if err := errors.Join(os.RemoveAll(at), os.Symlink(to, at)); err != nil {
			t.Skip(err)
		}
	}
	for name, lead := range map[string]func(t *testing.T, dir, other string){
		"a file": func(t *testing.T, dir, other string) {
			write(t, dir, map[string]string{".git": "gitdir: " + other + "\n"})
		},
		"a symlink": func(t *testing.T, dir, other string) { symlink(t, other, filepath.Join(dir, ".git")) },
		"a common directory": func(t *testing.T, dir, other string) {
			gitIn(t, dir, "init", "-q")
			write(t, dir, map[string]string{".git/commondir": other + "\n"})
		},
		"the index and the objects": func(t *testing.T, dir, other string) {
			gitIn(t, dir, "init", "-q")
			symlink(t, filepath.Join(other, "index"), filepath.Join(dir, ".git", "index"))
			symlink(t, filepath.Join(other, "objects"), filepath.Join(dir, ".git", "objects"))
		},
		"the index": func(t *testing.T, dir, other string) {
			gitIn(t, dir, "init", "-q")
			symlink(t, filepath.Join(other, "index"), filepath.Join(dir, ".git", "index"))
		},
		"the packs": func(t *testing.T, dir, other string) {
			gitIn(t, dir, "init", "-q")
			symlink(t, filepath.Join(other, "objects", "pack"), filepath.Join(dir, ".git", "objects", "pack"))
		},
		"a git directory that names itself back": func(t *testing.T, dir, other string) {
			evil := filepath.Join(t.TempDir(), "evil")
			gitIn(t, dir, "init", "-q", "--separate-git-dir", evil)
			write(t, evil, map[string]string{"gitdir": filepath.Join(dir, ".git") + "\n", "commondir": other + "\n"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, other := t.TempDir(), t.TempDir()
			commit(t, other, map[string]string{"plan.txt": "SECRET plan\n"})
			gitIn(t, other, "gc", "-q")
			lead(t, dir, filepath.Join(other, ".git"))
			for _, uri := range []string{unstagedURI, stagedURI} {
				r, err := serve(t, trusted(dir)).tryRead(uri)
				if err == nil || !strings.Contains(err.Error(), "outside of") {
					t.Errorf("%s: %+v, %v", uri, r, err)
				}
			}
		})
	}
}

func TestDiffSaysWhatGitRefuses(t *testing.T) {
	dir := t.TempDir()
	commit(t, dir, map[string]string{"a.txt": "old\n"})
	c := serveIn(t, trusted(dir), append(os.Environ(), "GIT_TEST_ASSUME_DIFFERENT_OWNER=1"))
	if _, err := c.tryRead(unstagedURI); err == nil || !strings.Contains(err.Error(), "dubious ownership") || !strings.Contains(err.Error(), "safe.directory") {
		t.Errorf("%v", err)
	}
	write(t, dir, map[string]string{".git/index": "nonsense"})
	if _, err := serve(t, trusted(dir)).tryRead(unstagedURI); err == nil || !strings.Contains(err.Error(), "git: ") {
		t.Errorf("%v", err)
	}
	none := serveIn(t, trusted(dir), []string{"PATH=" + t.TempDir()})
	none.listed("file://a.txt")
	if _, err := none.tryRead(unstagedURI); codeOf(err) != codeResourceNotFound {
		t.Errorf("%v", err)
	}
	if _, err := serve(t, trusted(t.TempDir())).tryRead(unstagedURI); codeOf(err) != codeResourceNotFound {
		t.Errorf("%v", err)
	}
}

// A git that hangs ends with the read, with its deadline and with the server,
// and so do its children.
func TestGitThatHangs(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	commit(t, dir, map[string]string{"a.txt": ""})
	pidFile := filepath.Join(bin, "pid")
	fakeGit(t, bin, "sleep 1000 & echo $! >'"+pidFile+".new'; mv '"+pidFile+".new' '"+pidFile+"'; wait")
	cause := errors.New("the user pressed escape")
	for name, end := range map[string]func(c client, cancel context.CancelCauseFunc){
		"cancelled": func(_ client, cancel context.CancelCauseFunc) { cancel(cause) },
		"late":      func(client, context.CancelCauseFunc) {},
		"closed":    func(c client, _ context.CancelCauseFunc) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(pidFile)
			c := serveIn(t, trusted(dir), []string{"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")})
			if name == "late" {
				c.gitTimeout = 300 * time.Millisecond
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := make(chan error, 1)
			go func() {
				_, err := c.Handle(ctx, "resources/read", json.RawMessage(`{"uri":"`+unstagedURI+`"}`))
				done <- err
			}()
			pid := 0
			eventually(t, func() bool {
				text, _ := os.ReadFile(pidFile)
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				return pid > 0
			})
			end(c, cancel)
			select {
			case err := <-done:
				want := map[string]string{"cancelled": cause.Error(), "late": "has not ended after 300ms", "closed": "closed"}[name]
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the read does not end")
			}
			eventually(t, func() bool {
				stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
				return err != nil || strings.Contains(string(stat), ") Z ")
			})
		})
	}
}
