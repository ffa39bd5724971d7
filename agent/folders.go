package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// folder is a workspace folder.
type folder struct {
	given string // absolute, as the editor names it
	real  string // with symbolic links resolved
}

// folders are what file tools stay inside of.
type folders []folder

// findFolders resolves the folders of a task; one that is gone is left out.
func findFolders(paths []string) folders {
	var out folders
	for _, p := range paths {
		if real, err := filepath.EvalSymlinks(p); err == nil && filepath.IsAbs(p) {
			out = append(out, folder{filepath.Clean(p), real})
		}
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

// errOutside is the refusal of a path that leaves the folders.
var errOutside = errors.New("leads outside the workspace folders")

// resolve finds the place of a path: relative to a folder, beginning with a
// folder's name where there are several, or absolute. The file need not exist.
// Symbolic links are followed as far as they exist, and open looks again.
func (all folders) resolve(name string, host Editor) (place, error) {
	if err := wellFormed(name); err != nil {
		return place{}, err
	}
	if len(all) == 0 {
		return place{}, errors.New("no workspace folder is open: there are no files to work with")
	}
	var first place
	var firstErr error
	for i, abs := range all.candidates(name) {
		at, err := all.contain(abs)
		if err == nil && exists(at, host) {
			return at, nil
		}
		if i == 0 {
			first, firstErr = at, err
		}
	}
	if firstErr != nil {
		return place{}, fmt.Errorf("the path %q %w (%s); file tools stay inside them", oneLine(name, 300), firstErr, all)
	}
	return first, nil
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

// candidates are the absolute paths that a name may mean, the likeliest first.
func (all folders) candidates(name string) []string {
	local := filepath.FromSlash(name)
	if filepath.IsAbs(local) {
		return []string{filepath.Clean(local)}
	}
	var out []string
	for _, f := range all {
		out = append(out, filepath.Join(f.given, local))
	}
	if len(all) > 1 {
		head, rest, _ := strings.Cut(filepath.ToSlash(filepath.Clean(local)), "/")
		for _, f := range all {
			if filepath.Base(f.given) == head {
				out = append(out, filepath.Join(f.given, filepath.FromSlash(rest)))
			}
		}
	}
	return out
}

// contain says where an absolute path is, when it is inside a folder.
func (all folders) contain(abs string) (place, error) {
	real, err := resolveLinks(abs)
	if err != nil {
		return place{}, err
	}
	for _, f := range all {
		if rel, err := filepath.Rel(f.real, real); err == nil && filepath.IsLocal(rel) {
			return place{abs: abs, real: real, root: f.real, shown: all.show(f, rel)}, nil
		}
	}
	return place{}, errOutside
}

// show is how the model is told of a path.
func (all folders) show(f folder, rel string) string {
	if len(all) > 1 {
		rel = filepath.Join(filepath.Base(f.given), rel)
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
