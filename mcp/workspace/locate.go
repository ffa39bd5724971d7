package workspace

import "os"

// Locate says where a resource of the embedded server stands for a person: the
// path of a file that is there, on disk or in the editor, or the editor's URI
// of an unsaved buffer. Diagnostics and diffs stand nowhere.
func (s *State) Locate(uri string) (path, editorURI string, ok bool) {
	if n, ok := parseBuffer(uri); ok {
		d, ok := s.buffer(n)
		return "", d.URI, ok
	}
	f, rel, ok := s.file(fileScheme, uri)
	if !ok || !s.isFile(f, rel) {
		return "", "", false
	}
	return f.join(rel), "", true
}

// file reads a URI as one of a file, there or not, also in the form for another
// number of folders.
func (s *State) file(scheme, uri string) (f *folder, rel string, ok bool) {
	folders := s.roots()
	f, rel, ok = parseFile(folders, scheme, uri)
	if !ok || !s.isFile(f, rel) {
		if other, below, found := otherForm(folders, scheme, uri, s.isFile); found {
			return other, below, true
		}
	}
	return f, rel, ok
}

// isFile reports whether there is a file, on disk or in the editor.
func (s *State) isFile(f *folder, rel string) bool {
	if _, open := s.ByPath(f.join(rel)); open {
		return true
	}
	info, err := os.Lstat(f.join(rel))
	return err == nil && !info.IsDir()
}
