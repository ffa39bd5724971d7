package lsp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/lsp/lsptest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// link is a document link as a client sees it.
type link struct {
	Range           lsptest.Range
	Target, Tooltip string
	Data            json.RawMessage
	of              string // the text that it stands on
	raw             json.RawMessage
}

// links asks for those of a text, which becomes that of a prompt buffer.
func (w *world) links(text string) []link {
	w.t.Helper()
	buffer := lsptest.FileURI(filepath.Join(w.root, "links.agentls.md"))
	w.Open(buffer, "markdown", text)
	var list []link
	d := newDocuments(nil)
	at := func(p lsptest.Position) int {
		return d.offset(text, textPosition{integer(p.Line), integer(p.Character)}.position())
	}
	for _, raw := range decodeAs[[]json.RawMessage](w.t, w.Call("textDocument/documentLink", obj{"textDocument": obj{"uri": buffer}})) {
		l := decodeAs[link](w.t, raw)
		l.of, l.raw = text[at(l.Range.Start):at(l.Range.End)], raw
		list = append(list, l)
	}
	return list
}

// resolved is the target of a link, resolved if it has to be.
func (w *world) resolved(l link) string {
	w.t.Helper()
	if l.Target != "" {
		return l.Target
	}
	return decodeAs[link](w.t, w.Call("documentLink/resolve", l.raw)).Target
}

// filePath is the path of a file URI.
func filePath(t *testing.T, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "file" || u.Host != "" {
		t.Fatalf("%q is no URI of a local file", target)
	}
	return u.Path
}

func tooltips() lsptest.Init {
	caps := lsptest.Capabilities()
	caps["textDocument"].(obj)["documentLink"] = obj{"tooltipSupport": true}
	return lsptest.Init{Capabilities: caps}
}

func TestDocumentLink(t *testing.T) {
	w := newWorld(t, setup{init: tooltips(), files: map[string]string{"a b.go": "x", "é.md": "y"}, servers: fake(mcptest.Options{})})
	w.awaitListed("@fake:file://doc1.md")
	w.awaitListed("@workspace:file://a%20b.go")
	w.Open("untitled:Untitled-1", "go", "unsaved")
	spelled := strings.Replace(lsptest.FileURI(filepath.Join(w.root, "é.md")), "%C3", "%c3", 1) // as VS Code spells it
	w.Open(spelled, "markdown", "y")
	list := w.links("## You\n😀 (@workspace:file://a%20b.go) @workspace:<buffer://untitled/1>\n@workspace:file://%C3%A9.md, @fake:file://doc1.md.\n" +
		"`@fake:file://doc0.md` @nobody:x:y @workspace:file://nothing.go @fake:x:unlisted\n```\n@fake:file://doc0.md\n```\n## Agent\n@fake:file://doc0.md")
	var got []string
	for _, l := range list {
		got = append(got, fmt.Sprintf("%s | %s | %s | %s", l.of, l.Target, l.Tooltip, l.Data))
	}
	want := []string{
		"@workspace:file://a%20b.go | " + lsptest.FileURI(filepath.Join(w.root, "a b.go")) + " | Open file://a%20b.go | ",
		"@workspace:<buffer://untitled/1> | untitled:Untitled-1 | Open buffer://untitled/1 | ",
		"@workspace:file://%C3%A9.md | " + spelled + " | Open file://%C3%A9.md | ",
		`@fake:file://doc1.md |  | Open a read-only copy of file://doc1.md | {"server":"fake","uri":"file://doc1.md"}`,
		`@fake:x:unlisted |  | Open a read-only copy of x:unlisted | {"server":"fake","uri":"x:unlisted"}`,
	}
	if !slices.Equal(got, want) {
		t.Fatalf("links:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	file := filePath(t, w.resolved(list[3]))
	body, err := os.ReadFile(file)
	if err != nil || string(body) != "# Content of file://doc1.md v0\n" {
		t.Errorf("%q %v", body, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o400 || filepath.Dir(file) != filepath.Join(w.state, "resources") || !strings.HasPrefix(info.Name(), "doc1-") || filepath.Ext(file) != ".md" {
		t.Errorf("%s %v %v", file, info, err)
	}
	// Once more, when the resource has changed: the same file, with the new text.
	if err := putCopy(file, []byte("of before")); err != nil {
		t.Fatal(err)
	}
	if again := filePath(t, w.resolved(list[3])); again != file {
		t.Errorf("another file: %s", again)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, body) {
		t.Errorf("%q %v", now, err)
	}
	failure(t, w.Start("documentLink/resolve", list[4].raw), -32803)
	// Another server's link, and one that has its target, come back as they came.
	for _, raw := range []string{`{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"data":{"of":"somebody"},"own":1}`, `{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"target":"x:y","data":{"server":"fake","uri":"z"}}`} {
		if got := w.Call("documentLink/resolve", json.RawMessage(raw)); string(got) != raw {
			t.Errorf("%s came back as %s", raw, got)
		}
	}
	failure(t, w.Start("documentLink/resolve", []int{1}), -32602)
	if got := failure(t, w.Start("documentLink/resolve", obj{"range": lsptest.Range{}, "data": obj{"server": "gone", "uri": "x:y"}}), -32803); !strings.Contains(got.Message, "no MCP server is named gone") {
		t.Error(got)
	}
}

// A copy holds the bytes of a blob, whatever its name; the texts of several
// contents; and is refused where it would be too large or is no base64.
func TestDocumentLinkCopies(t *testing.T) {
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 5)...)
	answer := func(contents ...obj) json.RawMessage {
		raw, err := json.Marshal(obj{"contents": contents})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	read := func(contents ...obj) mcptest.Options {
		return mcptest.Options{Answers: map[string]json.RawMessage{"resources/read": answer(contents...)}}
	}
	w := newWorld(t, setup{servers: map[string]mcptest.Options{
		"image": read(obj{"uri": "x:y", "mimeType": "image/png", "blob": base64.StdEncoding.EncodeToString(png)}),
		"odd":   read(obj{"uri": "x:y", "blob": "no base64"}),
		"none":  read(),
		"many":  read(obj{"uri": "x:1", "mimeType": "text/plain", "text": "one\n"}, obj{"uri": "x:2\n=== x:3", "blob": "AAAA"}, obj{"uri": "x:4", "text": "four"}),
	}})
	open := func(mention string) (string, *lsptest.Error) {
		t.Helper()
		list := w.links(mention)
		if len(list) != 1 {
			t.Fatalf("%s: %+v", mention, list)
		}
		raw, failed := w.Start("documentLink/resolve", list[0].raw).Wait()
		if failed != nil {
			return "", failed
		}
		return filePath(t, decodeAs[link](t, raw).Target), nil
	}
	for mention, want := range map[string]string{
		"@image:shot:/a/b": string(png), "@none:x:y": "", "@many:x:all": "=== x:1 (text/plain)\none\n=== x:2 === x:3 ()\n[3 bytes]\n=== x:4 ()\nfour\n",
	} {
		file, failed := open(mention)
		if failed != nil {
			t.Errorf("%s: %v", mention, failed)
			continue
		}
		if body, err := os.ReadFile(file); err != nil || string(body) != want {
			t.Errorf("%s: %q %v, want %q", mention, body, err, want)
		}
		if mention == "@image:shot:/a/b" && filepath.Ext(file) != ".png" {
			t.Error(file)
		}
	}
	if _, failed := open("@odd:x:y"); failed == nil || failed.Code != -32803 || !strings.Contains(failed.Message, "no base64") {
		t.Error(failed)
	}
	large := strings.Repeat("x", copyMax/2)
	if _, _, _, err := copyBody([]mcp.Content{{Text: large}, {Text: large}, {Text: "y"}}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
}

// A file URI of a program on this machine is the file itself; one of a server
// elsewhere, or with a host in it, never is.
func TestDocumentLinkToALocalFile(t *testing.T) {
	w := newWorld(t, setup{files: map[string]string{"x.md": "x"}})
	file := lsptest.FileURI(filepath.Join(w.root, "x.md"))
	local, remote := mcp.ServerInfo{Name: "s", Command: "program"}, mcp.ServerInfo{Name: "s", URL: "http://127.0.0.1/mcp"}
	if got := w.server.localTarget(local, file); string(got) != file {
		t.Errorf("%q", got)
	}
	for _, other := range []string{strings.Replace(file, "file:///", "file://host/", 1), strings.Replace(file, "file:///", "file:////", 1), lsptest.FileURI(w.root), file + "x", "file:", "file:///", "x:y"} {
		if got := w.server.localTarget(local, other); got != "" {
			t.Errorf("%s is %q", other, got)
		}
	}
	if got := w.server.localTarget(remote, file); got != "" {
		t.Errorf("a server elsewhere names %q", got)
	}
}

// A server that is being started has links already, one that a person has to do
// something about has none.
func TestDocumentLinkOfServersThatAreNotReady(t *testing.T) {
	w := newWorld(t, setup{options: obj{"mcpServers": obj{
		"off": obj{"command": "x", "disabled": true}, "late": entry(t, mcptest.Options{Silent: true}),
	}}})
	w.awaitStatus("late", mcp.StatusStarting)
	list := w.links("@off:x:y @late:x:y")
	if len(list) != 1 || list[0].of != "@late:x:y" || list[0].Target != "" {
		t.Fatalf("%+v", list)
	}
	if err := failure(t, w.Start("documentLink/resolve", list[0].raw), -32803); !strings.Contains(err.Message, "x:y cannot be opened: the server is being started") {
		t.Error(err)
	}
}

// entry is what a configuration file says of a fake server.
func entry(t *testing.T, o mcptest.Options) any {
	return serverEntries(t, map[string]mcptest.Options{"": o})[""]
}

// Neovim's gx takes links that have a target and resolves none.
func TestDocumentLinkInNeovim(t *testing.T) {
	w := newWorld(t, setup{init: lsptest.Init{Client: "Neovim"}, servers: map[string]mcptest.Options{"fast": {}, "slow": {Unanswered: []string{"resources/read"}}}})
	w.awaitListed("@fast:file://doc1.md")
	w.awaitListed("@slow:file://doc1.md")
	var list []link
	poll(t, "a link in time", func() bool { // the machine may be slower than linkHaste
		list = w.links("@fast:file://doc1.md @slow:file://doc1.md @fast:file://doc1.md")
		return len(list) == 0 || list[0].Target != ""
	})
	if len(list) != 3 || list[0].Target == "" || list[1].Target != "" || list[2].Target != list[0].Target {
		t.Fatalf("%+v", list)
	}
	if body, err := os.ReadFile(filePath(t, list[0].Target)); err != nil || !bytes.HasPrefix(body, []byte("# Content of file://doc1.md")) {
		t.Errorf("%q %v", body, err)
	}
}

func TestCopyName(t *testing.T) {
	for _, c := range []struct {
		uri, mime string
		binary    bool
		want      string // '*' for the hash
	}{
		{"file://docs/README.md", "", false, "README-*.md"},
		{"file://a%20b.TXT", "", false, "a-b-*.txt"},
		{"x:y.agentls.md", "", false, "x-y-agentls-*.md"},
		{"https://h/page.html?q=1", "text/html", false, "page-*.html.txt"},
		{"https://h/run.exe", "", true, "run-*.exe.bin"},
		{"x:a.command", "", false, "x-a-*.command.txt"},
		{"x:a.desktop", "", false, "x-a-*.desktop.txt"},
		{"git://diff/staged", "text/x-diff", false, "staged-*.diff"},
		{"shot:/1", "image/png", true, "1-*.png"},
		{"shot:/1", "image/svg+xml", false, "1-*.txt"},
		{"db://users/42", "application/json; charset=utf-8", false, "42-*.json"},
		{"db://users/42/", "application/octet-stream", true, "42-*.bin"},
		{"x:..%2f..%2fetc%2fpasswd", "", false, "x-------etc-passwd-*.txt"},
		{"x:/", "", false, "x-*.txt"},
		{"x://", "", false, "x-*.txt"},
		{"x:/é", "", false, "resource-*.txt"},
		{"x:/con.é", "", false, "con-*.txt"},
		{"x:/" + strings.Repeat("long", 100) + ".md", "", false, strings.Repeat("long", 10) + "-*.md"},
	} {
		got := copyName(linkData{"s", c.uri}, c.mime, c.binary)
		before, after, _ := strings.Cut(c.want, "*")
		if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) || len(got) != len(before)+16+len(after) {
			t.Errorf("%s: %s, want %s", c.uri, got, c.want)
		}
		if isPromptBuffer(document{path: got}) {
			t.Errorf("%s is a prompt buffer", got)
		}
	}
	if copyName(linkData{"a", "x:y"}, "", false) == copyName(linkData{"b", "x:y"}, "", false) {
		t.Error("two servers share a copy")
	}
}

// Links that nobody waits for any more are not looked for on the disk.
func TestDocumentLinkIsCancelled(t *testing.T) {
	s := idleServer(t, protocol.PositionEncodingKindUTF16)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(agent.ErrCancelled)
	if list, err := serveDocumentLink(s, ctx, s.promptModel(document{text: "@workspace:file://a.go"}), promptParams{}); !errors.Is(err, agent.ErrCancelled) {
		t.Errorf("%v %v", list, err)
	}
}

func FuzzCopyName(f *testing.F) {
	f.Add("file://../a.md", "text/plain", true)
	f.Add("x:\x00.\x80", "image/..", false)
	f.Fuzz(func(t *testing.T, uri, mime string, binary bool) {
		name := copyName(linkData{"s", uri}, mime, binary)
		if len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool { return isOddRune(r) && r != '.' }) || strings.HasPrefix(name, ".") || isPromptBuffer(document{path: name}) || !filepath.IsLocal(name) {
			t.Errorf("%q becomes %q", uri, name)
		}
	})
}

// The oldest copies give way, but not what is open in the editor.
func TestCopiesAreBounded(t *testing.T) {
	w := newWorld(t, setup{servers: fake(mcptest.Options{Resources: mcptest.Int(copiesMax + 5)})})
	w.awaitListed(fmt.Sprintf("@fake:file://doc%d.md", copiesMax+4))
	var files []string
	for i := range copiesMax + 5 {
		file, err := w.server.copyResource(t.Context(), linkData{"fake", fmt.Sprintf("file://doc%d.md", i)})
		if err != nil {
			t.Fatal(err)
		}
		if files = append(files, file); i == 1 {
			w.Open(lsptest.FileURI(file), "markdown", "")
			w.runs() // the server has seen it
		}
	}
	// What is open and was used last takes no room of the others either.
	if _, err := w.server.copyResource(t.Context(), linkData{"fake", "file://doc1.md"}); err != nil {
		t.Fatal(err)
	}
	if err := w.server.dropCopies(filepath.Dir(files[0]), ""); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(w.state, "resources"))
	if err != nil || len(entries) != copiesMax+1 {
		t.Errorf("%d copies, %v", len(entries), err)
	}
	for i, file := range files {
		if _, err := os.Stat(file); (err == nil) != (i == 1 || i >= 5) {
			t.Errorf("copy %d: %v", i, err)
		}
	}
}
