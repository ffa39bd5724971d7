package workspace

import (
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

const (
	fileScheme   = "file://"
	bufferPrefix = "buffer://untitled/"
)

// fileURI names a file's text.
func fileURI(f *folder, rel string, several bool) string { return pathURI(fileScheme, f, rel, several) }

// pathURI names a file of CONTRACT §9: its slash-separated path below the
// folder, each segment percent-encoded, behind the folder's name where there
// are several.
func pathURI(scheme string, f *folder, rel string, several bool) string {
	if several {
		return scheme + url.PathEscape(f.name) + "/" + escapePath(rel)
	}
	return scheme + escapePath(rel)
}

func escapePath(rel string) string {
	if !strings.ContainsFunc(rel, needsEscape) {
		return rel
	}
	segments := strings.Split(rel, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

// needsEscape keeps ordinary paths from being split and joined.
func needsEscape(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/-._", r))
}

func bufferURI(n int) string { return bufferPrefix + strconv.Itoa(n) }

// parseBuffer is the reverse of bufferURI.
func parseBuffer(uri string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(uri, bufferPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(rest)
	return n, err == nil && n > 0 && strconv.Itoa(n) == rest
}

// parsePath is the reverse of pathURI with what stands before the path. What
// could lead out of the folder (an absolute path, "..", NUL, a separator inside
// a segment) is no path.
func parsePath(rest string) (rel string, ok bool) {
	segments := strings.Split(rest, "/")
	for i, s := range segments {
		name, err := url.PathUnescape(s)
		if err != nil || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			return "", false
		}
		if runtime.GOOS == "windows" && strings.ContainsAny(name, `\:`) {
			return "", false
		}
		segments[i] = name
	}
	rel = strings.Join(segments, "/")
	return rel, filepath.IsLocal(filepath.FromSlash(rel))
}

// parseFile is the reverse of pathURI.
func parseFile(folders []*folder, scheme, uri string) (f *folder, rel string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok || len(folders) == 0 {
		return nil, "", false
	}
	f = folders[0]
	if len(folders) > 1 {
		if f, rest = namedFolder(folders, rest); f == nil {
			return nil, "", false
		}
	}
	rel, ok = parsePath(rest)
	return f, rel, ok
}

// otherForm reads a URI in the form that holds where the number of folders is
// another one: a mention outlives the folder that was added or removed after
// it. It names a file only if there is exactly one that it can mean.
func otherForm(folders []*folder, scheme, uri string, there func(f *folder, rel string) bool) (found *folder, rel string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok || len(folders) == 0 {
		return nil, "", false
	}
	named, below := namedFolder(folders, rest)
	switch {
	case len(folders) > 1 && named == nil:
		below = rest
	case len(folders) > 1 || named == nil:
		return nil, "", false
	}
	if rel, ok = parsePath(below); !ok {
		return nil, "", false
	}
	for _, f := range folders {
		if there(f, rel) {
			if found != nil {
				return nil, "", false
			}
			found = f
		}
	}
	return found, rel, found != nil
}

// namedFolder finds the folder that a path begins with, as it stands in a URI.
func namedFolder(folders []*folder, rest string) (f *folder, below string) {
	head, below, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(head)
	if err != nil {
		return nil, ""
	}
	for _, f := range folders {
		if f.name == name {
			return f, below
		}
	}
	return nil, ""
}
