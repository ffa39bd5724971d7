package config

import (
	"strings"
	"testing"
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
