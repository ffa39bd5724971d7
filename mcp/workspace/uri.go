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

// fileURI names a file of CONTRACT §9: its slash-separated path below the
// folder, each segment percent-encoded, behind the folder's name where there
// are several.
func fileURI(f *folder, rel string, several bool) string {
	if several {
		return fileScheme + url.PathEscape(f.name) + "/" + escapePath(rel)
	}
	return fileScheme + escapePath(rel)
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

// parseFile is the reverse of fileURI. What could lead out of the folder
// (an absolute path, "..", NUL, a separator inside a segment) is no file URI.
func parseFile(folders []*folder, uri string) (f *folder, rel string, ok bool) {
	rest, ok := strings.CutPrefix(uri, fileScheme)
	if !ok || len(folders) == 0 {
		return nil, "", false
	}
	f = folders[0]
	if len(folders) > 1 {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if f = byName(folders, name); f == nil {
			return nil, "", false
		}
	}
	segments := strings.Split(rest, "/")
	for i, s := range segments {
		name, err := url.PathUnescape(s)
		if err != nil || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			return nil, "", false
		}
		if runtime.GOOS == "windows" && strings.ContainsAny(name, `\:`) {
			return nil, "", false
		}
		segments[i] = name
	}
	rel = strings.Join(segments, "/")
	return f, rel, filepath.IsLocal(filepath.FromSlash(rel))
}

// byName takes a folder's name as it stands in a URI.
func byName(folders []*folder, name string) *folder {
	name, err := url.PathUnescape(name)
	if err != nil {
		return nil
	}
	for _, f := range folders {
		if f.name == name {
			return f
		}
	}
	return nil
}
