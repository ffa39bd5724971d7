package agenttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentls/agent"
)

// story is a run with one call of each kind of end, its audit and all that is
// known of it elsewhere.
func story() (lines []agent.AuditEntry, e *Evidence) {
	e = &Evidence{Secrets: []string{"known-value"}}
	res := agent.Result{RunID: "r"}
	add := func(tool string, outcome agent.Outcome, by, reason, action string) {
		lines = append(lines, agent.AuditEntry{
			Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), RunID: "r", Session: "s", Server: "srv", Tool: tool,
			Arguments: json.RawMessage(`{"a":1}`), Outcome: outcome, DecidedBy: by, Reason: reason,
		})
		res.ToolCalls = append(res.ToolCalls, agent.ToolCallResult{ID: tool, Tool: tool, Server: "srv", Status: outcome})
		e.Message(fmt.Appendf(nil, `{"runId":"r","kind":"toolCall","toolCall":{"id":%q,"server":"srv","tool":%q,"state":%q}}`, tool, tool, outcome))
		if action != "" {
			e.Log(fmt.Appendf(nil, "time=x level=INFO msg=\"tool call decided\" run=r server=srv tool=%s decision=%s by=%q\n", tool, action, by))
		}
	}
	add("done", agent.Completed, "rule:srv/done", "", "allow")
	add("asked", agent.Failed, "user", "no such row", "ask")
	add("late", agent.Unknown, "policy", "", "allow")
	add("no", agent.Denied, "rule:srv/no", "the rule denies it", "deny")
	add("rather-not", agent.Rejected, "user", "dismissed", "ask")
	add("never", agent.Cancelled, "policy", "", "")
	add("nosuch", agent.Failed, "policy", `There is no tool "nosuch". Nothing was done.`, "")
	e.Result(res)
	e.Message(json.RawMessage(`{"runId":"r","kind":"finished"}`))
	e.Served("srv", "done")
	e.Served("srv", "asked")
	lines = append(lines,
		agent.AuditEntry{Time: time.Now(), RunID: "r", Server: "srv", Tool: "read_resource", Outcome: agent.Completed, DecidedBy: "mention"},
		agent.AuditEntry{Time: time.Now(), Server: "srv", Tool: "read_resource", Outcome: agent.Completed, DecidedBy: "command"})
	return lines, e
}

func TestCheckAudit(t *testing.T) {
	change := func(tool string, f func(*agent.AuditEntry)) func([]agent.AuditEntry, *Evidence) []agent.AuditEntry {
		return func(lines []agent.AuditEntry, _ *Evidence) []agent.AuditEntry {
			for i := range lines {
				if lines[i].Tool == tool {
					f(&lines[i])
				}
			}
			return lines
		}
	}
	for _, c := range []struct {
		name string
		harm func([]agent.AuditEntry, *Evidence) []agent.AuditEntry
		want string // empty: nothing is wrong
	}{
		{"nothing", change("", nil), ""},
		{"a line is missing", func(l []agent.AuditEntry, _ *Evidence) []agent.AuditEntry { return l[1:] }, "a call in a result without its line"},
		{"a line is there twice", func(l []agent.AuditEntry, _ *Evidence) []agent.AuditEntry { return append(l, l[0]) }, "1 lines without a call in run events"},
		{"another outcome", change("done", func(l *agent.AuditEntry) { l.Outcome = agent.Failed }), "a call in run events without its line"},
		{"another server", change("done", func(l *agent.AuditEntry) { l.Server = "other" }), "without its line"},
		{"another run", change("done", func(l *agent.AuditEntry) { l.RunID = "other" }), "a run that nobody knows"},
		{"a mention of no run", change("read_resource", func(l *agent.AuditEntry) { l.RunID, l.DecidedBy = "", "mention" }), "a line of no run"},
		{"no decision", func(l []agent.AuditEntry, e *Evidence) []agent.AuditEntry { e.decisions = e.decisions[1:]; return l }, "a call without a decision"},
		{"a decision by another", change("done", func(l *agent.AuditEntry) { l.DecidedBy = "policy" }), "allowed it"},
		{"a decision alone", func(l []agent.AuditEntry, e *Evidence) []agent.AuditEntry {
			e.Log([]byte(`msg="tool call decided" run=r server=srv tool=more decision=allow by=policy`))
			return l
		}, "a decision without a line"},
		{"an allowed call was denied", func(l []agent.AuditEntry, e *Evidence) []agent.AuditEntry { e.decisions[3].Action = "allow"; return l }, "nothing denied it"},
		{"a call behind the gate", func(l []agent.AuditEntry, e *Evidence) []agent.AuditEntry { e.Served("srv", "done"); return l }, "has no line"},
		{"a kill in a call", func(l []agent.AuditEntry, e *Evidence) []agent.AuditEntry {
			e.Killed = true
			e.Served("srv", "done")
			e.Log([]byte(`msg="tool call decided" run=r server=srv tool=more decision=allow by=policy`))
			return l
		}, ""},
		{"no reason", change("rather-not", func(l *agent.AuditEntry) { l.Reason = " " }), "for no reason"},
		{"a person denies", change("no", func(l *agent.AuditEntry) { l.DecidedBy = "user" }), "a person does not deny"},
		{"a rule rejects", change("rather-not", func(l *agent.AuditEntry) { l.DecidedBy = "rule:x" }), "a rule does not reject"},
		{"nobody decided", change("done", func(l *agent.AuditEntry) { l.DecidedBy = "" }), "decided by"},
		{"no outcome", change("done", func(l *agent.AuditEntry) { l.Outcome = "" }), "the outcome"},
		{"long arguments", change("done", func(l *agent.AuditEntry) { l.Arguments = json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`) }), "characters of arguments"},
		{"a secret that is known", change("done", func(l *agent.AuditEntry) { l.Arguments = json.RawMessage(`{"a":["known-value"]}`) }), "the secret known-value"},
		{"a secret by its form", change("done", func(l *agent.AuditEntry) { l.Reason = "ghp_abcdefgh12345678abcd" }), "the secret ghp_"},
		{"a secret in the log", func(l []agent.AuditEntry, e *Evidence) []agent.AuditEntry {
			e.Log([]byte("msg=x error=known-value\n"))
			return l
		}, "the log holds the secret"},
		{"before its time", func(l []agent.AuditEntry, e *Evidence) []agent.AuditEntry {
			e.Since = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			return append(l, agent.AuditEntry{Time: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), RunID: "old", Tool: "x", Outcome: agent.Completed, DecidedBy: "user"})
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, e := story()
			lines = c.harm(lines, e)
			state := t.TempDir()
			var text []byte
			for _, l := range lines {
				raw, err := json.Marshal(l)
				if err != nil {
					t.Fatal(err)
				}
				text = append(append(text, raw...), '\n')
			}
			day := filepath.Join(state, "audit", "2026-01-02.jsonl")
			writeFile(t, day, text, 0o600)
			expect(t, CheckAudit(state, e), c.want)
		})
	}
}

// What is no audit file is told, never passed over.
func TestCheckAuditReadsStrictly(t *testing.T) {
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"cut", `{"time":"2026-01-02T03:04:05Z","tool":"x"`, 0o600, "in the middle of a line"},
		{"no JSON", "nonsense\n", 0o600, "cannot be read"},
		{"more than there is", `{"tool":"x","surprise":1}` + "\n", 0o600, "cannot be read"},
		{"for others to read", "", 0o644, "has the mode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := t.TempDir()
			writeFile(t, filepath.Join(state, "audit", "2026-01-02.jsonl"), []byte(c.text), c.mode)
			expect(t, CheckAudit(state, &Evidence{}), c.want)
		})
	}
}

func writeFile(t *testing.T, name string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, mode); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Error(err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want %q", err, want)
	}
}
