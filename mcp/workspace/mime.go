package workspace

import (
	"path"
	"strings"
)

// mimeTypes are those a model or an editor makes something of. The system's
// own table is not asked: it differs from machine to machine, and takes .ts
// for video.
//
//nolint:gochecknoglobals // a constant table
var mimeTypes = map[string]string{
	".bash": "text/x-shellscript", ".c": "text/x-c", ".cc": "text/x-c++", ".cpp": "text/x-c++", ".cs": "text/x-csharp",
	".css": "text/css", ".csv": "text/csv", ".gif": "image/gif", ".go": "text/x-go", ".h": "text/x-c", ".hpp": "text/x-c++",
	".htm": "text/html", ".html": "text/html", ".java": "text/x-java", ".jpeg": "image/jpeg", ".jpg": "image/jpeg",
	".js": "text/javascript", ".json": "application/json", ".jsx": "text/jsx", ".kt": "text/x-kotlin", ".lua": "text/x-lua",
	".md": "text/markdown", ".mjs": "text/javascript", ".pdf": "application/pdf", ".php": "text/x-php", ".png": "image/png",
	".py": "text/x-python", ".rb": "text/x-ruby", ".rs": "text/x-rust", ".sh": "text/x-shellscript", ".sql": "application/sql",
	".svg": "image/svg+xml", ".swift": "text/x-swift", ".toml": "application/toml", ".ts": "text/typescript", ".tsx": "text/tsx",
	".txt": "text/plain", ".webp": "image/webp", ".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml",
	".zip": "application/zip",
}

// mimeType goes by the file's name; unknown is the answer for any other.
func mimeType(rel, unknown string) string {
	if m, ok := mimeTypes[strings.ToLower(path.Ext(rel))]; ok {
		return m
	}
	return unknown
}
