package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Every byte that a name can hold comes back from its URI, which holds none
// that could end a mention.
func TestEveryByteOfANameSurvives(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems take fewer names")
	}
	dir := t.TempDir()
	var want []string
	text := map[string]string{}
	for b := 1; b < 256; b++ {
		if b == '/' {
			continue
		}
		name := "x" + string([]byte{byte(b)}) + "y"
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Append(nil, b), 0o600); err != nil {
			t.Fatal(err)
		}
		uri := fileURI(&folder{}, name, false)
		want = append(want, uri)
		text[uri] = fmt.Sprint(b)
		if strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"#?<>[]()`'", r) }) {
			t.Errorf("%q", uri)
		}
	}
	slices.Sort(want)
	c := serve(t, stateOf(dir))
	if got := c.uris(); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	for uri, want := range text {
		if got := c.text(uri); got != want {
			t.Errorf("%s: %q", uri, got)
		}
	}
}

// A mention outlives the folder that was added or removed after it, as long as
// it can mean only one file.
func TestURIsOfBeforeAFolderCame(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{
		"a/x.md": "ax", "b/x.md": "bx", "a/only.md": "a only", "a/b/y.md": "a/b/y", "b/y.md": "by", "a/.gitignore": "secret\n", "a/secret": "SECRET", "b/z.md": "bz",
	})
	at := func(names ...string) (list []Folder) {
		for _, name := range names {
			list = append(list, Folder{Path: filepath.Join(top, name), Name: name})
		}
		return list
	}
	s := NewState()
	s.SetFolders(at("a"))
	c := serve(t, s)
	check := func(uri, want string) {
		t.Helper()
		r, err := c.tryRead(uri)
		switch {
		case want == "" && err == nil:
			t.Errorf("%s is read: %+v", uri, r)
		case want != "" && (err != nil || *r.Text != want):
			t.Errorf("%s: %+v %v", uri, r, err)
		}
	}
	c.uris()
	if err := c.call("resources/subscribe", map[string]string{"uri": "file://only.md"}, nil); err != nil {
		t.Fatal(err)
	}
	s.SetFolders(at("a", "b"))
	c.told("list_changed")
	check("file://only.md", "a only")
	check("file://a/only.md", "a only")
	check("file://x.md", "")     // two files
	check("file://b/y.md", "by") // the form of now wins
	check("file://a/b/y.md", "a/b/y")
	check("file://secret", "") // ignored in either form
	check("file://../a/only.md", "")
	check("file://none.md", "")
	// What was subscribed to is told under the name that it was asked by.
	write(t, top, map[string]string{"a/only.md": "changed"})
	c.told("updated file://only.md")
	s.SetFolders(at("b"))
	c.listed("file://x.md", "file://y.md", "file://z.md")
	check("file://b/z.md", "bz")
	check("file://a/only.md", "")
	check("file://b", "")
	s.SetFolders(at("a"))
	check("file://a/x.md", "ax")
	check("file://b/y.md", "a/b/y") // what is there wins
	check("file://a/secret", "")
	s.SetFolders(nil)
	check("file://a/x.md", "")
}

func FuzzOtherForm(f *testing.F) {
	for _, seed := range []string{"file://a/b.md", "file://%2e%2e/x", "file://two/../x", "file://o%2Fn e//", "file://two"} {
		f.Add(seed)
	}
	all := []*folder{{name: "o/n e", path: "/1"}, {name: "two", path: "/2"}}
	f.Fuzz(func(t *testing.T, uri string) {
		for _, folders := range [][]*folder{nil, all[:1], all} {
			for _, there := range []bool{true, false} {
				f, rel, ok := otherForm(folders, fileScheme, uri, func(f *folder, rel string) bool { return there && f == folders[0] })
				if ok && (!there || f == nil || !filepath.IsLocal(rel) || strings.Contains(rel, "\x00")) {
					t.Fatalf("%q leads to %q", uri, rel)
				}
			}
		}
	})
}
