package agent_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
)

func TestPolicy(t *testing.T) {
	always := []agent.Answer{{Decision: agent.DecisionAlways}}
	for _, c := range []struct {
		name     string
		approval agent.Approval
		call     agent.ToolCall
		before   []agent.Answer // of a call beforehand, under no rules
		outcome  agent.Outcome
		by       string
		asked    int
	}{
		{name: "an MCP tool asks", call: echo, outcome: "rejected", by: "user", asked: 1},
		{name: "default allow", approval: agent.Approval{Default: "allow"}, call: echo, outcome: "completed", by: "policy"},
		{name: "default deny", approval: agent.Approval{Default: "deny"}, call: echo, outcome: "denied", by: "policy"},
		{name: "exact rule", approval: agent.Approval{Allow: []string{"fake/echo"}}, call: echo, outcome: "completed", by: "rule:fake/echo"},
		{name: "server rule", approval: agent.Approval{Allow: []string{"fake/*"}}, call: echo, outcome: "completed", by: "rule:fake/*"},
		{name: "rule of another server", approval: agent.Approval{Allow: []string{"fak/*", "fake/ech", "echo", "*", "*/*", "fake", "fake/echo(x)", "mcp__fake__echo", ""}}, call: echo, outcome: "rejected", by: "user", asked: 1},
		{name: "deny beats allow", approval: agent.Approval{Default: "allow", Allow: []string{"fake/echo"}, Deny: []string{"fake/*"}}, call: echo, outcome: "denied", by: "rule:fake/*"},
		{name: "ask beats allow", approval: agent.Approval{Allow: []string{"fake/echo"}, Ask: []string{"fake/echo"}}, call: echo, outcome: "rejected", by: "user", asked: 1},
		{name: "remembered beats ask", approval: agent.Approval{Ask: []string{"fake/echo"}}, call: echo, before: always, outcome: "completed", by: "user"},
		{name: "deny beats remembered", approval: agent.Approval{Deny: []string{"fake/echo"}}, call: echo, before: always, outcome: "denied", by: "rule:fake/echo"},
		{name: "virtual tool asks", call: call("c", "mcp__fake__read_resource", `{"uri":"file://doc.md"}`), outcome: "rejected", by: "user", asked: 1},
		{name: "virtual tool of workspace", call: call("c", "mcp__workspace__read_resource", `{"uri":"file://a.txt"}`), outcome: "completed", by: "policy"},
		{name: "diagnostics of a secret", call: call("c", "mcp__workspace__read_resource", `{"uri":"diagnostics://sub/%2Eenv.local"}`), outcome: "rejected", by: "user", asked: 1},
		{name: "secret by workspace", call: call("c", "mcp__workspace__read_resource", `{"uri":"file://sub/%2Eenv.local"}`), outcome: "rejected", by: "user", asked: 1},
		{name: "ignored by workspace", call: call("c", "mcp__workspace__read_resource", `{"uri":"file://ignored/x"}`), outcome: "rejected", by: "user", asked: 1},
		{name: "built-in", call: call("c", "read_file", `{"path":"a.txt"}`), outcome: "completed", by: "policy"},
		{name: "built-in, default deny", approval: agent.Approval{Default: "deny"}, call: call("c", "read_file", `{"path":"a.txt"}`), outcome: "completed", by: "policy"},
		{name: "built-in denied", approval: agent.Approval{Deny: []string{"read_file"}}, call: call("c", "read_file", `{"path":"a.txt"}`), outcome: "denied", by: "rule:read_file"},
		{name: "built-in asks", approval: agent.Approval{Ask: []string{"search_code"}}, call: call("c", "search_code", `{"query":"x"}`), outcome: "rejected", by: "user", asked: 1},
		{name: "secret", call: call("c", "read_file", `{"path":".env"}`), outcome: "rejected", by: "user", asked: 1},
		{name: "secret beside an odd argument", call: call("c", "read_file", `{"path":".env","uri":5}`), outcome: "rejected", by: "user", asked: 1},
		{name: "secret in another case", call: call("c", "read_file", `{"path":"a.txt","PATH":".env"}`), outcome: "failed", by: "policy"},
		{name: "secret before a null", call: call("c", "read_file", `{"path":".env","path":null}`), outcome: "failed", by: "policy"},
		{name: "ignored directory beside an odd argument", call: call("c", "list_dir", `{"path":"ignored","uri":{}}`), outcome: "rejected", by: "user", asked: 1},
		{name: "secret by workspace beside an odd argument", call: call("c", "mcp__workspace__read_resource", `{"uri":"file://.env","path":[]}`), outcome: "rejected", by: "user", asked: 1},
		{name: "secret by a link", call: call("c", "read_file", `{"path":"link.txt"}`), outcome: "rejected", by: "user", asked: 1},
		{name: "secret, default deny", approval: agent.Approval{Default: "deny"}, call: call("c", "read_file", `{"path":".env"}`), outcome: "denied", by: "policy"},
		{name: "secret, default allow", approval: agent.Approval{Default: "allow"}, call: call("c", "read_file", `{"path":"ID_RSA"}`), outcome: "rejected", by: "user", asked: 1},
		{name: "secret, rule", approval: agent.Approval{Allow: []string{"read_file"}}, call: call("c", "read_file", `{"path":".env"}`), outcome: "completed", by: "rule:read_file"},
		{name: "ignored file", call: call("c", "read_file", `{"path":"ignored/x"}`), outcome: "rejected", by: "user", asked: 1},
		{name: "ignored directory", call: call("c", "list_dir", `{"path":"ignored"}`), outcome: "rejected", by: "user", asked: 1},
		{name: "unknown tool", call: call("c", "mcp__fake__ecko", "{}"), outcome: "failed", by: "policy"},
		{name: "broken arguments", call: call("c", "mcp__fake__echo", `{"text`), outcome: "failed", by: "policy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.files()
				w.host.Answer = answers(c.before...)
				if c.before != nil {
					w.must("before", agenttest.Call(c.call))
					w.task.Session = "another"
				}
				w.task.RunID, w.task.Approval = "r2", c.approval
				asked := len(w.host.Questions())
				res, _ := w.must("go", agenttest.Call(c.call))
				equal(t, "outcome", statuses(res), []agent.Outcome{c.outcome})
				if got := len(w.host.Questions()) - asked; got != c.asked {
					t.Errorf("asked %d times, want %d", got, c.asked)
				}
				lines, err := w.audit.Read(agent.AuditFilter{RunID: "r2"})
				if err != nil || len(lines) != 1 || lines[0].Outcome != c.outcome || lines[0].DecidedBy != c.by {
					t.Errorf("audit %+v, %v; want %s by %s", lines, err, c.outcome, c.by)
				}
			})
		})
	}
}

// files fills the workspace; what is below "ignored" is ignored.
func (w *world) files() {
	w.t.Helper()
	for name, text := range map[string]string{
		"a.txt": "alpha\n", ".env": "KEY=1\n", "ID_RSA": "key\n", "ignored/x": "x\n", "sub/.env.local": "K\n", "src/main.go": "package main\n\nfunc main() {}\n",
	} {
		path := filepath.Join(w.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := os.Symlink(".env", filepath.Join(w.dir, "link.txt")); err != nil {
		w.t.Fatal(err)
	}
	ignored := filepath.Join(w.dir, "ignored")
	w.agent = agent.NewWith(agent.Options{
		Audit: w.audit, Secrets: w.secrets, RememberFile: filepath.Join(w.state, "approvals.json"), Log: slog.New(slog.NewTextHandler(w.log, nil)),
	}, w.servers, func(path string, _ bool) bool {
		return path == ignored || strings.HasPrefix(path, ignored+string(filepath.Separator))
	})
}

// AtomicBot-ai/atomic-agent#132: each tool that is offered passes the gate.
func TestEveryToolPassesTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.files()
		names := w.agent.Offered()
		if len(names) < 3+4+len(w.servers.tools) {
			t.Fatalf("offered %v", names)
		}
		for _, name := range names {
			own, server := name, ""
			if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
				server, own, _ = strings.Cut(rest, "__")
				own = server + "/" + own
			}
			c := call("c", name, `{"path":"a.txt","query":"x","uri":"file://a.txt","command":"ls","url":"https://go.dev/","content":"x","edits":[{"old":"alpha","new":"x"}],"id":"x"}`)
			for by, approval := range map[string]agent.Approval{
				"rule:" + own: {Deny: []string{own}, Allow: []string{own}, Default: "allow"}, "user": {Ask: []string{own}, Allow: []string{own}, Default: "allow"},
			} {
				w.task.RunID, w.task.Approval = by+" "+name, approval
				w.host.Answer = agenttest.Always(agent.DecisionDeny)
				before, asked := len(w.servers.called()), len(w.host.Questions())
				res, llm := w.must("go", agenttest.Call(c))
				want := map[bool]agent.Outcome{true: "rejected", false: "denied"}[by == "user"]
				equal(t, name, statuses(res), []agent.Outcome{want})
				all := results(llm.Last())
				contains(t, all[len(all)-1], "Nothing was done.")
				lines, _ := w.audit.Read(agent.AuditFilter{RunID: w.task.RunID})
				if len(lines) != 1 || lines[0].DecidedBy != by || len(w.servers.called()) != before || len(w.host.Questions()) > asked != (by == "user") {
					t.Errorf("%s: audit %+v, called %v", name, lines, w.servers.called()[before:])
				}
			}
		}
	})
}
