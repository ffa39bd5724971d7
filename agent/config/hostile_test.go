package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a folder brings along is read before anybody trusts it.
func TestHostileNesting(t *testing.T) {
	deep := strings.Repeat("[", maxFile-100)
	for _, text := range []string{deep, "//\"\n" + deep, "/*\"*/" + deep, "/*/\"*/" + deep, "\"a\" //\"\n" + deep, "{\"//\":" + deep, "{\"a\\\"/*\":" + deep} {
		w := newWorld(t)
		w.project(".mcp.json", text)
		problems(t, w.load(), "nested deeper")
	}
	w := newWorld(t)
	w.project(".mcp.json", `{/* [ */ "mcpServers": {"s": {"command": "x", "args": ["//", "/*", "[[["]}}} //`+strings.Repeat("[", 200)+"\n")
	c := w.load()
	problems(t, c)
	if s := server(t, c, "s"); strings.Join(s.Args, " ") != "// /* [[[" {
		t.Errorf("%q", s.Args)
	}
}

func TestEnvFileDecidesWhatStarts(t *testing.T) {
	w := newWorld(t)
	w.project(".mcp.json", `{"mcpServers": {"s": {"command": "node", "envFile": ".env"}}}`)
	w.project(".env", "A=1\n")
	before := server(t, w.load(), "s")
	w.project(".env", "PATH=/evil\n")
	if after := server(t, w.load(), "s"); after.Fingerprint == before.Fingerprint || after.Env["PATH"] != "/evil" {
		t.Errorf("%+v keeps the fingerprint", after)
	}
	w.project(".env", strings.Repeat("A=1\n", maxFile))
	if s := server(t, w.load(), "s"); !strings.Contains(s.Err, "larger than") {
		t.Errorf("%q", s.Err)
	}
}

// A project that could teach us secrets could hide its command behind them.
func TestProjectTeachesNoSecrets(t *testing.T) {
	w := newWorld(t)
	w.env["USERS"] = "the-users-value"
	w.project(".env", "X_TOKEN=curl evil three\n")
	w.project(".mcp.json", `{"mcpServers": {"s": {"command": "sh", "envFile": ".env",
		"env": {"A_KEY": "curl evil one", "B_KEY": "${UNSET:-curl evil two}", "C_KEY": "${USERS}"}, "headers": {"Auth": "curl evil four"}}}}`)
	w.load()
	const text = "curl evil one, curl evil two, curl evil three, curl evil four, "
	if got := w.source.Secrets.Redact(text + "the-users-value"); got != text+"[redacted]" {
		t.Errorf("%q", got)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.project(".mcp.json", `{"mcpServers": {`+strings.Repeat(`"a": 1, `, 10)+`"b": [`+strings.Repeat("1,", 10)+`1]}}`)
	problems(t, w.load(), "mcpServers.a: a server must", "mcpServers.b: a server must")
	w.project(".agentls/config.json", `{"approval": {"deny": [`+strings.Repeat("1,", 10000)+`1]}}`)
	if n := len(w.load().Problems); n != maxProblems+1 {
		t.Errorf("%d problems", n)
	}
}

// The file is read before initialize is answered, and before anybody trusts it.
func TestProjectServersAreBounded(t *testing.T) {
	w := newWorld(t)
	var b strings.Builder
	for i := 0; b.Len() < maxFile-200; i++ {
		fmt.Fprintf(&b, `"%d": {"command": "${UNSET}"}, `, i)
	}
	w.project(".mcp.json", `{"mcpServers": {`+b.String()+`"z": {"command": "x"}}}`)
	w.project(".vscode/mcp.json", `{"servers": {"other": {"command": "x"}}}`)
	start := time.Now()
	c := w.load()
	if took := time.Since(start); took > 10*time.Second { // it took minutes
		t.Errorf("one line of %d bytes took %v", maxFile, took)
	}
	if len(c.Servers) != maxProjectServers {
		t.Errorf("%d servers", len(c.Servers))
	}
	if last := c.Problems[len(c.Problems)-1]; !strings.Contains(last.Message, "a folder may bring 200 servers") && !strings.Contains(last.Message, "more is wrong") {
		t.Errorf("%q", last)
	}
	user := strings.ReplaceAll(b.String()[:20_000], "${UNSET}", "x")
	w.project(".mcp.json", `{}`)
	w.user(`{"mcpServers": {` + user[:strings.LastIndex(user, `"`+"}, ")+len(`"}, `)] + `}}`)
	if c = w.load(); len(c.Servers) <= maxProjectServers {
		t.Errorf("%d servers of the user's", len(c.Servers))
	}
}

// A project's rules are looked at before every call, and before anybody trusts
// it.
func TestProjectRulesAreBounded(t *testing.T) {
	w := newWorld(t)
	w.user(`{"approval": {"deny": ["run_command(rm)"]}}`)
	w.project(".agentls/config.json", `{"approval": {"ask": [`+strings.Repeat(`"run_command(a b c)",`, 700)+`], "deny": [`+strings.Repeat(`"x",`, 10_000)+`]}}`)
	c := w.load()
	if n := len(c.Approval.Ask) + len(c.Approval.Deny); n != maxProjectRules+1 {
		t.Errorf("%d rules", n)
	}
	if !slices.ContainsFunc(c.Problems, func(p Problem) bool { return strings.Contains(p.Message, "a folder may bring 1000 rules") }) {
		t.Error("what was ignored is not told")
	}
}

// A file costs what it holds for each server that names it, by whatever
// spelling.
func TestProjectEnvFilesAreBounded(t *testing.T) {
	w := newWorld(t)
	w.project("f", "A=1\n#"+strings.Repeat("x", maxFile/4))
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `"s%02d": {"command": "x", "envFile": "%s/f"}, `, i, w.folder+strings.Repeat("/.", i))
	}
	w.project(".mcp.json", `{"mcpServers": {`+b.String()+`}}`)
	c := w.load()
	for i, s := range c.Servers {
		if told := strings.Contains(s.Err, "envFile: the env files of this folder's servers are larger than"); told != (i >= 4) || !told && s.Env["A"] != "1" {
			t.Errorf("server %d: %q, %v", i, s.Err, s.Env)
		}
	}
	files := NewFiles()
	Load(t.Context(), w.source, Request{Folders: []string{w.folder}, Files: files})
	if names := files.Names(); len(names) > 6 {
		t.Errorf("one file is kept by the names %q", names)
	}
}
