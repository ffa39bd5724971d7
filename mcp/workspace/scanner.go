package workspace

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"agentls/mcp/watch"
)

const (
	// settle is how long changes on disk are gathered before they are acted on.
	settle = 100 * time.Millisecond
	// maxPending is the number of gathered changes from which everything is
	// read again instead.
	maxPending = 10_000
)

// scanner keeps the list of resources. One goroutine (listen) drains the
// watcher and the editor's changes and never waits, the other (run) reads the
// disk.
type scanner struct {
	state    *State
	interest *interest
	outbox   *outbox
	log      *slog.Logger
	feed     *feed
	endFeed  func()
	watches  *watch.Dirs
	trees    []*tree // of run alone, as texts is
	texts    []entry
	git      bool // there is one
	kick     chan struct{}
	ended    chan struct{} // closed when run is

	mu        sync.Mutex
	pending   pending
	entries   []entry         // sorted by URI, replaced as a whole
	folders   []*folder       // those that entries were made from; nil before the first scan
	published chan struct{}   // closed with the next list
	served    bool            // the client has seen a list
	gitDirs   map[string]bool // watched; written by run alone
}

// pending is what listen gathered for run.
type pending struct {
	folders  bool                   // other folders
	extras   bool                   // the list has changed beside its texts
	all      bool                   // events were lost
	presence map[docKey]struct{}    // documents opened or closed
	paths    map[string]fsnotify.Op // absolute
	index    bool                   // of git, or its HEAD
}

func newScanner(state *State, i *interest, o *outbox, log *slog.Logger) *scanner {
	s := &scanner{
		state: state, interest: i, outbox: o, log: log,
		kick:      make(chan struct{}, 1),
		ended:     make(chan struct{}),
		pending:   newPending(),
		published: make(chan struct{}),
		gitDirs:   map[string]bool{},
	}
	s.pending.folders = true
	s.feed, s.endFeed = state.feed()
	s.watches = watch.NewDirs(log)
	signal(s.kick)
	return s
}

func newPending() pending {
	return pending{presence: map[docKey]struct{}{}, paths: map[string]fsnotify.Op{}}
}

// listen gathers changes until run has ended: it may wait for a watcher whose
// events nobody takes.
func (s *scanner) listen() {
	defer s.endFeed()
	defer s.watches.Close()
	events, errs := s.watches.Events(), s.watches.Errors()
	for {
		select {
		case <-s.ended:
			return
		case <-s.feed.kick:
			s.documents()
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if e.Op&^fsnotify.Chmod != 0 {
				s.happened(e)
			}
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			s.log.Debug("the file watcher lost events", "err", err)
			s.gather(func(p *pending) { p.all = true })
		}
	}
}

// documents tells the changes of open texts at once, and leaves to run what
// may change the list.
func (s *scanner) documents() {
	folders, docs, files := s.feed.take()
	for name, op := range files {
		if f, rel, ok := s.state.folderOf(name); ok {
			name = f.join(rel)
		}
		s.happened(fsnotify.Event{Name: name, Op: op})
	}
	presence, extras := map[docKey]struct{}{}, false
	for key, opened := range docs {
		if key.path != "" {
			if f, rel, ok := s.state.folderOf(key.path); ok {
				key.path = pathKey(f.join(rel))
			}
		}
		if uri, ok := s.interest.changed(key); ok {
			s.outbox.resourceUpdated(uri)
		}
		switch {
		case key.kind == kindDiagnostics:
			extras = extras || opened
			if uri, ok := s.interest.changed(docKey{kind: kindDiagnostics}); ok {
				s.outbox.resourceUpdated(uri)
			}
		case opened:
			presence[key] = struct{}{}
		}
	}
	if folders || extras || len(presence) > 0 {
		s.gather(func(p *pending) {
			p.folders = p.folders || folders
			p.extras = p.extras || extras
			maps.Copy(p.presence, presence)
		})
	}
}

// happened gathers an event of the watcher.
func (s *scanner) happened(e fsnotify.Event) {
	s.gather(func(p *pending) {
		if s.gitDirs[filepath.Dir(e.Name)] {
			p.index = p.index || slices.Contains(gitState, filepath.Base(e.Name))
		} else {
			p.paths[e.Name] |= e.Op
		}
	})
}

func (s *scanner) gather(add func(*pending)) {
	s.mu.Lock()
	add(&s.pending)
	if len(s.pending.paths) > maxPending {
		clear(s.pending.paths)
		s.pending.all = true
	}
	s.mu.Unlock()
	signal(s.kick)
}

// run acts on what was gathered until ctx ends.
func (s *scanner) run(ctx context.Context) {
	defer close(s.ended)
	poll := time.NewTicker(watch.PollEvery)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			s.poll(ctx)
			continue
		case <-s.kick:
		}
		if !s.urgent() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(settle):
			}
		}
		s.mu.Lock()
		p := s.pending
		s.pending = newPending()
		s.mu.Unlock()
		s.apply(ctx, p)
	}
}

// urgent: other folders are not waited with.
func (s *scanner) urgent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending.folders
}

func (s *scanner) apply(ctx context.Context, p pending) {
	dirty := p.folders || p.all || s.unlisted(p.presence)
	if p.folders {
		s.replaceFolders(ctx)
	}
	stales := make([]map[string]*stale, len(s.trees))
	for i, t := range s.trees {
		if p.all {
			stales[i] = map[string]*stale{"": {deep: true}}
		} else {
			stales[i] = staleDirs(t, p.paths)
		}
		dirty = dirty || len(stales[i]) > 0
	}
	s.refresh(ctx, stales)
	if ctx.Err() != nil {
		return // half a list is none
	}
	switch {
	case dirty:
		s.publish()
	case p.extras:
		s.republish()
	}
	if p.all {
		s.interest.everything(s.outbox.resourceUpdated)
	}
	for _, name := range slices.Sorted(maps.Keys(p.paths)) {
		s.fileChanged(name)
	}
	if p.index || len(p.paths) > 0 {
		s.diffsChanged(p.index)
	}
}

// refresh reads what is stale in each tree. In all of them what is gone is
// dropped before anything new is watched: a directory that was moved keeps its
// watch descriptor.
func (s *scanner) refresh(ctx context.Context, stales []map[string]*stale) {
	scans := make([][]string, len(s.trees))
	for i, t := range s.trees {
		scans[i] = t.refresh(stales[i])
	}
	for i, t := range s.trees {
		t.scan(ctx, scans[i])
	}
}

// unlisted reports whether a document that was opened or closed is listed
// only while it is open.
func (s *scanner) unlisted(keys map[docKey]struct{}) bool {
	for key := range keys {
		if key.untitled != 0 {
			return true
		}
		for _, t := range s.trees {
			if rel, ok := within(t.folder.path, key.path); ok && !t.has(rel) {
				return true
			}
		}
	}
	return false
}

// fileChanged tells a change on disk, unless the editor's text stands before it.
func (s *scanner) fileChanged(name string) {
	if _, open := s.state.ByPath(name); open {
		return
	}
	if uri, ok := s.interest.changed(docKey{path: pathKey(name)}); ok {
		s.outbox.resourceUpdated(uri)
	}
}

// replaceFolders brings the trees in line with the state's folders and scans
// the new ones.
func (s *scanner) replaceFolders(ctx context.Context) {
	folders, before := s.state.roots(), s.trees
	roots := map[string]bool{}
	for _, f := range folders {
		roots[pathKey(f.path)] = true
	}
	nested := func(path string) bool { return roots[pathKey(path)] }
	kept := map[*tree]bool{}
	s.trees = make([]*tree, len(folders))
	for i, f := range folders {
		j := slices.IndexFunc(before, func(t *tree) bool { return t.folder.path == f.path })
		if j >= 0 && sameNesting(before, folders, f.path) {
			s.trees[i] = before[j]
			s.trees[i].folder, s.trees[i].nested = f, nested
			kept[before[j]] = true
		} else {
			s.trees[i] = newTree(f, s.watches, s.log, nested)
		}
	}
	for _, t := range before {
		if !kept[t] {
			t.drop("")
		}
	}
	for _, t := range s.trees {
		if !kept[t] {
			t.scan(ctx, []string{""})
		}
	}
}

// sameNesting reports whether the folders at and below path are those of
// before. If not, path is scanned anew.
func sameNesting(before []*tree, now []*folder, path string) bool {
	was, is := map[string]bool{}, map[string]bool{}
	for _, t := range before {
		if _, ok := within(path, t.folder.path); ok {
			was[t.folder.path] = true
		}
	}
	for _, f := range now {
		if _, ok := within(path, f.path); ok {
			is[f.path] = true
		}
	}
	return maps.Equal(was, is)
}

// poll reads the directories that are not watched.
func (s *scanner) poll(ctx context.Context) {
	stales := make([]map[string]*stale, len(s.trees))
	for i, t := range s.trees {
		stales[i] = map[string]*stale{}
		for _, rel := range t.unwatched() {
			stales[i][rel] = &stale{}
		}
	}
	s.refresh(ctx, stales)
	if ctx.Err() == nil {
		s.publish()
	}
}
