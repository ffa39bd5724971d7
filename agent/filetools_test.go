package agent

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"agentls/mcp"
)

var update = flag.Bool("update", false, "write the snapshots anew")

// desk is a front end that has files open.
type desk map[string]string

func (d desk) Document(path string) (string, bool) { text, ok := d[path]; return text, ok }
func (desk) Ask(ctx context.Context, _ Question) (Answer, error) {
	return Answer{}, context.Cause(ctx)
}
func (desk) Emit(Event) {}

// bench is a workspace for the tools that read it.
type bench struct {
	t    *testing.T
	dir  string // of the folder
	desk desk
	env  env
}

func newBench(t *testing.T) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: filepath.Join(top, "ws"), desk: desk{}}
	b.write("ws/a.txt", "one\ntwo\nthree\n")
	b.write("ws/src/main.go", "package main\n\nfunc main() {}\n")
	b.write("ws/src/sub/util.ts", "export const one = 1\n")
	b.write("ws/vendor/x.go", "package one\n")
	b.write("ws/.env", "one=SECRET\n")
	b.write("ws/id_rsa", "one key\n")
	b.write("ws/.git/config", "one\n")
	b.write("ws/bin.dat", "one\x00two")
	b.write("ws/empty", "")
	b.write("outside.txt", "one: outside\n")
	b.env = env{folders: findFolders([]string{b.dir}), host: b.desk, limit: 50000, progress: func(mcp.Progress) {},
		ignored: func(path string, _ bool) bool { return strings.Contains(path, string(filepath.Separator)+"vendor") }}
	return b
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(filepath.Dir(b.dir), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) link(to, name string) {
	b.t.Helper()
	if err := os.Symlink(to, filepath.Join(b.dir, name)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) use(t *tool, args any) (string, error) {
	out, err := t.run(b.t.Context(), b.env, marshal(args))
	return out.text, err
}

type fields = map[string]any

// check uses a tool and looks for parts of what it says, error or not.
func (b *bench) check(t *tool, args any, want ...string) {
	b.t.Helper()
	text, err := b.use(t, args)
	if err != nil {
		text = "error: " + err.Error()
	}
	for _, w := range want {
		if not, ok := strings.CutPrefix(w, "NOT "); ok == strings.Contains(text, not) {
			b.t.Errorf("%s %s says\n%s\nexpected: %s", t.name, marshal(args), text, w)
		}
	}
}

func TestReadFile(t *testing.T) {
	b := newBench(t)
	read := readFileTool()
	if text, err := b.use(read, fields{"path": "a.txt"}); text != "one\ntwo\nthree\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	lines := func(start, end int) fields {
		return fields{"path": "a.txt", "range": fields{"start": start, "end": end}}
	}
	b.check(read, lines(2, 2), "two\n[lines 2-2 of 3]", "NOT one", "NOT three")
	b.check(read, fields{"path": "a.txt", "range": fields{"start": 2}}, "two\nthree\n[lines 2-3 of 3]")
	b.check(read, lines(4, 5), "error: ", "has 3 lines")
	b.check(read, lines(3, 2), "error: ", "before its start")
	b.check(read, fields{"path": "a.txt", "lineNumbers": true}, "     2\ttwo\n")
	b.check(read, fields{"path": filepath.Join(b.dir, "src", "main.go")}, "package main")
	b.check(read, fields{"path": "empty"}, "[the file is empty]")
	b.check(read, fields{"path": "nosuch"}, `error: there is no "nosuch"`, "list_dir")
	b.check(read, fields{"path": "src"}, "error: ", "is a directory")
	b.check(read, fields{"path": "bin.dat"}, "error: ", "not text", "7 bytes")
	b.check(read, fields{}, "error: ", "path is missing")
	b.check(read, fields{"path": 5}, "error: ", `"path" must be of type string, not number`)
	b.check(read, fields{"path": "a.txt", "range": "1-2"}, "error: ", `"range" must be of type object`)
	b.write("ws/latin", "caf\xe9\n")
	b.check(read, fields{"path": "latin"}, "caf\uFFFD")

	b.write("ws/long.txt", strings.Repeat("0123456789\n", 100))
	b.env.limit = 500
	b.check(read, fields{"path": "long.txt"}, "0123456789\n[lines 1-18 of 100; ask for the rest with a range]")
	b.env.limit = 50000

	f, err := os.Create(filepath.Join(b.dir, "huge"))
	if err != nil || f.Truncate(maxFile+1) != nil || f.Close() != nil {
		t.Fatal(err)
	}
	b.check(read, fields{"path": "huge"}, "error: ", "at most 16777216")
}

// zed-industries/zed#53590: the agent reads what the user sees.
func TestReadFileGivesUnsavedText(t *testing.T) {
	b := newBench(t)
	b.desk[filepath.Join(b.dir, "a.txt")] = "unsaved\n"
	b.desk[filepath.Join(b.dir, "src", "main.go")] = "package main\n\nfunc main() {}\n"
	b.desk[filepath.Join(b.dir, "new", "file.go")] = "brand new\n"
	b.check(readFileTool(), fields{"path": "a.txt"}, "[unsaved text of the editor", "]\nunsaved\n", "NOT two")
	b.check(readFileTool(), fields{"path": "src/main.go"}, "NOT unsaved", "package main")
	b.check(readFileTool(), fields{"path": "new/file.go"}, "brand new")
	b.check(searchCodeTool(), fields{"query": "unsaved"}, "a.txt:1: unsaved")
}

// CASES 42: veryfront/veryfront-code#2226, tinyhumansai/openhuman#1898
func TestPathsStayInside(t *testing.T) {
	b := newBench(t)
	b.link("../outside.txt", "link")
	b.link(filepath.Dir(b.dir), "up")
	b.link("up/outside.txt", "chain")
	b.link("../nosuch", "dangling")
	b.link("src", "inside")
	b.link(filepath.Join(b.dir, "src"), "absolute")
	for _, p := range []string{
		"../outside.txt", "src/../../outside.txt", "./../outside.txt", "..", "../ws/../outside.txt", filepath.Join(filepath.Dir(b.dir), "outside.txt"),
		"/etc/passwd", b.dir + "/../outside.txt", b.dir + "x/file", "link", "up/outside.txt", "chain", "up", "src/sub/../../../outside.txt",
	} {
		b.check(readFileTool(), fields{"path": p}, "error: ", "NOT one: outside", "outside the workspace folders")
		b.check(listDirTool(), fields{"path": p}, "error: ", "NOT outside.txt (")
	}
	for _, p := range []string{"file:///etc/passwd", "file://" + b.dir + "/a.txt", "a.txt\x00", "a\n.txt", `C:\Windows\win.ini`, `..\outside.txt`, "~/x", strings.Repeat("x/", 3000), "dangling", "dangling/x"} {
		b.check(readFileTool(), fields{"path": p}, "error: ", "NOT one: outside")
	}
	for _, p := range []string{"inside/main.go", "absolute/main.go", "src/../src/main.go", b.dir + "/src/main.go"} {
		b.check(readFileTool(), fields{"path": p}, "package main")
	}
	b.check(searchCodeTool(), fields{"query": "outside"}, "[nothing found]")
}

// A link that is made between the check and the use leads nowhere.
func TestLinkMadeAfterTheCheck(t *testing.T) {
	b := newBench(t)
	for _, to := range []string{"../outside.txt", ".env", filepath.Join(b.dir, "..", "outside.txt")} {
		at, err := b.env.folders.resolve("a.txt", b.desk)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(b.dir, "a.txt")); err != nil {
			t.Fatal(err)
		}
		b.link(to, "a.txt")
		if text, err := diskText(at); err == nil {
			t.Errorf("a link to %s was followed: %q", to, text)
		}
		at, err = b.env.folders.resolve("src/main.go", b.desk)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(b.dir, "src"), filepath.Join(b.dir, "moved")); err != nil {
			t.Fatal(err)
		}
		b.link("..", "src")
		if text, err := diskText(at); err == nil {
			t.Errorf("a directory that became a link was followed: %q", text)
		}
		_ = os.Remove(filepath.Join(b.dir, "src"))
		if err := os.Rename(filepath.Join(b.dir, "moved"), filepath.Join(b.dir, "src")); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(b.dir, "a.txt"))
		b.write("ws/a.txt", "one\n")
	}
}

func TestSeveralFolders(t *testing.T) {
	b := newBench(t)
	b.write("lib/b.txt", "bee\n")
	b.write("lib/a.txt", "other\n")
	lib := filepath.Join(filepath.Dir(b.dir), "lib")
	b.env.folders = findFolders([]string{b.dir, lib, filepath.Join(b.dir, "nosuch")})
	b.check(readFileTool(), fields{"path": "b.txt"}, "bee")
	b.check(readFileTool(), fields{"path": "a.txt"}, "one")
	b.check(readFileTool(), fields{"path": "lib/a.txt"}, "other")
	b.check(readFileTool(), fields{"path": "ws/a.txt"}, "one")
	b.check(readFileTool(), fields{"path": "../lib/a.txt"}, "other")
	b.check(readFileTool(), fields{"path": "../outside.txt"}, "error: ", "outside the workspace folders", b.dir, lib)
	b.check(listDirTool(), fields{}, "ws/ ("+b.dir+")", "lib/ ("+lib+")")
	b.check(listDirTool(), fields{"path": "lib"}, "b.txt (4 bytes)")
	b.check(searchCodeTool(), fields{"query": "bee"}, "lib/b.txt:1: bee")
}

func TestListDir(t *testing.T) {
	b := newBench(t)
	b.link("a.txt", "z")
	text, err := b.use(listDirTool(), fields{})
	if want := ".env (11 bytes)\na.txt (14 bytes)\nbin.dat (7 bytes)\nempty (0 bytes)\nid_rsa (8 bytes)\nsrc/\nz (symbolic link)"; text != want || err != nil {
		t.Errorf("%s\n%v", text, err)
	}
	b.check(listDirTool(), fields{"path": "src/sub"}, "util.ts (21 bytes)")
	b.check(listDirTool(), fields{"path": "a.txt"}, "error: ", "is a file; read_file reads it")
	b.check(listDirTool(), fields{"path": "nosuch"}, "error: there is no")
	for i := range maxEntries + 5 {
		b.write(fmt.Sprintf("ws/many/f%05d", i), "")
	}
	b.check(listDirTool(), fields{"path": "many"}, "f00000 (0 bytes)", "[5 more;", "NOT f01004")
}

func TestSearchCode(t *testing.T) {
	b := newBench(t)
	search := searchCodeTool()
	b.check(search, fields{"query": "one"}, "a.txt:1: one\n", "src/sub/util.ts:1: export const one = 1\n", "NOT vendor", "NOT SECRET", "NOT id_rsa", "NOT .git", "NOT bin.dat")
	b.check(search, fields{"query": "o.e"}, "[nothing found]")
	b.check(search, fields{"query": "O.E", "regex": true}, "[nothing found]")
	b.check(search, fields{"query": "(?i)^O.E$", "regex": true}, "a.txt:1: one\n", "NOT util.ts")
	b.check(search, fields{"query": "main(", "regex": true}, "no regular expression", "src/main.go:3: func main() {}")
	b.check(search, fields{"query": "one", "glob": "*.ts"}, "util.ts", "NOT a.txt")
	b.check(search, fields{"query": "one", "glob": "src/**"}, "util.ts", "NOT a.txt")
	b.check(search, fields{"query": "one", "glob": "[z-a]"}, "error: the glob")
	b.check(search, fields{}, "error: ", "query is missing")
	b.check(search, fields{"query": "one", "limit": "many"}, "error: ", `"limit" must be of type integer`)
	b.write("ws/lines", strings.Repeat("hit "+strings.Repeat("x", 500)+"\n", 2000))
	b.check(search, fields{"query": "hit", "limit": 3}, "lines:3: hit", "NOT lines:4:", "[more than these 3 lines match", "x…\n", "NOT "+strings.Repeat("x", 301))
	b.check(search, fields{"query": "hit"}, "lines:100:", "NOT lines:101:")
	text, _ := b.use(search, fields{"query": "hit", "limit": 1 << 30})
	if len(text) > b.env.limit {
		t.Errorf("%d bytes", len(text))
	}
	f, err := os.Create(filepath.Join(b.dir, "huge.log"))
	if err != nil || f.Truncate(searchedFile+1) != nil || f.Close() != nil {
		t.Fatal(err)
	}
	b.check(search, fields{"query": "nothing like it"}, "[1 files over 2 MiB were not searched]")
}

func TestSearchEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrCancelled)
	if _, err := searchCode(ctx, b.env, json.RawMessage(`{"query":"one"}`)); err != ErrCancelled {
		t.Error(err)
	}
}

func TestSpecialFilesAreNotOpened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no named pipes in a directory")
	}
	b := newBench(t)
	makePipe(t, filepath.Join(b.dir, "pipe"))
	done := make(chan struct{})
	go func() { // ends with the reads
		defer close(done)
		b.check(readFileTool(), fields{"path": "pipe"}, "error: ", "neither a file nor a directory")
		b.check(searchCodeTool(), fields{"query": "zzz"}, "[nothing found]")
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("a named pipe was opened")
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob string
		yes  []string
		no   []string
	}{
		{"*.go", []string{"a.go", "x/y/a.go"}, []string{"a.got", "a.go/x"}},
		{"**/*.go", []string{"a.go", "x/a.go", "x/y/a.go"}, []string{"a.ts"}},
		{"src/*.go", []string{"src/a.go"}, []string{"src/x/a.go", "x/src/a.go"}},
		{"src/**", []string{"src/a", "src/x/y"}, []string{"srcx/a"}},
		{"/src/**/t.?s", []string{"src/t.ts", "src/a/b/t.js"}, []string{"src/t.tsx"}},
		{"*.{ts,tsx}", []string{"a.ts", "b/a.tsx"}, []string{"a.js"}},
		{"[a-c]*.md", []string{"b.md"}, []string{"d.md"}},
		{"[!a-c].md", []string{"d.md"}, []string{"a.md"}},
		{"a+b(c).md", []string{"a+b(c).md"}, []string{"aab(c).md"}},
		{"[", []string{"["}, []string{"a"}},
		{"}", []string{"}"}, nil},
	} {
		re, err := globRegexp(c.glob)
		if err != nil {
			t.Errorf("%s: %v", c.glob, err)
			continue
		}
		for _, p := range c.yes {
			if !re.MatchString(p) {
				t.Errorf("%s does not match %s", c.glob, p)
			}
		}
		for _, p := range c.no {
			if re.MatchString(p) {
				t.Errorf("%s matches %s", c.glob, p)
			}
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"**/*.go", "{a,{b,c}}", "[]]", "[^]", "{{{", `\`, "[[:alpha:]]", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if re, err := globRegexp(s); (re == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", s, re, err)
		}
	})
}

// Golden snapshots: what the model sees of a built-in tool changes on purpose
// only (go test ./agent -run Toolsnaps -update).
func TestToolsnaps(t *testing.T) {
	all := builtins()
	a := &Agent{}
	for _, virtual := range a.resourceTools("example") {
		virtual.name = "mcp__example__" + virtual.name
		all = append(all, virtual)
	}
	for _, tool := range all {
		data, err := json.MarshalIndent(map[string]any{"name": tool.name, "description": tool.description, "schema": tool.schema}, "", "  ")
		if err != nil {
			t.Fatalf("%s: %v", tool.name, err)
		}
		if fit := string(fitSchema(tool.schema)); !sameJSON(fit, string(tool.schema)) {
			t.Errorf("%s: providers want the schema as %s", tool.name, fit)
		}
		file := filepath.Join("testdata", "toolsnaps", tool.name+".snap")
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != string(data)+"\n" {
			t.Errorf("%s is not as in %s (%v):\n%s", tool.name, file, err, data)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && string(marshal(x)) == string(marshal(y))
}
