package workspace

import (
	"path"
	"path/filepath"
	"strings"
)

// SecretName reports whether a path is one of those that hold secrets by
// their name (CONTRACT §7): .env*, *.pem, id_*, .git/config. The case does not
// count: some file systems know none.
func SecretName(p string) bool {
	p = strings.ToLower(filepath.ToSlash(p))
	base := path.Base(p)
	return strings.HasPrefix(base, ".env") || strings.HasSuffix(base, ".pem") || strings.HasPrefix(base, "id_") ||
		p == ".git/config" || strings.HasSuffix(p, "/.git/config")
}
