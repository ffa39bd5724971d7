package agent_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
)

// cornered is a world whose folder has neighbours, and links that lead to them.
func cornered(t *testing.T) (w *world, outside string) {
	w = newWorld(t)
	outside = filepath.Join(filepath.Dir(w.dir), "outside")
	for name, text := range map[string]string{
		"outside/secret.txt": "never to be seen: sentinel-outside\n", "a.txt": "one\ntwo\n", "sub/b.go": "package b\n", ".env": "KEY=1\n", "bin": "\x00\x01",
	} {
		path := filepath.Join(w.dir, name)
		if strings.HasPrefix(name, "outside/") {
			path = filepath.Join(filepath.Dir(w.dir), name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": outside, "out.txt": filepath.Join(outside, "secret.txt"), "up": "..", "loop": "loop", "in.txt": "a.txt"} {
		if err := os.Symlink(to, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.task.Approval = agent.Approval{Default: "allow", Deny: []string{"run_command", "web_fetch"}} // they leave the folder by design
	return w, outside
}

// everything is all below a folder: names, kinds and contents.
func everything(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line := fmt.Sprint(path, " ", d.Type())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(data)
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// argumentsOf are ways to make arguments of a tool out of a text: as it is, in
// the place of every property that the schema has, and as its path alone.
func argumentsOf(spec agent.ToolSpec, text string) (out []string) {
	out = append(out, text)
	var schema struct {
		Properties map[string]struct{ Type any }
	}
	if json.Unmarshal(spec.Schema, &schema) != nil {
		return out
	}
	all, path := map[string]any{}, map[string]any{}
	for name, p := range schema.Properties {
		switch p.Type {
		case "integer":
			all[name], path[name] = len(text)-5, 1
		case "boolean":
			all[name], path[name] = len(text)%2 == 0, false
		case "array":
			all[name] = []any{map[string]any{"old": text, "new": text + "x"}}
			path[name] = []any{map[string]any{"old": "one", "new": "three"}, map[string]any{"old": "sentinel", "new": "changed"}}
		case "object":
			all[name], path[name] = map[string]any{"start": len(text) - 3, "end": len(text)}, map[string]any{}
		default:
			all[name], path[name] = text, "one"
		}
		if name == "path" || name == "cwd" || name == "uri" || name == "glob" {
			path[name] = text
		}
	}
	for _, v := range []any{all, path} {
		raw, err := json.Marshal(v)
		if err == nil {
			out = append(out, string(raw))
		}
	}
	return out
}

// Whatever a model writes as arguments: each registered tool gives a result,
// none panics, none leaves the folder, and the history stays one that a
// provider takes (veryfront-code#2226, openhuman#1898; AtomicBot-ai/atomic-agent#132).
func FuzzToolArguments(f *testing.F) {
	for _, text := range []string{
		"", "{}", "null", "[]", `{"path":1}`, `{"path":"a.txt","content":null,"edits":7}`, `{"path":"a.txt","range":{"start":-1}}`, `{"query":"(","regex":true}`,
		"a.txt", "in.txt", "sub", "sub/new/deep.txt", ".", "", "..", "../outside/secret.txt", "out/secret.txt", "out.txt", "out/new.txt", "up/outside/secret.txt", "loop", "loop/x",
		"/etc/passwd", "/", "~/x", `C:\x`, `..\outside\secret.txt`, "a.txt/../../outside/secret.txt", "a\x00.txt", "file:///etc/passwd", "bin", ".env", ".git/config", "AGENTS.md",
		"%2e%2e/outside/secret.txt", "*", "**", "[z-a]", "{a,b", strings.Repeat("x/", 3000), strings.Repeat("é", 300), "\xff\xfe", "CON", "a.txt.", "-rf", "sub/../sub/b.go",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		synctest.Test(t, func(t *testing.T) {
			w, outside := cornered(t)
			before := everything(t, outside)
			var calls []agent.ToolCall
			for _, spec := range w.agent.Specs() {
				if strings.HasPrefix(spec.Name, "mcp__fake__") && !strings.HasSuffix(spec.Name, "_resource") && !strings.HasSuffix(spec.Name, "_resources") {
					continue // those are doubles
				}
				for _, arguments := range argumentsOf(spec, text) {
					calls = append(calls, call(fmt.Sprint("c", len(calls)), spec.Name, arguments))
				}
			}
			res, llm := w.must("go", agenttest.Call(calls...))
			if len(res.ToolCalls) != len(calls) {
				t.Errorf("%d results of %d calls", len(res.ToolCalls), len(calls))
			}
			if after := everything(t, outside); !slices.Equal(before, after) {
				t.Errorf("what is outside changed from %q to %q", before, after)
			}
			for i, text := range results(llm.Last()) {
				if strings.Contains(text, "sentinel-outside") && !strings.Contains(calls[i].Arguments, "sentinel-outside") {
					t.Errorf("%s %s saw what is outside: %s", calls[i].Name, calls[i].Arguments, text)
				}
			}
			w.log.mu.Lock()
			if log := w.log.String(); strings.Contains(log, "panicked") {
				t.Errorf("a tool panicked:\n%s", log)
			}
			w.log.mu.Unlock()
		})
	})
}
