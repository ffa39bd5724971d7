package workspace

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// client speaks to a server as the manager does: in JSON.
type client struct {
	t testing.TB
	*Server
}

func serve(t testing.TB, s *State) client {
	t.Helper()
	server := NewServer(s, os.Environ(), nil, slog.New(slog.DiscardHandler))
	t.Cleanup(server.Close)
	return client{t, server}
}

func (c client) call(method string, params, result any) error {
	c.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		c.t.Fatal(err)
	}
	answer, err := c.Handle(c.t.Context(), method, raw)
	if err != nil {
		return err
	}
	raw, err = json.Marshal(answer)
	if err != nil {
		c.t.Fatal(err)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(raw, result)
}

// uris lists all pages.
func (c client) uris() []string {
	c.t.Helper()
	var all []string
	params := map[string]any{}
	for {
		var r struct {
			Resources  []struct{ URI, Name string }
			NextCursor *string
		}
		if err := c.call("resources/list", params, &r); err != nil {
			c.t.Fatal(err)
		}
		for _, r := range r.Resources {
			all = append(all, r.URI)
		}
		if r.NextCursor == nil {
			return all
		}
		params["cursor"] = *r.NextCursor
	}
}

type readAnswer struct {
	URI, MIMEType, Blob string
	Text                *string
}

func (c client) tryRead(uri string) (readAnswer, error) {
	var r struct{ Contents []readAnswer }
	if err := c.call("resources/read", map[string]string{"uri": uri}, &r); err != nil {
		return readAnswer{}, err
	}
	if len(r.Contents) != 1 || r.Contents[0].URI != uri {
		c.t.Fatalf("read %s: %+v", uri, r)
	}
	return r.Contents[0], nil
}

func (c client) text(uri string) string {
	c.t.Helper()
	r, err := c.tryRead(uri)
	if err != nil {
		c.t.Fatal(err)
	}
	if r.Text == nil {
		c.t.Fatalf("%s is no text", uri)
	}
	return *r.Text
}

// told waits for a notification.
func (c client) told(want string) {
	c.t.Helper()
	end := time.After(10 * time.Second)
	var got []string
	for {
		select {
		case n := <-c.Notifications():
			s := strings.TrimPrefix(n.Method, "notifications/resources/")
			if p, ok := n.Params.(updatedParams); ok {
				s += " " + p.URI
			}
			if s == want {
				return
			}
			got = append(got, s)
		case <-end:
			c.t.Fatalf("no %q in 10 s, but %q", want, got)
		}
	}
}

// listed waits until the list is this.
func (c client) listed(want ...string) {
	c.t.Helper()
	end := time.Now().Add(10 * time.Second)
	for got := c.uris(); !slices.Equal(got, want); got = c.uris() {
		if time.Now().After(end) {
			c.t.Fatalf("listed %q, want %q", got, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func codeOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return 0
}

func TestHandshake(t *testing.T) {
	c := serve(t, NewState())
	check := func(asked, want string) {
		t.Helper()
		var r initializeResult
		if err := c.call("initialize", map[string]any{"protocolVersion": asked, "capabilities": map[string]any{}}, &r); err != nil {
			t.Fatal(err)
		}
		if r.ProtocolVersion != want || !r.Capabilities.Resources.Subscribe || !r.Capabilities.Resources.ListChanged || r.ServerInfo.Name != "workspace" {
			t.Errorf("asked for %s: %+v", asked, r)
		}
	}
	check("2025-06-18", "2025-06-18")
	check("2024-11-05", "2024-11-05")
	check("2099-01-01", "2025-11-25")
	for method, code := range map[string]int{
		"ping": 0, "notifications/initialized": 0, "resources/templates/list": 0, "resources/list": 0,
		"tools/list": codeMethodNotFound, "server/discover": codeMethodNotFound, "": codeMethodNotFound,
		"resources/read": codeInvalidParams,
	} {
		if got := codeOf(c.call(method, map[string]any{}, nil)); got != code {
			t.Errorf("%s: code %d, want %d", method, got, code)
		}
	}
	for _, params := range []string{`{"uri":1}`, `[]`, `nul`} {
		if _, err := c.Handle(t.Context(), "resources/read", json.RawMessage(params)); codeOf(err) != codeInvalidParams {
			t.Errorf("params %s: %v", params, err)
		}
	}
	if err := c.call("resources/list", map[string]any{"cursor": "?"}, nil); codeOf(err) != codeInvalidParams {
		t.Errorf("a cursor of others: %v", err)
	}
}

func TestListRespectsIgnoreRules(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		".git/config": "", ".gitignore": "node_modules/\n*.log\n", "node_modules/x/index.js": "", "a.log": "",
		"README.md": "", "src/main.go": "", "src/gen/.gitignore": "*\n!.gitignore\n", "src/gen/x.go": "", "empty/": "",
	})
	serve(t, stateOf(dir)).listed("file://.gitignore", "file://README.md", "file://src/gen/.gitignore", "file://src/main.go")
}

func TestListPages(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 2*pageSize + 1 {
		files[fmt.Sprintf("d%d/f%d.md", i%7, i)] = ""
	}
	write(t, dir, files)
	c := serve(t, stateOf(dir))
	got := c.uris()
	if len(got) != len(files) || len(slices.Compact(got)) != len(files) || !slices.IsSorted(got) {
		t.Errorf("%d resources, want %d, sorted", len(got), len(files))
	}
}

func TestFileURIs(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"My Notes.md": "file://My%20Notes.md", "a#b?c.md": "file://a%23b%3Fc.md", "100%/x%20y": "file://100%25/x%2520y",
		"日本/é.txt": "file://%E6%97%A5%E6%9C%AC/%C3%A9.txt", "plain-1_2.txt": "file://plain-1_2.txt",
		"(a) [b] {c}'\"`,;!@.md": "file://%28a%29%20%5Bb%5D%20%7Bc%7D%27%22%60%2C%3B%21@.md", "~x": "file://~x", "...": "file://...",
	}
	var want []string
	for name, uri := range files {
		write(t, dir, map[string]string{name: "text of " + name})
		want = append(want, uri)
	}
	slices.Sort(want)
	c := serve(t, stateOf(dir))
	c.listed(want...)
	for name, uri := range files {
		if got := c.text(uri); got != "text of "+name {
			t.Errorf("%s: %q", uri, got)
		}
	}
}

func FuzzFileURI(f *testing.F) {
	for _, seed := range []string{"a/b.md", "My Notes.md", "a%2Fb", "日本", "\xff/x", "a\nb"} {
		f.Add(seed)
	}
	one := []*folder{{name: "one"}}
	two := []*folder{{name: "o/n e"}, {name: "two"}}
	f.Fuzz(func(t *testing.T, rel string) {
		if _, got, ok := parseFile(one, fileScheme, rel); ok && (!filepath.IsLocal(got) || strings.Contains(got, "\x00")) {
			t.Fatalf("%q leads to %q", rel, got)
		}
		if rel != filepath.ToSlash(filepath.Clean(rel)) || !filepath.IsLocal(rel) || rel == "." || strings.ContainsAny(rel, "\x00\\:") {
			return
		}
		for _, folders := range [][]*folder{one, two} {
			uri := fileURI(folders[0], rel, len(folders) > 1)
			at, got, ok := parseFile(folders, fileScheme, uri)
			if !ok || got != rel || at != folders[0] {
				t.Fatalf("%q → %q → %q %v", rel, uri, got, ok)
			}
		}
	})
}

func TestReadKinds(t *testing.T) {
	dir := t.TempDir()
	png := "\x89PNG\r\n\x1a\n\x00\x00"
	write(t, dir, map[string]string{"a.md": "# é", "b.png": png, "c": "plain", "d.bin": "\xff\xfe\x00x", "empty": ""})
	c := serve(t, stateOf(dir))
	check := func(uri, mime, text, blob string) {
		t.Helper()
		r, err := c.tryRead(uri)
		if err != nil {
			t.Fatal(err)
		}
		if r.MIMEType != mime || r.Blob != base64.StdEncoding.EncodeToString([]byte(blob)) || (r.Text != nil) != (blob == "") || r.Text != nil && *r.Text != text {
			t.Errorf("%s: %+v", uri, r)
		}
	}
	check("file://a.md", "text/markdown", "# é", "")
	check("file://b.png", "image/png", "", png)
	check("file://c", "text/plain", "plain", "")
	check("file://d.bin", "text/plain; charset=utf-16le", "", "\xff\xfe\x00x")
	check("file://empty", "text/plain", "", "")
}

// veryfront-code#2226, openhuman#1898: nothing outside the folder is read.
func TestReadStaysInTheFolder(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "ws")
	write(t, top, map[string]string{
		"secret": "SECRET", "ws2/x": "SECRET", "ws/.git/config": "SECRET", "ws/.gitignore": ".env\n/private/\n", "ws/.env": "SECRET",
		"ws/private/x": "SECRET", "ws/a.md": "fine", "ws/sub/b.md": "fine",
	})
	for name, target := range map[string]string{
		"link": filepath.Join(top, "secret"), "rel": "../secret", "dirlink": top, "loop": "loop", "env.txt": ".env", "p": "private",
		"ok": "a.md", "sub/up": "../a.md", "subdir": "sub",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	makePipe(t, filepath.Join(dir, "pipe"))
	s := stateOf(dir)
	s.SetDocument(Document{Path: filepath.Join(top, "secret"), URI: "file:///secret", Text: "SECRET"})
	s.SetDocument(Document{Path: filepath.Join(dir, ".env"), URI: "file:///ws/.env", Text: "SECRET"})
	c := serve(t, s)
	for _, uri := range []string{
		"file://../secret", "file://..%2fsecret", "file://%2e%2e/secret", "file://sub/../../secret", "file://./a.md", "file://sub//b.md",
		"file://" + filepath.ToSlash(top) + "/secret", "file:///etc/passwd", "file://%2Fetc%2Fpasswd", "file://a.md%00", "file://a.md\x00", "file://", "file:///",
		"file://link", "file://rel", "file://dirlink/secret", "file://dirlink/ws2/x", "file://loop", "file://sub", "file://subdir", "file://pipe",
		"file://.git/config", "file://.GIT/config", "file://.env", "file://private/x", "file://env.txt", "file://p/x",
		`file://C:\windows\win.ini`, "file://C:/windows/win.ini", `file://..\secret`, "file://ws2/x", "file://nothere", "file://a.md/x", "file://%zz",
		"buffer://untitled/1", "buffer://untitled/01", "buffer://untitled/-1", "buffer://x", "http://a.md", "a.md", "diagnostics://all",
	} {
		if r, err := c.tryRead(uri); codeOf(err) != codeResourceNotFound && codeOf(err) != codeInternal {
			t.Errorf("%s is read: %+v %v", uri, r, err)
		} else if strings.Contains(err.Error(), top) && !strings.Contains(uri, top) {
			t.Errorf("%s: the error tells a path: %v", uri, err)
		}
	}
	for _, uri := range []string{"file://a.md", "file://ok", "file://sub/up", "file://sub/b.md", "file://subdir/b.md"} {
		if got := c.text(uri); got != "fine" {
			t.Errorf("%s: %q", uri, got)
		}
	}
	c.listed("file://.gitignore", "file://a.md", "file://env.txt", "file://ok", "file://sub/b.md", "file://sub/up")
}

func TestReadRefusesLargeFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"fits": strings.Repeat("x", maxRead), "large": strings.Repeat("x", maxRead+1)})
	c := serve(t, stateOf(dir))
	if n := len(c.text("file://fits")); n != maxRead {
		t.Errorf("%d bytes", n)
	}
	if _, err := c.tryRead("file://large"); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("large: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user pressed escape")
	cancel(cause)
	if _, err := c.Handle(ctx, "resources/read", json.RawMessage(`{"uri":"file://fits"}`)); err == nil || !strings.Contains(err.Error(), cause.Error()) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestEditorTextStandsBeforeTheDisk(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "disk"})
	s := stateOf(dir)
	c := serve(t, s)
	a := Document{Path: filepath.Join(dir, "a.md"), URI: "file:///a.md", Text: "edited", Dirty: true}
	if got := c.text("file://a.md"); got != "disk" {
		t.Fatalf("%q", got)
	}
	s.SetDocument(a)
	c.told("updated file://a.md")
	if got := c.text("file://a.md"); got != "edited" {
		t.Errorf("open: %q", got)
	}
	a.Text = "edited more"
	s.SetDocument(a)
	c.told("updated file://a.md")
	if got := c.text("file://a.md"); got != "edited more" {
		t.Errorf("changed: %q", got)
	}
	s.CloseDocument(a.URI)
	c.told("updated file://a.md")
	if got := c.text("file://a.md"); got != "disk" {
		t.Errorf("closed: %q", got)
	}
}

func TestUnsavedBuffers(t *testing.T) {
	dir := t.TempDir()
	s := stateOf(dir)
	c := serve(t, s)
	c.listed()
	s.SetDocument(Document{URI: "untitled:Untitled-1", Text: "one"})
	c.told("list_changed")
	s.SetDocument(Document{URI: "untitled:Untitled-2", Text: "two"})
	s.SetDocument(Document{URI: "untitled:prompt", LanguageID: "agentls", Text: "@workspace:buffer://untitled/"})
	s.SetDocument(Document{URI: "untitled:/x/ask.agentls.md", LanguageID: "markdown", Text: "@workspace:buffer://untitled/"})
	s.SetDocument(Document{URI: "file:///new", Path: filepath.Join(dir, "new", "x.md"), Text: "not on disk yet"})
	c.listed("buffer://untitled/1", "buffer://untitled/2", "file://new/x.md")
	if got := c.text("buffer://untitled/2") + c.text("file://new/x.md"); got != "twonot on disk yet" {
		t.Errorf("%q", got)
	}
	s.SetDocument(Document{URI: "untitled:Untitled-2", Text: "zwei"})
	c.told("updated buffer://untitled/2")
	s.CloseDocument("untitled:Untitled-1")
	c.told("list_changed")
	s.CloseDocument("file:///new")
	c.listed("buffer://untitled/2")
	// A number is not given twice.
	s.SetDocument(Document{URI: "untitled:Untitled-1", Text: "again"})
	c.listed("buffer://untitled/2", "buffer://untitled/3")
	// One that becomes a prompt is context no longer.
	s.SetDocument(Document{URI: "untitled:Untitled-1", LanguageID: "agentls", Text: "again"})
	c.listed("buffer://untitled/2")
	if _, err := c.tryRead("buffer://untitled/3"); codeOf(err) != codeResourceNotFound {
		t.Errorf("%v", err)
	}
	s.SetDocument(Document{URI: "untitled:x.go", Text: "package x"})
	if r, err := c.tryRead("buffer://untitled/4"); err != nil || r.MIMEType != "text/x-go" {
		t.Errorf("%+v %v", r, err)
	}
}

func TestSeveralFolders(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"a/x.md": "ax", "b c/x.md": "bx", "other/a/x.md": "oax", "a/inner/y.md": "y"})
	s := NewState()
	c := serve(t, s)
	c.listed()
	folder := func(rel, name string) Folder { return Folder{Path: filepath.Join(top, rel), Name: name} }
	s.SetFolders([]Folder{folder("a", "a")})
	c.listed("file://inner/y.md", "file://x.md")
	s.SetFolders([]Folder{folder("a", "a"), folder("b c", "b c"), folder("other/a", "a"), folder("a", "twice"), {Path: "relative"}})
	c.listed("file://a/inner/y.md", "file://a/x.md", "file://a~2/x.md", "file://b%20c/x.md")
	if got := c.text("file://a/x.md") + c.text("file://a~2/x.md") + c.text("file://b%20c/x.md"); got != "axoaxbx" {
		t.Errorf("%q", got)
	}
	for _, uri := range []string{"file://x.md", "file://a", "file://c/x.md", "file://a/../b%20c/x.md"} {
		if _, err := c.tryRead(uri); codeOf(err) != codeResourceNotFound {
			t.Errorf("%s: %v", uri, err)
		}
	}
	// A folder inside a folder is listed once, under its own name.
	s.SetFolders([]Folder{folder("a", "a"), folder("a/inner", "inner")})
	c.listed("file://a/x.md", "file://inner/y.md")
	s.SetFolders([]Folder{folder("a", "a")})
	c.listed("file://inner/y.md", "file://x.md")
	s.SetFolders(nil)
	c.listed()
}

func TestSymlinkedFolder(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"real/a.md": "disk", "real/.gitignore": "x\n", "real/x": ""})
	link := filepath.Join(top, "link")
	if err := os.Symlink(filepath.Join(top, "real"), link); err != nil {
		t.Skip(err)
	}
	s := stateOf(link)
	c := serve(t, s)
	c.listed("file://.gitignore", "file://a.md")
	if got := c.text("file://a.md"); got != "disk" {
		t.Errorf("%q", got)
	}
	write(t, top, map[string]string{"real/a.md": "changed", "real/b.md": ""})
	c.told("updated file://a.md")
	c.listed("file://.gitignore", "file://a.md", "file://b.md")
	for _, dir := range []string{"real", "link"} {
		path := filepath.Join(top, dir, "a.md")
		s.SetDocument(Document{Path: path, URI: "file://" + path, Text: "open in " + dir})
		for _, ask := range []string{"real", "link"} {
			if d, ok := s.ByPath(filepath.Join(top, ask, "a.md")); !ok || d.Text != "open in "+dir {
				t.Errorf("open in %s, asked by %s: %+v %v", dir, ask, d, ok)
			}
		}
		if got := c.text("file://a.md"); got != "open in "+dir {
			t.Errorf("%q", got)
		}
		s.CloseDocument("file://" + path)
	}
}
