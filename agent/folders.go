package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"agentls/mcp/workspace"
)

// Folder is a workspace folder.
type Folder struct {
	Path string // absolute
	// Name is what paths begin with where there are several folders, unique
	// among them; "": the last name of the path.
	Name string
	// Trusted: what its files say of how to work in it counts (CONTRACT §2).
	Trusted bool
}

// folder is a workspace folder that is there.
type folder struct {
	given   string // absolute, as the editor names it
	real    string // with symbolic links resolved
	name    string // unique
	trusted bool
}

// folders are what file tools stay inside of.
type folders []folder

// findFolders resolves folders; one that is gone is left out, and so is one
// that is another one by another path.
func findFolders(list []Folder) folders {
	var out folders
	taken := map[string]bool{}
	for _, f := range list {
		real, err := filepath.EvalSymlinks(f.Path)
		if err != nil || !filepath.IsAbs(f.Path) || slices.ContainsFunc(out, func(have folder) bool { return have.real == real }) {
			continue
		}
		out = append(out, folder{filepath.Clean(f.Path), real, workspace.UniqueName(f.Name, f.Path, taken), f.Trusted})
	}
	return out
}

// place is a path that stays inside the folders.
type place struct {
	abs   string // as asked for, the way the editor names it
	real  string // with symbolic links resolved
	root  string // the resolved folder that real is in
	shown string // for the model
}

// errAmbiguous is the refusal of a path that several folders may hold.
var errAmbiguous = errors.New("may be in several workspace folders")

// errOutside is the refusal of a path that leaves the folders.
var errOutside = errors.New("leads outside the workspace folders")

// resolve finds the place of a path: absolute, beginning with a folder's name
// where there are several, or relative to the one folder that it can mean. The
// file need not exist. Symbolic links are followed as far as they exist, and
// open looks again.
func (all folders) resolve(name string, host Editor) (place, error) {
	if err := wellFormed(name); err != nil {
		return place{}, err
	}
	if len(all) == 0 {
		return place{}, errors.New("no workspace folder is open: there are no files to work with")
	}
	var inside []place
	var outside error
	for _, abs := range all.candidates(name) {
		at, err := all.contain(abs)
		switch {
		case err == nil && !slices.Contains(inside, at):
			inside = append(inside, at)
		case err != nil && outside == nil:
			outside = err
		}
	}
	if len(inside) == 0 {
		return place{}, fmt.Errorf("the path %q %w (%s); file tools stay inside them", oneLine(name, 300), outside, all)
	}
	return pickPlace(name, inside, host)
}

// pickPlace takes the one place that a path can mean: where there is a file, else
// where there is a directory for it. A guess would put a new file into a folder
// that nobody named.
func pickPlace(name string, among []place, host Editor) (place, error) {
	if len(among) == 1 {
		return among[0], nil
	}
	isThere := func(at place) bool { return exists(at, host) }
	hasRoom := func(at place) bool {
		info, err := os.Stat(filepath.Dir(at.real))
		return err == nil && info.IsDir()
	}
	for _, fits := range []func(place) bool{isThere, hasRoom} {
		switch list := slices.DeleteFunc(slices.Clone(among), func(at place) bool { return !fits(at) }); {
		case len(list) == 1:
			return list[0], nil
		case len(list) > 1:
			return place{}, ambiguous(name, list)
		}
	}
	return place{}, ambiguous(name, among)
}

func ambiguous(name string, among []place) error {
	var shown []string
	for _, at := range among {
		shown = append(shown, at.shown)
	}
	return fmt.Errorf("the path %q %w: begin it with the folder's name (%s)", oneLine(name, 300), errAmbiguous, oneLine(strings.Join(shown, ", "), 600))
}

func wellFormed(name string) error {
	switch {
	case strings.Contains(name, "://"):
		return fmt.Errorf("%q is a URI: give a path such as src/main.go, or read it as a resource", oneLine(name, 300))
	case len(name) > 4096:
		return errors.New("the path is too long")
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the path %q holds control characters", oneLine(name, 300))
	}
	return nil
}

// candidates are the absolute paths that a name may mean. With several folders
// a name that begins with that of a folder means that one alone: it is how the
// model is told of paths.
func (all folders) candidates(name string) []string {
	local := filepath.FromSlash(name)
	if filepath.IsAbs(local) {
		return []string{filepath.Clean(local)}
	}
	head, rest, _ := strings.Cut(filepath.ToSlash(filepath.Clean(local)), "/")
	var out []string
	for _, f := range all {
		if len(all) > 1 && f.name == head {
			return []string{filepath.Join(f.given, filepath.FromSlash(rest))}
		}
		out = append(out, filepath.Join(f.given, local))
	}
	return out
}

// contain says where an absolute path is, when it is inside a folder: the
// innermost, of folders that lie in each other.
func (all folders) contain(abs string) (place, error) {
	real, err := resolveLinks(abs)
	if err != nil {
		return place{}, err
	}
	best := place{}
	for _, f := range all {
		if rel, err := filepath.Rel(f.real, real); err == nil && filepath.IsLocal(rel) && len(f.real) > len(best.root) {
			best = place{abs: abs, real: real, root: f.real, shown: all.show(f, rel)}
		}
	}
	if best.root == "" {
		return place{}, errOutside
	}
	return best, nil
}

// show is how the model is told of a path.
func (all folders) show(f folder, rel string) string {
	if len(all) > 1 {
		rel = filepath.Join(f.name, rel)
	}
	return filepath.ToSlash(rel)
}

// String names the folders.
func (all folders) String() string {
	var names []string
	for _, f := range all {
		names = append(names, f.given)
	}
	return strings.Join(names, ", ")
}

// maxLinks is how many links that lead to nothing are followed.
const maxLinks = 40

// resolveLinks is filepath.EvalSymlinks for paths whose end need not exist. A
// link to what is not there leads there all the same: who writes through it
// makes its target.
func resolveLinks(abs string) (string, error) { return followLinks(abs, maxLinks) }

func followLinks(abs string, most int) (string, error) {
	real, err := filepath.EvalSymlinks(abs)
	if err == nil {
		return real, nil
	}
	parent := filepath.Dir(abs)
	if !errors.Is(err, fs.ErrNotExist) || parent == abs {
		return "", plain(err)
	}
	if parent, err = followLinks(parent, most); err != nil {
		return "", err
	}
	real = filepath.Join(parent, filepath.Base(abs))
	target, err := os.Readlink(real)
	switch {
	case err != nil:
		return real, nil //nolint:nilerr // nothing, or no link
	case most == 0, filepath.Clean(target) != target:
		return "", errors.New("its links cannot be followed")
	case !filepath.IsAbs(target):
		target = filepath.Join(parent, target)
	}
	return followLinks(target, most-1)
}

// exists reports whether a place is a file on disk or open in the editor.
func exists(at place, host Editor) bool {
	if _, ok := document(at, host); ok {
		return true
	}
	_, err := os.Lstat(at.real)
	return err == nil
}

// document is the editor's text of a file.
func document(at place, host Editor) (text string, ok bool) {
	if text, ok = host.Document(at.abs); !ok && at.real != at.abs {
		text, ok = host.Document(at.real)
	}
	return text, ok
}

// open opens a file or directory. A link that was made since resolve and leads
// out of the folder is refused by [os.Root]; one that leads elsewhere inside
// it by the second look.
func (at place) open() (*os.File, error) {
	rel, err := filepath.Rel(at.root, at.real)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(at.root)
	if err != nil {
		return nil, at.failure(err)
	}
	defer func() { _ = root.Close() }() // only read from
	return at.openIn(root, rel)
}

// openIn opens what rel means in a root.
func (at place) openIn(root *os.Root, rel string) (*os.File, error) {
	before, err := root.Lstat(rel)
	switch {
	case err != nil:
		return nil, at.failure(err)
	case !before.Mode().IsRegular() && !before.IsDir():
		return nil, fmt.Errorf("%q is neither a file nor a directory", at.shown)
	}
	f, err := root.Open(rel)
	if err != nil {
		return nil, at.failure(err)
	}
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		_ = f.Close()
		return nil, fmt.Errorf("%q changed while it was opened; try again", at.shown)
	}
	return f, nil
}

// failure words an error of the file system for the model.
func (at place) failure(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %q; list_dir shows what there is", at.shown)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%q may not be read", at.shown)
	}
	return fmt.Errorf("%q cannot be opened: %w", at.shown, plain(err))
}

// plain takes the path out of an error: the model has it in its own words.
func plain(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
