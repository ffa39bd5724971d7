package workspace

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"
)

// still returns a scanner whose goroutines do not run, and the URIs it lists.
func still(t *testing.T, s *State, log *slog.Logger) (*scanner, func() []string) {
	sc := newScanner(s, newInterest(), newOutbox(), log)
	t.Cleanup(func() {
		sc.endFeed()
		sc.watches.Close()
	})
	return sc, func() []string {
		var uris []string
		for _, e := range sc.take() {
			uris = append(uris, e.uri)
		}
		return uris
	}
}

func TestUnwatchedDirectoriesArePolled(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "", "d/b.md": "", "d/e/c.md": ""})
	var log bytes.Buffer
	sc, list := still(t, stateOf(dir), slog.New(slog.NewTextHandler(&log, nil)))
	sc.watches.Limit = 1
	sc.apply(t.Context(), pending{folders: true})
	if got := list(); !slices.Equal(got, []string{"file://a.md", "file://d/b.md", "file://d/e/c.md"}) {
		t.Fatalf("%q", got)
	}
	if n := strings.Count(log.String(), "too many directories"); n != 1 {
		t.Errorf("said %d times: %s", n, &log)
	}
	select {
	case <-sc.state.Unwatched():
	default:
		t.Error("nobody is told that changes will be missed")
	}
	write(t, dir, map[string]string{"d/new.md": "", "d/e/f/x.md": ""})
	if err := os.Remove(filepath.Join(dir, "d", "e", "c.md")); err != nil {
		t.Fatal(err)
	}
	sc.poll(t.Context())
	if got := list(); !slices.Equal(got, []string{"file://a.md", "file://d/b.md", "file://d/e/f/x.md", "file://d/new.md"}) {
		t.Errorf("%q", got)
	}
	if sc.watches.Used() != 1 {
		t.Errorf("%d watches", sc.watches.Used())
	}
}

func TestLostEvents(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "", "d/b.md": ""})
	sc, list := still(t, stateOf(dir), slog.New(slog.DiscardHandler))
	sc.apply(t.Context(), pending{folders: true})
	list()
	sc.interest.note(docKey{path: pathKey(filepath.Join(dir, "a.md"))}, "file://a.md")
	write(t, dir, map[string]string{"d/e/c.md": ""})
	sc.apply(t.Context(), pending{all: true})
	if got := list(); !slices.Equal(got, []string{"file://a.md", "file://d/b.md", "file://d/e/c.md"}) {
		t.Errorf("%q", got)
	}
	if got := sc.outbox.take(); len(got) != 2 || got[0].Method != methodListChanged || got[1].Params != (updatedParams{URI: "file://a.md"}) {
		t.Errorf("%+v", got)
	}
	if sc.watches.Used() != 3 || len(sc.watches.List()) != 3 {
		t.Errorf("%d watches, %q", sc.watches.Used(), sc.watches.List())
	}
}

func TestGatheredChangesAreBounded(t *testing.T) {
	sc, _ := still(t, NewState(), slog.New(slog.DiscardHandler))
	for i := range 3 * maxPending {
		sc.gather(func(p *pending) { p.paths[strings.Repeat("x", i%97)+string(rune(i))] = fsnotify.Write })
	}
	if len(sc.pending.paths) > maxPending || !sc.pending.all {
		t.Errorf("%d paths, all %v", len(sc.pending.paths), sc.pending.all)
	}
}

func TestListIsBounded(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"1": "", "2": "", "d/3": "", "d/4": "", "d/e/5": "", "f/6": ""})
	var log bytes.Buffer
	sc, _ := still(t, stateOf(dir), slog.New(slog.NewTextHandler(&log, nil)))
	tree := newTree(sc.state.roots()[0], sc.watches, sc.log, func(string) bool { return false })
	tree.max = 3
	tree.scan(t.Context(), []string{""})
	for range 2 {
		tree.scan(t.Context(), tree.refresh(map[string]*stale{"d": {}, "": {}}))
	}
	if tree.files != 3 || !tree.has("1") || !tree.has("2") {
		t.Errorf("%d files: %+v", tree.files, tree.dirs)
	}
	if n := strings.Count(log.String(), "too large"); n != 1 {
		t.Errorf("said %d times: %s", n, &log)
	}
}
