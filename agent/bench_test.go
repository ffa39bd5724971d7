package agent

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentls/mcp"
)

// desk is a front end that has files open.
type desk map[string]string

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
	b.env = env{
		folders: findFolders([]Folder{{Path: b.dir}}), host: b.desk, limit: 50000, progress: func(mcp.Progress) {},
		known: &known{}, edits: &edits{}, changes: &changes{locks: &fileLocks{}, undo: newUndoStore("", slog.New(slog.DiscardHandler)).start("r1"), step: noStep},
		ignored: func(path string, _ bool) bool { return strings.Contains(path, string(filepath.Separator)+"vendor") },
	}
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

func (d desk) Document(path string) (string, bool) { text, ok := d[path]; return text, ok }

func (d desk) Edit(_ context.Context, e Edit) (Edited, error) {
	text, ok := d[e.Path]
	switch {
	case !ok:
		return Edited{}, ErrNotOpen
	case text != e.Before:
		return Edited{}, ErrStale
	}
	d[e.Path] = e.After
	return Edited{URI: "file://" + e.Path, Text: e.After}, nil
}

func (desk) Diagnostics(context.Context, string) []string { return nil }

func (desk) Ask(ctx context.Context, _ Question) (Answer, error) {
	return Answer{}, context.Cause(ctx)
}
func (desk) Emit(Event) {}
