package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// again loads with files that stay in force until they are taken.
func (w *world) again(f *Files, r Request) Config {
	w.t.Helper()
	r.Folders, r.Files = []string{w.folder}, f
	return Load(w.t.Context(), w.source, r)
}

// An edit that is half done, one comma or a file that is being written, does
// not drop what was in force: it is told, and mended it counts.
func TestBadFileKeepsWhatWasInForce(t *testing.T) {
	for name, bad := range map[string]string{
		"is no JSON":      `{"mcpServers": {"a": {"command": "x"`,
		"is empty":        " \n",
		"nested deeper":   strings.Repeat("[", maxDepth+1),
		"is larger than":  `{"x": "` + strings.Repeat("y", maxFile) + `"}`,
		"no regular file": "directory",
	} {
		t.Run(name, func(t *testing.T) {
			w, f := newWorld(t), NewFiles()
			file := filepath.Join(w.folder, ".mcp.json")
			take := func() {
				now := f.Look()
				f.Take(now, f.Changed(now)...)
			}
			w.project(".mcp.json", `{"mcpServers": {"a": {"command": "one", "timeoutSeconds": "odd"}}}`)
			problems(t, w.again(f, Request{}), "timeoutSeconds")
			if bad == "directory" {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
				w.project(".mcp.json/x", "")
			} else {
				w.project(".mcp.json", bad)
			}
			take()
			for range 2 { // however often it is loaded
				c := w.again(f, Request{})
				problems(t, c, name)
				if p := c.Problems[0]; server(t, c, "a").Command != "one" || !p.Disables || !strings.HasSuffix(p.Message, "; what it said before stays in force") {
					t.Errorf("%+v, %+v", c.Servers, p)
				}
			}
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			take()
			if c := w.again(f, Request{}); len(c.Servers) != 0 || len(c.Problems) != 0 {
				t.Errorf("a file that is gone: %+v", c)
			}
			w.project(".mcp.json", `{`) // what went does not come back
			take()
			if c := w.again(f, Request{}); len(c.Servers) != 0 || len(c.Problems) != 1 || strings.Contains(c.Problems[0].Message, "before") {
				t.Errorf("a bad file where none was: %+v", c)
			}
		})
	}
}

func TestFilesThatALoadReads(t *testing.T) {
	w, f := newWorld(t), NewFiles()
	w.write(filepath.Join(w.source.Dir, "key"), "sk-from-a-file-1")
	w.user(`{"providers": {"p": {"baseURL": "u", "model": "m", "apiKey": "${file:key}"}}}`)
	w.project(".mcp.json", `{"mcpServers": {"a": {"command": "x", "envFile": "env/.env"}}}`)
	c := w.again(f, Request{})
	want := []string{
		filepath.Join(w.source.Dir, "config.json"), filepath.Join(w.source.Dir, "key"), filepath.Join(w.source.Dir, "mcp.json"),
		filepath.Join(w.folder, ".agentls", "config.json"), filepath.Join(w.folder, ".mcp.json"), filepath.Join(w.folder, ".vscode", "mcp.json"),
		filepath.Join(w.folder, "env", ".env"),
	}
	slices.Sort(want)
	if got := f.Names(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !strings.Contains(server(t, c, "a").Err, "envFile") {
		t.Errorf("%+v", c.Servers)
	}

	// What is on disk counts once it is taken.
	w.write(filepath.Join(w.source.Dir, "key"), "sk-from-a-file-2")
	w.project("env/.env", "A=1")
	w.project(".mcp.json", `{}`)
	now := f.Look()
	changed := []string{filepath.Join(w.source.Dir, "key"), filepath.Join(w.folder, ".mcp.json"), filepath.Join(w.folder, "env", ".env")}
	slices.Sort(changed)
	if got := f.Changed(now); !slices.Equal(got, changed) {
		t.Errorf("changed %q", got)
	}
	if c := w.again(f, Request{}); c.Provider.APIKey != "sk-from-a-file-1" || len(c.Servers) != 1 || c.Servers[0].Err == "" {
		t.Errorf("in force before: %+v", c)
	}
	f.Take(now, filepath.Join(w.source.Dir, "key"), filepath.Join(w.folder, "env", ".env"))
	if c := w.again(f, Request{}); c.Provider.APIKey != "sk-from-a-file-2" || len(c.Servers) != 1 || c.Servers[0].Env["A"] != "1" {
		t.Errorf("in force then: %+v", c)
	}
	if w.source.Secrets.Redact("sk-from-a-file-2") != "[redacted]" {
		t.Error("the new key may be told")
	}
	f.Take(now, f.Changed(now)...)
	if w.again(f, Request{}); slices.Contains(f.Names(), filepath.Join(w.folder, "env", ".env")) {
		t.Error("a file that nothing names is still watched")
	}
}

// Problems stand at the key or value that they are about.
func TestPlacesOfProblems(t *testing.T) {
	w := newWorld(t)
	text := "\ufeff{\r\n  // é\n  /* 😀 */ \"nöpe\": 1,\n  \"notifications\": 5,\n" +
		"  \"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": [\"y\", \"😀${GONE}\"]}, \"b\": {\n}, \"c\": {\"command\": [\n1]}},\n" +
		"  \"providers\": {\"p\": {\"baseURL\": \"u\", \"model\": \"m\", \"headers\": {\"h\": \"${file:none}\"}}}\n}\n"
	w.user(text)
	units := func(s string) int { // UTF-16
		n := 0
		for _, r := range s {
			if n++; r > 0xffff {
				n++
			}
		}
		return n
	}
	c := Load(t.Context(), w.source, Request{Units: units, Folders: []string{w.folder}})
	lines := strings.Split(strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff"), "\n")
	check := func(path, shows string, disables bool) {
		t.Helper()
		i := slices.IndexFunc(c.Problems, func(p Problem) bool { return p.Path == path })
		if i < 0 {
			t.Fatalf("no problem at %s in %q", path, c.Problems)
		}
		p := c.Problems[i]
		line := lines[p.Line-1]
		from := units(line[:strings.LastIndex(line, shows)])
		if p.From != from || p.To != from+units(shows) || p.Disables != disables {
			t.Errorf("%s: line %d, %d to %d, want %d to %d; disables %v", path, p.Line, p.From, p.To, from, from+units(shows), p.Disables)
		}
	}
	check("nöpe", `"nöpe"`, false)
	check("notifications", `5`, false)
	check("mcpServers.a.args[1]", `"😀${GONE}"`, true)
	check("mcpServers.b", `{`, true)
	check("mcpServers.c.command", `[`, false)
	check("providers.p.headers.h", `"${file:none}"`, true)

	w.user("{\n  \"a\": \"é\" 1\n}")
	if p := w.load().Problems[0]; p.Line != 2 || p.From != 12 || p.To != 13 || !p.Disables {
		t.Errorf("no JSON: %+v", p)
	}
	for _, bad := range []string{"{", "{\n", "\"\n", "{\"a\": \n\n"} { // places at the end
		w.user(bad)
		if p := w.load().Problems; len(p) != 1 || p[0].Line < 1 || p[0].From < 0 {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func TestDiff(t *testing.T) {
	w := newWorld(t)
	w.user(`{"mcpServers": {"same": {"command": "x"}, "gone": {"command": "x"}, "other": {"command": "x"}, "slow": {"command": "${cmd:one}"}}}`)
	before := Load(t.Context(), w.source, Request{NoCommands: true})
	w.user(`{"mcpServers": {"same": {"command": "x"}, "new": {"command": "x"}, "other": {"command": "y"}, "slow": {"command": "${cmd:two}"}},
		"approval": {"default": "allow"}, "providers": {"p": {"apiKey": "k"}}, "notifications": "off"}`)
	after := Load(t.Context(), w.source, Request{NoCommands: true})
	d := Diff(before, after)
	if !slices.Equal(d.Added, []string{"new"}) || !slices.Equal(d.Removed, []string{"gone"}) || !slices.Equal(d.Changed, []string{"other", "slow"}) ||
		!slices.Equal(d.Settings, []string{"provider", "providers", "approval", "notifications"}) {
		t.Errorf("%+v", d)
	}
	if d := Diff(after, after); d.Added != nil || d.Removed != nil || d.Changed != nil || d.Settings != nil {
		t.Errorf("of the same: %+v", d)
	}
}
