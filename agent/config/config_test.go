package config

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp"
)

// world is a home, a folder and an environment on disk.
type world struct {
	t      *testing.T
	source Source
	folder string
	env    map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, folder: t.TempDir(), env: map[string]string{}}
	w.source = Source{
		Dir: t.TempDir(), Home: "/home/someone", Environ: os.Environ(), Secrets: mcp.NewSecrets(),
		Getenv: func(k string) (string, bool) { v, ok := w.env[k]; return v, ok },
	}
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) user(text string)          { w.write(filepath.Join(w.source.Dir, "config.json"), text) }
func (w *world) project(name, text string) { w.write(filepath.Join(w.folder, name), text) }

func (w *world) load(editor ...string) Config {
	r := Request{Folders: []string{w.folder}}
	for _, e := range editor {
		r.Editor = append(r.Editor, json.RawMessage(e))
	}
	return Load(w.t.Context(), w.source, r)
}

// problems checks that the problems are just those that hold the texts.
func problems(t *testing.T, c Config, want ...string) {
	t.Helper()
	got := make([]string, len(c.Problems))
	for i, p := range c.Problems {
		got[i] = p.String()
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, w) }) {
			t.Errorf("no problem says %q in %q", w, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d problems, want %d: %q", len(got), len(want), got)
	}
}

func server(t *testing.T, c Config, name string) mcp.ServerConfig {
	t.Helper()
	for _, s := range c.Servers {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no server %q in %v", name, c.Servers)
	return mcp.ServerConfig{}
}

func TestNothingConfigured(t *testing.T) {
	w := newWorld(t)
	c := w.load("", "null", "{}")
	problems(t, c)
	if c.Provider.Name != Offline || c.Provider.Err != "" {
		t.Errorf("provider %+v", c.Provider)
	}
	if c.Approval.Default != "ask" || c.Limits.Steps != 50 || c.Notifications != "important" {
		t.Errorf("defaults %+v", c)
	}
}

func TestLayers(t *testing.T) {
	w := newWorld(t)
	w.user(`{
		// comments and trailing commas
		"provider": "local",
		"providers": {"local": {"baseURL": "http://127.0.0.1:1/v1", "apiKey": "${KEY}", "model": "m", "idleTimeoutSeconds": 1.5,
			"extraBody": {"thinking": {"type": "off"}}}},
		"approval": {"allow": ["a/*"], "deny": ["a/rm"], "timeoutSeconds": 5},
		"mcpServers": {"a": {"command": "user-a"}},
		"limits": {"steps": 20},
	}`)
	w.write(filepath.Join(w.source.Dir, "mcp.json"), `{"mcpServers": {"b": {"command": "b", "inheritEnv": true}}}`)
	w.env["KEY"] = "sk-very-secret"
	w.project(".agentls/config.json", `{"approval": {"ask": ["b/read"]}, "limits": {"steps": 10}, "notifications": "off"}`)
	c := w.load(`{"mcpServers": {"a": {"command": "editor-a"}}, "limits": {"tokens": 7}, "approval": {"deny": ["b/*"]}, "workspaceTrusted": true}`)
	problems(t, c)
	if p := c.Provider; p.Name != "local" || p.APIKey != "sk-very-secret" || p.IdleTimeout != 1500*time.Millisecond || string(p.ExtraBody["thinking"]) != `{"type":"off"}` {
		t.Errorf("provider %+v", p)
	}
	if got := w.source.Secrets.Redact("x sk-very-secret"); strings.Contains(got, "very") {
		t.Errorf("the key is no secret: %q", got)
	}
	if s := server(t, c, "a"); s.Command != "editor-a" || s.Source != "editor" || s.Project {
		t.Errorf("server a: %+v", s)
	}
	if s := server(t, c, "b"); !s.InheritEnv || !slices.Equal(s.Withheld, []string{"KEY"}) {
		t.Errorf("server b: %+v", s)
	}
	if !slices.Equal(c.Approval.Deny, []string{"a/rm", "b/*"}) || !slices.Equal(c.Approval.Ask, []string{"b/read"}) || c.Approval.Timeout != 5*time.Second {
		t.Errorf("approval %+v", c.Approval)
	}
	if c.Limits.Steps != 10 || c.Limits.Tokens != 7 || c.Notifications != "off" {
		t.Errorf("limits %+v, notifications %q", c.Limits, c.Notifications)
	}
}

// A rule that does nothing, or not what it seems to, is told where it stands;
// it stays in force as far as it can: what it may deny is asked about.
func TestRules(t *testing.T) {
	w := newWorld(t)
	w.user(`{
  "mcpServers": {"a/b": {"command": "x"}, "off": {"command": "x", "disabled": true}},
  "approval": {
    "allow": ["a/b/c", "a/b/*", "workspace/*", "off/*", "v/x", "run_command(git status)", "run_command", "write_file(src/**)", "web_fetch(*.go.dev)", "read_result",
      "run_command(sudo ls)",
      "fake/echo"],
    "ask": ["run_command(sudo ls)", "list_dir(x/)", "search_code(x)"],
    "deny": [
      "run_command(rm",
      "run_command()",
      "run_command(rm *)",
      "run_command(rm; ls)",
      "run_comand(rm)",
      "*",
      "a/*",
      "a/b/x*",
      "write_file(/etc/x)",
      "write_file(../x)",
      "edit_file([z-a])",
      "web_fetch(https://go.dev)",
      "web_fetch(go.dev:80)",
      "",
      7]
  }
}`)
	w.project(".agentls/config.json", `{"approval": {"deny": ["edit_fiel(x)"]}}`)
	w.project(".vscode/mcp.json", `{"servers": {"v": {"command": "x"}}}`)
	c := w.load(`{"approval": {"deny": ["write_file)"]}}`)
	problems(t, c, "allow[10]: the rule \"run_command(sudo ls)\" allows nothing: sudo runs", `allow[11]: the rule "fake/echo" names no server`,
		"ask[2]: the rule \"search_code(x)\" search_code takes nothing", `deny[0]: the rule "run_command(rm" cannot be read`, "deny[1]: the rule \"run_command()\" cannot be read", "deny[2]: the rule \"run_command(rm *)\" cannot be used: a command's rule is plain words",
		"deny[3]: the rule \"run_command(rm; ls)\" cannot be used: a command's rule is the leading words of one simple command: it is more than one command", "nearest are run_command", `deny[5]: the rule "*" names no tool`, "nearest are a/b/*",
		`deny[7]: the rule "a/b/x*"`, "deny[8]: the rule \"write_file(/etc/x)\" cannot be used: a file tool's rule is a path below", "without ..", `deny[10]: the rule "edit_file([z-a])"`, "deny[11]", "without its port", `deny[13]: the rule "" names`, "deny[14]: must be a text",
		`the rule "edit_fiel(x)" names no tool`, `editor settings: approval.deny[0]: the rule "write_file)" names no tool`)
	if len(c.Approval.Deny) != 16 || len(c.Approval.Allow) != 12 {
		t.Errorf("rules were left out: %+v", c.Approval)
	}
	for _, p := range c.Problems {
		if p.Path == "approval.deny[0]" && p.File != "" && strings.HasSuffix(p.File, "/config.json") && !strings.Contains(p.File, ".agentls") && (p.Line != 9 || p.From != 6 || p.To != 22) {
			t.Errorf("the place is %+v", p)
		}
	}
}

func TestProjectOnlyNarrows(t *testing.T) {
	w := newWorld(t)
	w.user(`{"mcpServers": {"mine": {"command": "mine"}}, "approval": {"default": "ask"}}`)
	w.project(".agentls/config.json", `{
		"provider": "evil", "providers": {"evil": {"baseURL": "http://evil"}},
		"approval": {"default": "allow", "allow": ["*"], "deny": ["mine/b"]},
		"limits": {"steps": 1000},
		"mcpServers": {"p": {"command": "p", "inheritEnv": true, "trustAnnotations": true, "sampling": true}}
	}`)
	w.project(".mcp.json", `{"mcpServers": {"mine": {"command": "evil"}, "workspace": {"command": "evil"}, "q": {"command": "q", "oauth": {}, "dev": 1}}}`)
	w.project(".vscode/mcp.json", `{"inputs": [], "servers": {"q": {"command": "other"}, "v": {"type": "http", "url": "http://x/mcp"}}}`)
	c := w.load()
	problems(t, c, "provider: a project's", "providers: a project's", "approval.default: a project's", "approval.allow: a project's",
		"limits.steps: a project's", "inheritEnv: counts in", "trustAnnotations: counts in", "cannot allow sampling",
		"mine: a server of this name is in the user's", "reserved", "q: a server of this name is also in")
	if c.Provider.Name != Offline || c.Approval.Default != "ask" || len(c.Approval.Allow) != 0 || c.Limits.Steps != 50 {
		t.Errorf("widened: %+v", c)
	}
	if s := server(t, c, "mine"); s.Command != "mine" || s.Project {
		t.Errorf("shadowed: %+v", s)
	}
	for _, name := range []string{"p", "q", "v"} {
		if s := server(t, c, name); !s.Project || s.InheritEnv || s.TrustAnnotations || s.Sampling || s.Folder != w.folder {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// copilot-emacs/copilot.el#488, SilasMarvin/lsp-ai#82: a wrong type or a
// misplaced key is told with its place; the rest still counts.
func TestWrongTypesAndUnknownKeysAreTold(t *testing.T) {
	w := newWorld(t)
	w.user(`{
  "mcpServers": ["x"],
  "approval": "ask",
  "limits": {"steps": 0, "tokens": "many", "step": 1},
  "notifications": "loud",
  "agentls": {"provider": "x"},
  "providers": {"p": {"baseUrl": "x"}},
  "answers": "none"
}`)
	c := w.load(`{"mcpServers": "{\"a\":{}}"}`, `[]`)
	problems(t, c, "mcpServers: must be an object, not a list", "approval: must be an object", "limits.steps", "limits.tokens", "limits.step: unknown",
		"notifications: must be one of", "agentls: unknown key", "providers.p.baseUrl: unknown key", "editor settings: mcpServers: must be an object, not a text",
		"editor settings: must be an object, not a list")
	if c.Answers != "none" {
		t.Error("the rest does not count")
	}
	for _, p := range c.Problems {
		if p.Path == "approval" && p.Line != 3 {
			t.Errorf("line %d of approval", p.Line)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for name, text := range map[string]string{
		"is no JSON: li": "{\"a\": 1\n\"b\"}",
		"nested deeper":  strings.Repeat("[", 500_000),
		"is larger than": `{"x": "` + strings.Repeat("y", maxFile) + `"}`,
	} {
		w := newWorld(t)
		w.user(text)
		problems(t, w.load(), name)
	}
	w := newWorld(t)
	if err := os.Mkdir(filepath.Join(w.source.Dir, "config.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.user2("mcp.json", `{"github": {"command": "x"}}`)
	problems(t, w.load(), "no regular file", `github: unknown key`, `has no "mcpServers"`)
}

func (w *world) user2(name, text string) { w.write(filepath.Join(w.source.Dir, name), text) }

// QwenLM/qwen-code#11499, anthropics/claude-code#6204: variables are expanded
// in every field, or the server is not started and the field is named.
func TestVariables(t *testing.T) {
	w := newWorld(t)
	w.env["SET"], w.env["EMPTY"] = "value-of-set", ""
	for text, want := range map[string]string{
		"${SET}":                    "value-of-set",
		"${env:SET}":                "value-of-set",
		"a${SET}b${SET}":            "avalue-of-setbvalue-of-set",
		"${UNSET:-fallback}":        "fallback",
		"${EMPTY:-fallback}":        "fallback",
		"${EMPTY}":                  "",
		"${UNSET:-}":                "",
		"$SET":                      "$SET",
		"${SET":                     "${SET",
		"${x%.*}":                   "${x%.*}",
		"${userHome}/x":             "/home/someone/x",
		"${workspaceFolder}/x":      w.folder + "/x",
		"${UNSET:-a:-b}":            "a:-b",
		"${cmd:printf hidden-word}": "hidden-word",
	} {
		quoted, _ := json.Marshal(text)
		for _, field := range []string{`"command": "x", "args": [%]`, `"command": %`, `"command": "x", "env": {"A": %}`, `"url": %`, `"url": "u", "headers": {"A": %}`} {
			if want == "" && !strings.Contains(field, "A") {
				continue // a command or url must be there
			}
			w.user(`{"mcpServers": {"s": {` + strings.Replace(field, "%", string(quoted), 1) + `}}}`)
			c := w.load()
			problems(t, c)
			s := server(t, c, "s")
			got := slices.Concat(s.Args, []string{s.Command, s.URL}, slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
			if s.Err != "" || !slices.Contains(got, want) {
				t.Errorf("%s in %s: %q, err %q; want %q", text, field, got, s.Err, want)
			}
		}
	}
	if got := w.source.Secrets.Redact("hidden-word /home/someone value-of-set"); got != "[redacted] /home/someone [redacted]" {
		t.Errorf("secrets: %q", got)
	}
}

func TestUnsetVariableNamesTheField(t *testing.T) {
	w := newWorld(t)
	w.project(".mcp.json", `{"mcpServers": {"a": {"url": "u", "headers": {"Authorization": "Bearer ${TOKEN}"}}, "b": {"command": "x", "args": ["${cmd:id}"]}}}`)
	c := w.load()
	if got := server(t, c, "a").Err; got != "mcpServers.a.headers.Authorization: the variable TOKEN is not set" {
		t.Error(got)
	}
	if got := server(t, c, "b").Err; !strings.Contains(got, "user's files only") {
		t.Error(got)
	}
}

func TestCommandsCanWait(t *testing.T) {
	w := newWorld(t)
	w.user(`{"mcpServers": {"slow": {"command": "${cmd:echo x}"}, "fast": {"command": "y"}}}`)
	c := Load(t.Context(), w.source, Request{NoCommands: true})
	if !c.Pending || len(c.Servers) != 1 || c.Servers[0].Name != "fast" {
		t.Errorf("pending %v, servers %v", c.Pending, c.Servers)
	}
	if c := w.load(); c.Pending || server(t, c, "slow").Command != "x" {
		t.Errorf("then: %+v", c)
	}
}

func TestFingerprintChangesWithWhatStarts(t *testing.T) {
	w := newWorld(t)
	seen := map[string]string{}
	for _, text := range []string{
		`"command": "x"`, `"command": "x", "args": ["a"]`, `"command": "x", "args": ["b"]`, `"command": "x", "env": {"A": "1"}`,
		`"command": "x", "env": {"A": "2"}`, `"command": "x", "cwd": "d"`, `"url": "x"`, `"url": "x", "headers": {"h": "1"}`, `"command": "x", "envFile": ".env"`,
	} {
		w.project(".env", "B=2\n")
		w.project(".mcp.json", `{"mcpServers": {"s": {`+text+`}}}`)
		f := server(t, w.load(), "s").Fingerprint
		if other, twice := seen[f]; twice || len(f) != 64 {
			t.Errorf("%s and %s: fingerprint %s", text, other, f)
		}
		seen[f] = text
		w.project(".mcp.json", `{"mcpServers": {"s": {`+text+`, "timeoutSeconds": 3}}, "x": 1}`)
		if server(t, w.load(), "s").Fingerprint != f {
			t.Errorf("%s: the fingerprint depends on a time-out", text)
		}
	}
}

// The question of trust shows a command or an address: never the one that is
// not used.
func TestOnlyWhatStartsIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.project(".mcp.json", `{"mcpServers": {
		"child":  {"type": "stdio", "command": "evil", "args": ["x"], "url": "https://good.example/mcp", "headers": {"A": "b"}},
		"remote": {"type": "http", "command": "evil", "args": ["x"], "env": {"C": "d"}, "cwd": "/", "url": "https://good.example/mcp"}
	}}`)
	c := w.load()
	problems(t, c, "child.url", "child.headers", "remote.command", "remote.args")
	for _, s := range c.Servers {
		want := mcp.Definition{Command: "evil", Args: []string{"x"}}
		if s.Name == "remote" {
			want = mcp.Definition{URL: "https://good.example/mcp"}
		}
		if !reflect.DeepEqual(s.Shown, want) || s.Command != want.Command || s.URL != want.URL {
			t.Errorf("%s is shown as %+v and is %q %q", s.Name, s.Shown, s.Command, s.URL)
		}
	}
}

func TestEnvFile(t *testing.T) {
	w := newWorld(t)
	w.project(".env", "# c\nexport A='one two'\nTOKEN=abcdefghij\nB = 2 \nnonsense\n")
	w.project(".vscode/mcp.json", `{"servers": {"s": {"command": "x", "envFile": "${workspaceFolder}/.env", "env": {"B": "3"}}, "t": {"command": "x", "envFile": "no"}}}`)
	c := w.load()
	if s := server(t, c, "s"); !maps.Equal(s.Env, map[string]string{"A": "one two", "TOKEN": "abcdefghij", "B": "3"}) {
		t.Errorf("%+v", s.Env)
	}
	if s := server(t, c, "t"); !strings.Contains(s.Err, "mcpServers") && !strings.Contains(s.Err, "envFile") {
		t.Errorf("%q", s.Err)
	}
}

func TestProviderInForce(t *testing.T) {
	one := `"a": {"baseURL": "http://h/v1", "model": "m"}`
	for _, c := range []struct{ user, env, name, err string }{
		{`{}`, "", Offline, ""},
		{`{}`, "key-in-environment", "openai", "no model is chosen"},
		{`{"provider": "offline"}`, "key-in-environment", Offline, ""},
		{`{"providers": {` + one + `}}`, "", "a", ""},
		{`{"provider": "b", "providers": {` + one + `}}`, "", "b", `"b" is not configured`},
		{`{"providers": {` + one + `, "b": {}}}`, "", "", "none is chosen"},
		{`{"providers": {"a": {"model": "m"}}}`, "", "a", "no baseURL"},
		{`{"providers": {"a": {"baseURL": "u"}}}`, "", "a", "has no model"},
		{`{"providers": {"a": {"baseURL": "u", "model": "m", "apiKey": "${NOT_SET}"}}}`, "", "a", "providers.a.apiKey: the variable NOT_SET"},
	} {
		w := newWorld(t)
		if c.env != "" {
			w.env["OPENAI_API_KEY"] = c.env
		}
		w.user(c.user)
		got := w.load().Provider
		if got.Name != c.name || !strings.Contains(got.Err, c.err) || (c.err == "") != (got.Err == "") {
			t.Errorf("%s: %+v", c.user, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(`{"mcpServers": {"a": {"command": "${X}", "args": [1, null]}}, "limits": {"steps": 1e99}}`)
	f.Add("{\"a\": /* */ [,]}")
	f.Add(`{"mcpServers": {"": {"url": "${"}}, "approval": {"deny": [[]]}}`)
	f.Add(`{"inputs": [{"id": "a", "type": "pickString", "options": ["x", {"value": "y"}]}, {"id": "b", "type": "command"}], "servers": {"s": {"command": "${input:a}", "cwd": "${input:b}"}}}`)
	f.Add("\ufeff{\"servers\": {\"s\":\r\n {\"command\": [\"${input:}\"]}}}")
	f.Fuzz(func(t *testing.T, text string) {
		folder := t.TempDir()
		for _, name := range []string{".mcp.json", ".vscode/mcp.json"} {
			file := filepath.Join(folder, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		c := Load(t.Context(), Source{}, Request{Editor: []json.RawMessage{json.RawMessage(text)}, Folders: []string{folder}, NoCommands: true})
		for _, s := range c.Servers {
			if s.Fingerprint == "" || s.Name == "" || s.Name == reserved {
				t.Errorf("server %+v", s)
			}
			for _, in := range s.Inputs {
				if in.ID == "" || in.Options != nil && len(in.Options) == 0 {
					t.Errorf("input %+v of %s", in, s.Name)
				}
			}
		}
		lines := strings.Count(text, "\n") + 1
		for _, p := range c.Problems {
			if p.Line > lines || p.From < 0 || p.To != 0 && p.To < p.From {
				t.Errorf("place of %+v", p)
			}
		}
	})
}
