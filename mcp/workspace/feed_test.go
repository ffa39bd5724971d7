package workspace

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
)

// What the editor tells of directories that are not watched counts at once,
// and only as far as it is true.
func TestFilesThatTheEditorTellsOf(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "", "d/b.md": "1"})
	sc, list := still(t, stateOf(dir), slog.New(slog.DiscardHandler))
	sc.watches.Limit = 0
	sc.apply(t.Context(), pending{folders: true})
	told := func(kind ChangeKind, names ...string) {
		t.Helper()
		var news []FileChange
		for _, name := range names {
			news = append(news, FileChange{filepath.Join(dir, name), kind})
		}
		sc.state.FilesChanged(news)
		<-sc.feed.kick
		sc.documents()
		sc.mu.Lock()
		p := sc.pending
		sc.pending = newPending()
		sc.mu.Unlock()
		sc.apply(t.Context(), p)
	}
	want := func(uris ...string) {
		t.Helper()
		if got := list(); !slices.Equal(got, uris) {
			t.Errorf("%q, want %q", got, uris)
		}
	}
	write(t, dir, map[string]string{"d/new.md": "", "e/f/g.md": ""})
	want("file://a.md", "file://d/b.md") // not looked at yet
	told(Created, "d/new.md", "e", "nosuch.md", "../outside.md")
	want("file://a.md", "file://d/b.md", "file://d/new.md", "file://e/f/g.md")
	told(Deleted, "a.md") // which is not true
	want("file://a.md", "file://d/b.md", "file://d/new.md", "file://e/f/g.md")

	sc.outbox.take()
	sc.interest.note(docKey{path: pathKey(filepath.Join(dir, "d", "b.md"))}, "file://d/b.md")
	told(Changed, "d/b.md", "a.md")
	if got := sc.outbox.take(); len(got) != 1 || got[0].Params != (updatedParams{URI: "file://d/b.md"}) {
		t.Errorf("%+v", got)
	}

	// Of more than can be gathered all is looked at.
	write(t, dir, map[string]string{"e/late.md": ""})
	var many []string
	for i := range 3 * maxPending {
		many = append(many, fmt.Sprintf("gone/%d", i))
	}
	told(Created, many...)
	if n := len(sc.feed.files); n != 0 {
		t.Errorf("%d changes are kept", n)
	}
	want("file://a.md", "file://d/b.md", "file://d/new.md", "file://e/f/g.md", "file://e/late.md")
}
