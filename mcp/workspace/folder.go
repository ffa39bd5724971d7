package workspace

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
)

// folder is a workspace folder as the server knows it. Never changed.
type folder struct {
	path    string // absolute, clean, as the editor spells it
	given   string // the editor's name for it
	name    string // unique among the folders, for URIs
	trusted bool
	ignore  *ignorer
}

// newFolder takes over what old, the same folder of before, knows of the
// ignore rules, and keeps its trust. names holds the names in use and gets one more.
func newFolder(f Folder, names map[string]bool, old *folder) *folder {
	name := UniqueName(f.Name, f.Path, names)
	ignore := newIgnorer(f.Path)
	if old != nil {
		ignore, f.Trusted = old.ignore, f.Trusted || old.trusted
	}
	return &folder{path: f.Path, given: f.Name, name: name, trusted: f.Trusted, ignore: ignore}
}

// UniqueName is what the URIs and paths of a folder's files begin with where
// there are several folders: the editor's name for it, else the last one of its
// path, in one segment of a path. taken holds those of the folders before, and
// gets one more.
func UniqueName(given, path string, taken map[string]bool) string {
	base := segment(given)
	if base == "" {
		base = segment(filepath.Base(path))
	}
	if base == "" {
		base = "root" // of the disk
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s~%d", base, n)
	}
	taken[name] = true
	return name
}

// segment makes one segment of a path out of a name; "" where none can be made.
func segment(name string) string {
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '/' || r == '\\' || r == ':':
			return '-'
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, name))
	if strings.Trim(name, ".-") == "" {
		return ""
	}
	return name
}

// join is the absolute path of a slash-separated one below the folder.
func (f *folder) join(rel string) string {
	return filepath.Join(f.path, filepath.FromSlash(rel))
}

// pathKey makes spellings of one path equal as far as that needs no disk.
func pathKey(path string) string {
	path = filepath.Clean(path)
	if runtime.GOOS == "windows" {
		path = strings.ToLower(path)
	}
	return path
}

// within gives the slash-separated rest of path below root.
func within(root, path string) (rel string, ok bool) {
	path = filepath.Clean(path)
	// Lower case may change a text's length; such a path is no match.
	key, rootKey := pathKey(path), pathKey(root)
	if key == rootKey {
		return "", true
	}
	if !strings.HasSuffix(rootKey, string(filepath.Separator)) {
		rootKey += string(filepath.Separator)
	}
	if len(key) != len(path) || !strings.HasPrefix(key, rootKey) {
		return "", false
	}
	return filepath.ToSlash(path[len(rootKey):]), true
}
