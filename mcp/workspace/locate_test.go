package workspace

import (
	"path/filepath"
	"testing"
)

func TestLocate(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"a/x y.md": "x", "a/sub/z.md": "z", "b/only.md": "b"})
	s := NewState()
	check := func(uri, wantPath, wantURI string) {
		t.Helper()
		path, editor, ok := s.Locate(uri)
		if wantPath != "" {
			wantPath = filepath.Join(top, wantPath)
		}
		if path != wantPath || editor != wantURI || ok != (wantPath+wantURI != "") {
			t.Errorf("%s: %q %q %v", uri, path, editor, ok)
		}
	}
	check("file://x%20y.md", "", "")
	s.SetFolders([]Folder{{Path: filepath.Join(top, "a"), Name: "a"}})
	check("file://x%20y.md", "a/x y.md", "")
	check("file://a/x%20y.md", "a/x y.md", "") // of when there were several folders
	check("file://sub/z.md", "a/sub/z.md", "")
	for _, uri := range []string{"file://sub", "file://nothing.md", "file://../b/only.md", "file:///etc/passwd", "file://", "diagnostics://all", "diagnostics://sub/z.md", "git://diff/staged", "buffer://untitled/1", "x:y"} {
		check(uri, "", "")
	}
	s.SetDocument(Document{URI: "untitled:Untitled-1", LanguageID: "go", Text: "x"})
	s.SetDocument(Document{URI: "file:///new", Path: filepath.Join(top, "a", "new.go"), Text: "not on disk"})
	check("buffer://untitled/1", "", "untitled:Untitled-1")
	check("file://new.go", "a/new.go", "")
	s.SetFolders([]Folder{{Path: filepath.Join(top, "a"), Name: "a"}, {Path: filepath.Join(top, "b"), Name: "b"}})
	check("file://b/only.md", "b/only.md", "")
	check("file://a/sub/z.md", "a/sub/z.md", "")
}
