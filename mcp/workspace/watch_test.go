package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestDiskChangesAreTold(t *testing.T) {
	dir := t.TempDir()
	at := func(rel string) string { return filepath.Join(dir, filepath.FromSlash(rel)) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, map[string]string{"a.md": "1", "sub/deep/b.md": "1"})
	c := serve(t, stateOf(dir))
	c.listed("file://a.md", "file://sub/deep/b.md")

	write(t, dir, map[string]string{"new.md": ""})
	c.told("list_changed")
	c.listed("file://a.md", "file://new.md", "file://sub/deep/b.md")

	write(t, dir, map[string]string{"x/y/z/w.md": ""})
	c.listed("file://a.md", "file://new.md", "file://sub/deep/b.md", "file://x/y/z/w.md")
	write(t, dir, map[string]string{"x/y/z/v.md": ""})
	c.listed("file://a.md", "file://new.md", "file://sub/deep/b.md", "file://x/y/z/v.md", "file://x/y/z/w.md")

	// What was moved is still watched.
	must(os.Rename(at("x"), at("sub/deep/x")))
	c.listed("file://a.md", "file://new.md", "file://sub/deep/b.md", "file://sub/deep/x/y/z/v.md", "file://sub/deep/x/y/z/w.md")
	must(os.Rename(at("sub/deep/x/y/z/v.md"), at("sub/deep/x/y/z/u.md")))
	c.listed("file://a.md", "file://new.md", "file://sub/deep/b.md", "file://sub/deep/x/y/z/u.md", "file://sub/deep/x/y/z/w.md")

	// A directory in another one's place is the new one.
	write(t, dir, map[string]string{"other/c.md": ""})
	c.listed("file://a.md", "file://new.md", "file://other/c.md", "file://sub/deep/b.md", "file://sub/deep/x/y/z/u.md", "file://sub/deep/x/y/z/w.md")
	must(os.RemoveAll(at("sub")))
	must(os.Rename(at("other"), at("sub")))
	c.listed("file://a.md", "file://new.md", "file://sub/c.md")
	write(t, dir, map[string]string{"sub/d.md": ""})
	c.listed("file://a.md", "file://new.md", "file://sub/c.md", "file://sub/d.md")

	// Rules take effect when they are written.
	write(t, dir, map[string]string{"sub/.gitignore": "c.md\n", ".gitignore": "new.*\n"})
	c.listed("file://.gitignore", "file://a.md", "file://sub/.gitignore", "file://sub/d.md")
	must(os.Remove(at(".gitignore")))
	c.listed("file://a.md", "file://new.md", "file://sub/.gitignore", "file://sub/d.md")

	must(os.RemoveAll(at("sub")))
	must(os.Remove(at("new.md")))
	c.listed("file://a.md")
}

func TestContentChangesAreTold(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"read.md": "1", "sub.md": "1", "neither.md": "1"})
	s := stateOf(dir)
	c := serve(t, s)
	c.listed("file://neither.md", "file://read.md", "file://sub.md")
	c.text("file://read.md")
	for _, method := range []string{"resources/subscribe", "resources/unsubscribe", "resources/subscribe"} {
		for _, uri := range []string{"file://sub.md", "file://later%2emd"} {
			if err := c.call(method, map[string]string{"uri": uri}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.call("resources/subscribe", map[string]string{"uri": "file://../x"}, nil); codeOf(err) != codeResourceNotFound {
		t.Errorf("subscribed outside: %v", err)
	}
	write(t, dir, map[string]string{"neither.md": "2", "read.md": "2"})
	c.told("updated file://read.md")
	for _, text := range []string{"2", "3"} {
		write(t, dir, map[string]string{"sub.md": text})
		c.told("updated file://sub.md")
	}
	// Saved by renaming a temporary file over it, as editors do.
	c.text("file://read.md")
	write(t, dir, map[string]string{"tmp": "4"})
	if err := os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "read.md")); err != nil {
		t.Fatal(err)
	}
	c.told("updated file://read.md")
	write(t, dir, map[string]string{"later.md": ""})
	c.told("updated file://later%2emd") // as the client wrote it

	// The editor's text hides the disk's.
	open := Document{Path: filepath.Join(dir, "sub.md"), URI: "file:///sub.md", Text: "mine"}
	s.SetDocument(open)
	c.told("updated file://sub.md")
	write(t, dir, map[string]string{"sub.md": "theirs", "later.md": "2"})
	c.told("updated file://later%2emd")
	select {
	case n := <-c.Notifications():
		if n.Method == methodUpdated && n.Params.(updatedParams).URI == "file://sub.md" {
			t.Errorf("told %+v", n)
		}
	default:
	}
}

func TestRemovedFolder(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"ws/a.md": ""})
	c := serve(t, stateOf(filepath.Join(top, "ws")))
	c.listed("file://a.md")
	if err := os.RemoveAll(filepath.Join(top, "ws")); err != nil {
		t.Fatal(err)
	}
	c.listed()
}

func TestWritersNeverWait(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "disk"})
	s := stateOf(dir)
	c := serve(t, s) // nobody takes its notifications
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 300 {
				d := Document{Path: filepath.Join(dir, fmt.Sprintf("f%d.md", i%5)), URI: fmt.Sprintf("file:///%d/%d", w, i%5), Text: fmt.Sprint(w, i)}
				s.SetDocument(d)
				s.SetDocument(Document{URI: fmt.Sprintf("untitled:%d-%d", w, i), Text: d.Text})
				s.ByPath(d.Path)
				s.Ignored(d.Path, false)
				if _, err := c.tryRead("file://f0.md"); err != nil && codeOf(err) != codeResourceNotFound {
					t.Error(err)
				}
				s.CloseDocument(d.URI)
				s.CloseDocument(fmt.Sprintf("untitled:%d-%d", w, i))
				if i%50 == 0 {
					s.SetFolders([]Folder{{Path: dir, Name: "ws"}})
				}
			}
		})
	}
	writers.Wait()
	c.listed("file://a.md")
	if s.lastN > 8*300 {
		t.Errorf("%d buffers", s.lastN)
	}
}

func TestCloseDuringAScan(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		write(t, dir, map[string]string{fmt.Sprintf("d%d/x/y/z.md", i): ""})
	}
	for range 5 {
		c := serve(t, stateOf(dir))
		c.Close()
		if err := c.call("resources/list", nil, nil); err == nil {
			// A scan that was faster than Close has a list.
			continue
		} else if !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
	}
}

// benchmarkTree is a folder with n files and a rule file of ordinary length.
func benchmarkTree(b *testing.B, n int) string {
	dir := b.TempDir()
	var rules strings.Builder
	for i := range 60 {
		fmt.Fprintf(&rules, "*.tmp%d\n/build%d/\nsome/dir%d/*.o\n", i, i, i)
	}
	files := map[string]string{".gitignore": rules.String()}
	for i := range n {
		files[fmt.Sprintf("src/pkg%d/sub%d/file%d.go", i%200, i%7, i)] = ""
	}
	write(b, dir, files)
	return dir
}

func BenchmarkScan(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := benchmarkTree(b, n)
			for b.Loop() {
				c := serve(b, stateOf(dir))
				if got := len(c.uris()); got != n+1 {
					b.Fatal(got)
				}
				c.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/file")
		})
	}
}

func BenchmarkIgnored(b *testing.B) {
	dir := benchmarkTree(b, 10)
	s := stateOf(dir)
	path := filepath.Join(dir, "src", "pkg1", "sub1", "deep", "file.go")
	for b.Loop() {
		s.Ignored(path, false)
	}
}
