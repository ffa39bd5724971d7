package lsp

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.lsp.dev/uri"
)

func TestURIsOfOneFileAreOne(t *testing.T) {
	for _, c := range []struct {
		system, path, key string
		spellings         []string
	}{
		{"windows", `C:\x`, "file:///c%3A/x", []string{
			"file:///c%3A/x", "file:///C:/x", "file:///c:/x", "file:///C%3a/x", "FILE:///c:/x", "file:/c:/x", "file://localhost/c:/x", "file://LOCALHOST/C%3A/x",
			"file:///c:/x/", "file:///c:/a/../x", "file:///c:/./x", "file:///c:/../../x", "file:///c:/a/%2E%2e/x", `file:///c:\x`, "file:///c:%5Cx", "file:///c%7C/x", "file:///c|/x", "file://c:/x",
			"file:///c:/x?query", "file:///c:/x#L3", "file:///c:/%78", "file:///c:/X",
		}},
		{"windows", `C:\`, "file:///c%3A/", []string{"file:///c:", "file:///C:/", "file:///c:/..", "file:///c%3A"}},
		{"windows", `\\server\share\x y`, "file://server/share/x%20y", []string{
			"file://server/share/x%20y", "file://SERVER/Share/x y", "file:////server/share/x%20y", `file:\\server\share\x y`, "file://server/share/a/../x%20y/", `file:///\\server\share\x%20y`,
		}},
		{"windows", `\\server\share`, "file://server/share", []string{"file://server/share", "file://server/share/", "file://server/share/.."}},
		{"linux", "/a b/c", "file:///a%20b/c", []string{
			"file:///a%20b/c", "file:///a b/c", "file:/a%20b/c", "file://localhost/a%20b/c", "file://LocalHost/a%20b/c", "File:///a%20b/c", "file:///a%20b/c/", "file:///a%20b//c", "file:////a%20b/c",
			"file:///a%20b/./c", "file:///a%20b/d/../c", "file:///../a%20b/c", "file:///a%20b/%63", "file:///a%20b%2Fc", "file:///a%20b%2fc", "file:///a%20b/c?q", "file:///a%20b/c#f",
		}},
		{"linux", "/100%.md", "file:///100%25.md", []string{"file:///100%25.md", "file:///100%.md"}},
		{"linux", "/%zz%4", "file:///%25zz%254", []string{"file:///%zz%4", "file:///%25zz%254"}},
		{"linux", "/grün", "file:///gr%C3%BCn", []string{"file:///gr%C3%BCn", "file:///gr%c3%bcn", "file:///grün"}},        // NFC
		{"linux", "/gru\u0308n", "file:///gru%CC%88n", []string{"file:///gru%CC%88n", "file:///gru\u0308n"}},               // NFD: another file
		{"linux", "/c:/x", "file:///c%3A/x", []string{"file:///c%3A/x", "file:///C:/x", "file:///c:/x", "file:///C%3a/x"}}, // an editor elsewhere
		{"linux", `/a\b`, "file:///a%5Cb", []string{`file:///a\b`, "file:///a%5Cb", "file:///a%5cb"}},                      // one name
		{"linux", "/\xff", "file:///%FF", []string{"file:///%FF", "file:///%ff"}},                                          // no UTF-8
		{"linux", "/a#b?c", "file:///a%23b%3Fc", []string{"file:///a%23b%3Fc", "file:///a%23b%3fc"}},                       // encoded, they are of the path
		{"linux", "/", "file:///", []string{"file:///", "file:///..", "file:/", "file://localhost/"}},
		{"darwin", "/A", "file:///A", []string{"file:///A", "file:///A/"}},
	} {
		for _, u := range c.spellings {
			key, path := canonicalOn(c.system, u)
			if c.system == "windows" && strings.EqualFold(path, c.path) {
				path = c.path
			}
			if key != c.key || path != c.path {
				t.Errorf("%s on %s: %q %q, want %q %q", u, c.system, key, path, c.key, c.path)
			}
		}
		if key, path := canonicalOn(c.system, c.key); key != c.key || !strings.EqualFold(path, c.path) {
			t.Errorf("%s on %s is not stable: %q %q", c.key, c.system, key, path)
		}
	}
	if _, path := canonicalOn("windows", "file:///c:/Users/Me/X.go"); path != `C:\Users\Me\X.go` {
		t.Errorf("the path is %q", path) // the case of names is kept
	}
}

// Whatever is no file on this machine keeps its URI, byte for byte.
func TestOtherURIsAreLeftAlone(t *testing.T) {
	for _, u := range []string{
		"untitled:Untitled-1", "untitled:/home/u/New%20file.md", "Untitled:x",
		"vscode-remote://ssh-remote%2bhost/home/u/a.go", "vscode-remote://ssh-remote%2Bhost/home/u/../a.go", "vscode-notebook-cell:/n.ipynb#W0sZmlsZQ%3D%3D",
		"vscode-userdata:/x", "vscode-vfs://github/o/r/a.go", "git:/home/u/a.go?%7B%22path%22%3A%22%2Fa.go%22%7D", "gitfs:/x", "zipfile:///a.zip::b/C.java", "jdt://contents/rt.jar/A.class?=x", "deno:/https/x.ts",
		"output:tasks", "oil:///home/u/", "fugitive:///r/.git//0/a.go", "", "x", "/home/u/a.go", "C:\\x", "http://h/%41", "file", "file-x:///a", ":", "%", "//a/b",
	} {
		for _, system := range []string{"linux", "windows", "darwin"} {
			if key, path := canonicalOn(system, u); key != u || path != "" {
				t.Errorf("%s on %s: %q %q", u, system, key, path)
			}
		}
	}
	for u, system := range map[string]string{
		"file://server/share/x": "linux", "file:x": "linux", "file:": "linux", "file://": "linux", "file:///a%00b": "linux", "file://localhost": "linux",
		"file:///x": "windows", "file:///cc:/x": "windows", "file:///c:x": "windows", "file://server": "windows", "file://server/": "windows", "file://server/..": "windows", "file:///c:/a%00": "windows",
	} {
		if key, path := canonicalOn(system, u); key != u || path != "" {
			t.Errorf("%s on %s: %q %q", u, system, key, path)
		}
	}
}

// FuzzCanonical: a key is its own key, its path is absolute and clean, and
// what a path is written as leads back to it.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"file:///a/../b%20c", "file://h/s/x", "file:///c%3A/X", "untitled:1", "file:////a//b/", "file:///%", `file:\\h\s`, "file://c|/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, u string) {
		for _, system := range []string{"linux", "windows"} {
			key, path := canonicalOn(system, u)
			again, path2 := canonicalOn(system, key)
			if again != key || (path == "") != (path2 == "") || system == "linux" && path2 != path || !strings.EqualFold(strings.ToLower(path2), strings.ToLower(path)) {
				t.Fatalf("%q on %s: %q %q, then %q %q", u, system, key, path, again, path2)
			}
			if path == "" {
				continue
			}
			if back, p := canonicalOn(system, fileURIOn(system, path)); back != key || p != path {
				t.Fatalf("%q on %s: %q is written as %q, which means %q", u, system, path, fileURIOn(system, path), p)
			}
			if system == runtime.GOOS && (!filepath.IsAbs(path) || filepath.Clean(path) != path) {
				t.Fatalf("%q: %q is not clean", u, path)
			}
			if system == "linux" && !strings.HasPrefix(path, "//") && string(uri.FileFor(uri.PlatformPOSIX, path)) != key {
				t.Fatalf("%q: the library writes %q as %q, not %q", u, path, uri.FileFor(uri.PlatformPOSIX, path), key)
			}
		}
	})
}
