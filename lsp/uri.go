package lsp

import (
	"path/filepath"
	"strings"

	"go.lsp.dev/uri"
)

// canonical gives the spellings of a file URI one form, and its path. Others
// are taken byte for byte and have no path: an MCP server's URI would not
// survive being parsed and written again.
func canonical(u string) (key, path string) {
	const scheme = "file:"
	if len(u) < len(scheme) || !strings.EqualFold(u[:len(scheme)], scheme) {
		return u, ""
	}
	rest := u[len(scheme):]
	if local, ok := strings.CutPrefix(rest, "//localhost/"); ok {
		rest = "///" + local
	}
	parsed, err := uri.Parse(scheme + rest)
	if err != nil {
		return u, ""
	}
	path = parsed.FsPath()
	if strings.Contains(path, "\x00") || !filepath.IsAbs(path) {
		return string(parsed), ""
	}
	path = filepath.Clean(path)
	return string(uri.File(path)), path
}
