package workspace

import "sync"

// feed collects what changed in a [State] for one reader. Writers never wait:
// like changes fall together, and kick holds one token.
type feed struct {
	kick    chan struct{}
	mu      sync.Mutex
	folders bool
	docs    map[docKey]bool // whether it was opened or closed
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
	f = &feed{kick: make(chan struct{}, 1), docs: map[docKey]bool{}}
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

// take returns what changed since it was last called.
func (f *feed) take() (folders bool, docs map[docKey]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	folders, docs = f.folders, f.docs
	f.folders, f.docs = false, map[docKey]bool{}
	return folders, docs
}

// signal puts a token into a channel with room for one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
