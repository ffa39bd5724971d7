package workspace

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
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
	base := f.Name
	if base == "" {
		base = filepath.Base(f.Path)
	}
	name := base
	for n := 2; names[name]; n++ {
		name = fmt.Sprintf("%s~%d", base, n)
	}
	names[name] = true
	ignore := newIgnorer(f.Path)
	if old != nil {
		ignore, f.Trusted = old.ignore, f.Trusted || old.trusted
	}
	return &folder{path: f.Path, given: f.Name, name: name, trusted: f.Trusted, ignore: ignore}
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
