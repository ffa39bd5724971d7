package workspace

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// FileChange is a change on disk that somebody else saw.
type FileChange struct {
	Path string // absolute
	Kind ChangeKind
}

// ChangeKind says what happened to a file or a directory.
type ChangeKind fsnotify.Op

// The kinds of a [FileChange].
const (
	Created = ChangeKind(fsnotify.Create)
	Changed = ChangeKind(fsnotify.Write)
	Deleted = ChangeKind(fsnotify.Remove)
)

// FilesChanged tells of changes on disk. They are looked at, not believed, and
// what was seen here already costs little.
func (s *State) FilesChanged(list []FileChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.feeds {
		f.filesChanged(list)
	}
}

// feed collects what changed in a [State] for one reader. Writers never wait:
// like changes fall together, and kick holds one token.
type feed struct {
	kick    chan struct{}
	mu      sync.Mutex
	folders bool
	docs    map[docKey]bool // whether it was opened or closed
	files   map[string]fsnotify.Op
}

// docKey names what can change: a document by its path, or its number where it
// is untitled; or what kind says.
type docKey struct {
	kind     string
	path     string
	untitled int
}

// The kinds of a docKey beside a document's text.
const (
	kindDiagnostics = "diagnostics" // of the path; "" is all of them
	kindDiff        = "diff"        // path is the word behind git://diff/
)

// feed starts one; end stops it.
func (s *State) feed() (f *feed, end func()) {
	f = &feed{kick: make(chan struct{}, 1), docs: map[docKey]bool{}, files: map[string]fsnotify.Op{}}
	s.mu.Lock()
	s.feeds[f] = struct{}{}
	s.mu.Unlock()
	return f, func() {
		s.mu.Lock()
		delete(s.feeds, f)
		s.mu.Unlock()
	}
}

func (f *feed) foldersChanged() {
	f.mu.Lock()
	f.folders = true
	f.mu.Unlock()
	signal(f.kick)
}

func (f *feed) documentChanged(key docKey, presence bool) {
	f.mu.Lock()
	f.docs[key] = f.docs[key] || presence
	f.mu.Unlock()
	signal(f.kick)
}

// filesChanged takes what the editor tells of the disk. Beyond maxPending it is
// enough to know that there is more.
func (f *feed) filesChanged(list []FileChange) {
	f.mu.Lock()
	for _, c := range list {
		if len(f.files) > maxPending {
			break
		}
		f.files[c.Path] |= fsnotify.Op(c.Kind)
	}
	f.mu.Unlock()
	signal(f.kick)
}

// take returns what changed since it was last called.
func (f *feed) take() (folders bool, docs map[docKey]bool, files map[string]fsnotify.Op) {
	f.mu.Lock()
	defer f.mu.Unlock()
	folders, docs, files = f.folders, f.docs, f.files
	f.folders, f.docs, f.files = false, map[docKey]bool{}, map[string]fsnotify.Op{}
	return folders, docs, files
}

// signal puts a token into a channel with room for one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
