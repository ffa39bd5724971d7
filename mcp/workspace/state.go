package workspace

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Folder is one workspace folder.
type Folder struct {
	Path string // absolute
	Name string // the editor's; may be empty
	// Unique is what URIs and paths begin with where there are several folders.
	// It is the state's to give: [State.SetFolders] passes over it.
	Unique string
	// Trusted: git may run in it (CONTRACT §2).
	Trusted bool
}

// Document is an open document as the editor has it.
type Document struct {
	Path       string // absolute; empty for untitled
	URI        string // the editor's URI
	LanguageID string
	Version    int32
	Text       string
	Dirty      bool // differs from what was last opened or saved
}

// What makes a document a prompt buffer: a question is not context for itself.
const (
	promptLanguage  = "agentls"
	promptExtension = ".agentls.md"
)

func isPrompt(d Document) bool {
	return d.LanguageID == promptLanguage || strings.HasSuffix(d.URI, promptExtension) || strings.HasSuffix(d.Path, promptExtension)
}

// State is what the editor told: folders and open texts. lsp writes it, the
// manager reads it. Safe for concurrent use; every method returns at once.
type State struct {
	mu       sync.RWMutex
	folders  []*folder           // replaced as a whole, never changed
	docs     map[string]Document // by the editor's URI
	paths    map[string]string   // pathKey → the editor's URI
	untitled map[string]int      // the editor's URI → n of buffer://untitled/n
	lastN    int
	feeds    map[*feed]struct{}
	watchers map[chan struct{}]struct{} // of the folders

	trustWanted chan struct{}          // 1 slot
	unwatched   chan struct{}          // 1 slot
	diagnosing  bool                   // the editor tells all diagnostics by itself
	diagnosed   map[string]Diagnostics // by their key; none is empty
	diagnostics int                    // how many there are in all
}

// NewState returns an empty state.
func NewState() *State {
	return &State{
		docs:     map[string]Document{},
		paths:    map[string]string{},
		untitled: map[string]int{},
		feeds:    map[*feed]struct{}{},
		watchers: map[chan struct{}]struct{}{},

		diagnosed: map[string]Diagnostics{}, trustWanted: make(chan struct{}, 1), unwatched: make(chan struct{}, 1),
	}
}

// SetFolders replaces the folders. A folder that is new is scanned and
// watched in the background by the server that serves the state. A path that
// is not absolute, or comes twice, is passed over. One that stays, stays
// trusted.
func (s *State) SetFolders(list []Folder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := map[string]*folder{}
	for _, f := range s.folders {
		old[pathKey(f.path)] = f
	}
	seen := map[string]bool{}
	names := map[string]bool{}
	next := make([]*folder, 0, len(list))
	for _, f := range list {
		path := filepath.Clean(f.Path)
		if !filepath.IsAbs(path) || seen[pathKey(path)] {
			continue
		}
		seen[pathKey(path)] = true
		next = append(next, newFolder(Folder{Path: path, Name: f.Name, Trusted: f.Trusted}, names, old[pathKey(path)]))
	}
	s.folders = next
	s.foldersChanged()
}

// foldersChanged tells who wants to know; s.mu is held.
func (s *State) foldersChanged() {
	for f := range s.feeds {
		f.foldersChanged()
	}
	for c := range s.watchers {
		signal(c)
	}
}

// WatchFolders gives a token whenever the folders, or the trust in one, may
// have changed, until end is called. Tokens merge.
func (s *State) WatchFolders() (changed <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[c] = struct{}{}
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, c)
	}
}

// Folders returns the folders in the editor's order.
func (s *State) Folders() []Folder {
	var list []Folder
	for _, f := range s.roots() {
		list = append(list, Folder{Path: f.path, Name: f.given, Unique: f.name, Trusted: f.trusted})
	}
	return list
}

// TrustFolder marks the folder at a path as trusted.
func (s *State) TrustFolder(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.folders, func(f *folder) bool { return pathKey(f.path) == pathKey(path) })
	if i < 0 || s.folders[i].trusted {
		return
	}
	trusted := *s.folders[i]
	trusted.trusted = true
	s.folders = slices.Clone(s.folders)
	s.folders[i] = &trusted
	s.foldersChanged()
}

// TrustWanted has a token when something was refused because a folder is not
// trusted.
func (s *State) TrustWanted() <-chan struct{} { return s.trustWanted }

func (s *State) wantTrust() { signal(s.trustWanted) }

// Unwatched has a token when a directory of the workspace cannot be watched:
// who knows of changes in it should tell [State.FilesChanged].
func (s *State) Unwatched() <-chan struct{} { return s.unwatched }

// Miss says that changes of the workspace will be missed.
func (s *State) Miss() { signal(s.unwatched) }

// roots returns the folders; the slice is never written again.
func (s *State) roots() []*folder {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.folders
}

// SetDocument stores an open document's text (didOpen, didChange, didSave).
func (s *State) SetDocument(d Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, open := s.docs[d.URI]
	if open && was.Path != d.Path {
		s.forget(was)
		open = false
	}
	s.docs[d.URI] = d
	s.forgetGlimpsed(d, false)
	switch {
	case d.Path != "":
		s.paths[pathKey(d.Path)] = d.URI
	case isPrompt(d):
		if s.untitled[d.URI] != 0 { // it was none before
			s.tell(was, true)
			delete(s.untitled, d.URI)
		}
	case s.untitled[d.URI] == 0:
		s.lastN++
		s.untitled[d.URI] = s.lastN
	}
	if !open || was.Text != d.Text {
		s.tell(d, !open || was.LanguageID != d.LanguageID)
	}
}

// CloseDocument forgets the document with the editor's URI.
func (s *State) CloseDocument(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.docs[uri]; ok {
		s.forget(d)
	}
}

// forget drops a document; s.mu is held.
func (s *State) forget(d Document) {
	s.tell(d, true)
	s.forgetGlimpsed(d, true)
	delete(s.docs, d.URI)
	delete(s.untitled, d.URI)
	if d.Path != "" && s.paths[pathKey(d.Path)] == d.URI {
		delete(s.paths, pathKey(d.Path))
	}
}

// tell notes a change of a document for every feed; s.mu is held.
func (s *State) tell(d Document, presence bool) {
	for f := range s.feeds {
		f.documentChanged(docKey{path: d.Path, untitled: s.untitled[d.URI]}, presence)
	}
}

// ByPath returns the open document of a file, if any. The folder may be
// spelled as the editor has it or with its symlinks resolved.
func (s *State) ByPath(path string) (Document, bool) {
	if d, ok := s.byKey(pathKey(path)); ok {
		return d, true
	}
	f, rel, ok := s.folderOf(path)
	if !ok {
		return Document{}, false
	}
	if d, ok := s.byKey(pathKey(f.join(rel))); ok {
		return d, true
	}
	return s.byKey(pathKey(filepath.Join(f.ignore.place().real, filepath.FromSlash(rel))))
}

func (s *State) byKey(key string) (Document, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	uri, ok := s.paths[key]
	if !ok {
		return Document{}, false
	}
	return s.docs[uri], true
}

// buffer returns the open document behind buffer://untitled/n.
func (s *State) buffer(n int) (Document, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for uri, have := range s.untitled {
		if have == n {
			return s.docs[uri], true
		}
	}
	return Document{}, false
}

// open returns the paths of the open files and the numbers of the untitled
// buffers with their URIs.
func (s *State) open() (paths []string, untitled map[int]string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	untitled = make(map[int]string, len(s.untitled))
	for uri, n := range s.untitled {
		untitled[n] = uri
	}
	for _, d := range s.docs {
		if d.Path != "" {
			paths = append(paths, d.Path)
		}
	}
	slices.Sort(paths)
	return paths, untitled
}

// dirty returns the paths of the files with unsaved changes.
func (s *State) dirty() (paths []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, d := range s.docs {
		if d.Path != "" && d.Dirty && !isPrompt(d) {
			paths = append(paths, d.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// Ignored reports whether a path below a folder is ignored: by a .gitignore
// from the repository's top down to it (also by one above the folder), by
// .git/info/exclude, through an ignored directory above it, or as .git itself.
// A path outside the folders, or a folder itself, is not. The path is taken as
// written: resolve symlinks first and ask about both.
func (s *State) Ignored(path string, dir bool) bool {
	f, rel, ok := s.folderOf(path)
	return ok && rel != "" && f.ignore.ignored(rel, dir)
}

// folderOf finds the innermost folder that holds path and the slash-separated
// rest; a folder itself has the rest "".
func (s *State) folderOf(path string) (best *folder, rel string, ok bool) {
	for _, f := range s.roots() {
		r, in := within(f.path, path)
		if !in {
			r, in = within(f.ignore.place().real, path)
		}
		if in && (!ok || len(r) < len(rel)) {
			best, rel, ok = f, r, true
		}
	}
	return best, rel, ok
}
