package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agentls/mcp/child"
)

const (
	maxDiff  = 1 << 20   // bytes of one repository's diff
	maxNames = 4 << 20   // bytes of the names of its changed files
	maxIndex = 512 << 20 // bytes of an index
	maxHeld  = 500       // files that are held back
)

// git runs git as CONTRACT §8 wants it: no program that a repository names may
// run. Turning off what git knows today (hooks, fsmonitor, filters, external
// diffs, textconv …) by its name would leave what it learns tomorrow, and a
// filter has any name. So the repository's configuration is not used at all:
// the diff runs on a git directory of our own, which borrows the objects and a
// copy of the index, and can name nothing.
type git struct {
	path  string // of the program; "" where there is none
	env   []string
	watch child.Watch
}

func newGit(env []string, watch child.Watch) git {
	path, err := child.Look("git", env)
	if err != nil {
		path = ""
	}
	// An older git does not know GIT_NO_LAZY_FETCH, but fetches by no protocol.
	return git{path: path, watch: watch, env: append(slices.Clip(env), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "LC_ALL=C")}
}

// repository is what git tells of one without reading more of it than where it
// lies.
type repository struct {
	top     string // of the work tree, symlinks resolved
	index   string
	objects string
	sha256  bool
	head    string // the commit's id; "" before the first
	core    string // settings that decide how a file is compared
}

// inspect finds the repository of a directory. This is where git refuses one
// that is another user's.
func (g git) inspect(ctx context.Context, dir string) (r repository, err error) {
	out, err := g.output(ctx, dir, nil, maxNames, "rev-parse", "--show-toplevel", "--git-path", "index", "--git-path", "objects",
		"--show-object-format", "--absolute-git-dir", "--git-common-dir")
	if err != nil {
		return r, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 6 {
		return r, errors.New("git does not say where the repository is")
	}
	absolute := func(path string) string {
		if path = filepath.FromSlash(path); filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	if r.top, err = filepath.EvalSymlinks(absolute(lines[0])); err != nil {
		return r, plain(err)
	}
	r.index, r.objects, r.sha256 = absolute(lines[1]), absolute(lines[2]), lines[3] == "sha256"
	// The id alone: with a look at the commit a partial clone could begin to fetch.
	head, err := g.output(ctx, dir, nil, maxNames, "rev-parse", "--verify", "--quiet", "HEAD")
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return r, err
	}
	if head = strings.TrimSpace(head); objectID.MatchString(head) {
		r.head = head
	}
	settings, err := g.output(ctx, dir, nil, maxNames, "config", "-z", "--get-regexp", coreSettings)
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return r, err
	}
	places := gitPlaces{top: r.top, dir: absolute(lines[4]), common: absolute(lines[5]), index: r.index, objects: r.objects}
	for setting := range strings.SplitSeq(settings, "\x00") {
		key, value, ok := strings.Cut(setting, "\n")
		if key == "core.worktree" {
			places.linked = value != ""
		} else if _, name, found := strings.Cut(key, "."); ok && found && settingValue.MatchString(value) {
			r.core += "\t" + name + " = " + value + "\n"
		}
	}
	return r, places.check()
}

// coreSettings are the settings that say how a file on disk compares to one
// that was committed. None of them names a program or a path, but for worktree,
// which is only looked at.
const coreSettings = `^core\.(worktree|autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|checkstat|trustctime)$`

var (
	settingValue = regexp.MustCompile(`^[A-Za-z0-9]+$`)
	objectID     = regexp.MustCompile(`^[0-9a-f]{40,64}$`)
)

// borrow makes the git directory of our own; end removes it.
func (r repository) borrow() (env []string, end func(), err error) {
	dir, err := os.MkdirTemp("", "agentls-git-")
	if err != nil {
		return nil, nil, err
	}
	end = func() { _ = os.RemoveAll(dir) } // what is left lies in the temporary directory
	defer func() {
		if err != nil {
			end()
		}
	}()
	head, config := "ref: refs/heads/none\n", "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tquotepath = false\n\tsafecrlf = false\n"+r.core
	if r.head != "" {
		head = r.head + "\n"
	}
	if r.sha256 {
		config += "[extensions]\n\tobjectformat = sha256\n"
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	err = errors.Join(os.Mkdir(at("refs"), 0o700), os.WriteFile(at("HEAD"), []byte(head), 0o600),
		os.WriteFile(at("config"), []byte(config), 0o600), os.WriteFile(at("none"), nil, 0o600), copyIndex(r.index, at("index")))
	if err != nil {
		return nil, nil, err
	}
	// A split index has its other half beside it.
	beside, _ := os.ReadDir(filepath.Dir(r.index)) // git says that it is missing
	for _, half := range beside {
		if strings.HasPrefix(half.Name(), "sharedindex.") {
			_ = os.Symlink(filepath.Join(filepath.Dir(r.index), half.Name()), at(half.Name())) // likewise
		}
	}
	return []string{
		"GIT_DIR=" + dir, "GIT_WORK_TREE=" + r.top, "GIT_INDEX_FILE=" + at("index"), "GIT_OBJECT_DIRECTORY=" + r.objects,
		"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "GIT_CONFIG_GLOBAL=" + at("none"), "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
	}, end, nil
}

// copyIndex copies an index; git brings its copy up to date as it likes. One
// that is not there is an empty one.
func copyIndex(from, to string) error {
	in, err := openFile(os.OpenFile, from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return plain(err)
	}
	defer in.Close()
	info, err := in.Stat()
	switch {
	case err != nil:
		return plain(err)
	case !info.Mode().IsRegular() || info.Size() > maxIndex:
		return errors.New("the index of the repository is no file, or too large")
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxIndex))
	// Its time tells git which files may have changed right after it was written.
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// diff gives the changes of what the pathspecs name, without the files that
// held is true for; their paths are relative to the top of the work tree, and
// so are those in the text, or to below.
func (g git) diff(ctx context.Context, r repository, staged bool, below string, specs []string, held func(path string) bool) (text string, left []string, err error) {
	env, end, err := r.borrow()
	if err != nil {
		return "", nil, err
	}
	defer end()
	// A look into a submodule would be another git, in that one's configuration.
	args := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short"}
	if staged {
		args = append(args, "--cached")
		if r.head != "" { // or git takes a commit that is missing for none
			args = append(args, r.head)
		}
	}
	names, err := g.output(ctx, r.top, env, maxNames, slices.Concat(args, []string{"--name-only", "--no-renames", "-z", "--"}, specs)...)
	if errors.Is(err, errFull) {
		err = errors.New("too many files have changed")
	}
	if err != nil {
		return "", nil, err
	}
	for name := range strings.SplitSeq(names, "\x00") {
		if name != "" && held(name) {
			left = append(left, name)
			specs = append(specs, ":(top,exclude,literal)"+name)
		}
	}
	if len(left) > maxHeld {
		return "", nil, fmt.Errorf("more than %d changed files are ignored or may hold secrets", maxHeld)
	}
	if below != "" {
		args = append(args, "--relative="+below+"/")
	}
	text, err = g.output(ctx, r.top, env, maxDiff, slices.Concat(args, []string{"--"}, specs)...)
	if errors.Is(err, errFull) {
		text = text[:strings.LastIndexByte(text, '\n')+1] + fmt.Sprintf("[the diff is longer than %d bytes; the rest is left out]\n", maxDiff)
		err = nil
	}
	return text, left, err
}

var errFull = errors.New("the output is too long")

// output runs git in a group of its own and returns what it writes, limit
// bytes at most: then with errFull.
func (g git) output(ctx context.Context, dir string, env []string, limit int, args ...string) (string, error) {
	args = append([]string{"--no-pager", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false"}, args...)
	cmd := exec.CommandContext(ctx, g.path, args...)
	cmd.Dir, cmd.Env = dir, slices.Concat(g.env, env)
	out, words := &bounded{limit: limit}, &bounded{limit: 2000, drain: true}
	cmd.Stdout, cmd.Stderr = out, words
	err := child.Run(ctx, cmd, g.watch)
	text := out.kept.String()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case out.full:
		return text, errFull
	case err != nil:
		if said := strings.TrimSpace(words.kept.String()); said != "" {
			err = fmt.Errorf("%s (%w)", said, err)
		}
		return "", fmt.Errorf("git: %w", err)
	}
	return text, nil
}

// bounded keeps limit bytes, and breaks off the output there or drains it.
type bounded struct {
	kept  bytes.Buffer // not embedded: its ReadFrom knows no limit
	limit int
	drain bool
	full  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.limit - b.kept.Len(); len(p) > room {
		b.full = true
		n, _ := b.kept.Write(p[:room])
		if b.drain {
			return len(p), nil
		}
		return n, errFull
	}
	return b.kept.Write(p)
}
