package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// Every call leaves one line that says how it ended and who decided; P15: what
// a person allowed and what nobody was asked about differ, and so do failures
// and successes.
func TestAuditOfEachOutcome(t *testing.T) {
	answer := func(d agent.Decision, by, reason string) func(context.Context, agent.Question) (agent.Answer, error) {
		return func(context.Context, agent.Question) (agent.Answer, error) {
			return agent.Answer{Decision: d, By: by, Reason: reason}, nil
		}
	}
	for _, c := range []struct {
		name     string
		approval agent.Approval
		answer   func(context.Context, agent.Question) (agent.Answer, error)
		call     agent.ToolCall
		cancel   time.Duration // 0: never
		outcome  agent.Outcome
		by       string
		reason   string
		tool     string
	}{
		{name: "a person", answer: answer(agent.DecisionOnce, "", ""), call: call("c", "mcp__fake__echo", `{"text":"x"}`), outcome: agent.Completed, by: "user", reason: "once", tool: "fake/echo"},
		{name: "a command", answer: answer(agent.DecisionOnce, "command", ""), call: call("c", "mcp__fake__echo", `{"text":"x"}`), outcome: agent.Completed, by: "command", reason: "once", tool: "fake/echo"},
		{name: "never asked", call: call("c", "list_dir", `{"path":"."}`), outcome: agent.Completed, by: "policy", reason: "allowed from the start", tool: "/list_dir"},
		{name: "a rule", approval: agent.Approval{Allow: []string{"fake/echo"}}, call: call("c", "mcp__fake__echo", `{"text":"x"}`), outcome: agent.Completed, by: "rule:fake/echo", reason: "allows it", tool: "fake/echo"},
		{name: "failed", answer: answer(agent.DecisionOnce, "", ""), call: call("c", "mcp__fake__fail", `{}`), outcome: agent.Failed, by: "user", reason: "fell over", tool: "fake/fail"},
		{name: "says that it failed", answer: answer(agent.DecisionOnce, "", ""), call: call("c", "mcp__fake__error", `{}`), outcome: agent.Failed, by: "user", reason: "reported an error", tool: "fake/error"},
		{name: "panics", answer: answer(agent.DecisionOnce, "", ""), call: call("c", "mcp__fake__panic", `{}`), outcome: agent.Failed, by: "user", reason: "internal error", tool: "fake/panic"},
		{name: "denied", approval: agent.Approval{Deny: []string{"fake/*"}}, call: call("c", "mcp__fake__echo", `{"text":"x"}`), outcome: agent.Denied, by: "rule:fake/*", reason: "denies it", tool: "fake/echo"},
		{name: "rejected", answer: answer(agent.DecisionDeny, "", "not today"), call: call("c", "mcp__fake__echo", `{"text":"x"}`), outcome: agent.Rejected, by: "user", reason: "not today", tool: "fake/echo"},
		{name: "dismissed", answer: answer(agent.DecisionDeny, "policy", "dismissed"), call: call("c", "mcp__fake__echo", `{"text":"x"}`), outcome: agent.Rejected, by: "policy", reason: "dismissed", tool: "fake/echo"},
		{name: "too late", answer: answer(agent.DecisionDeny, "policy", "no answer in 600 s"), call: call("c", "mcp__fake__echo", `{"text":"x"}`), outcome: agent.Rejected, by: "policy", reason: "no answer in 600 s", tool: "fake/echo"},
		{name: "cancelled", answer: answer(agent.DecisionOnce, "", ""), call: call("c", "mcp__fake__sleep", `{}`), cancel: time.Second, outcome: agent.Cancelled, by: "user", reason: "cancelled", tool: "fake/sleep"},
		{name: "left", answer: answer(agent.DecisionOnce, "", ""), call: call("c", "mcp__fake__stubborn", `{}`), cancel: time.Second, outcome: agent.Unknown, by: "user", reason: "outcome unknown", tool: "fake/stubborn"},
		{name: "no such tool", call: call("c", "nothing", `{}`), outcome: agent.Failed, by: "policy", reason: "no tool", tool: "/nothing"},
		{name: "no arguments", call: call("c", "list_dir", `[`), outcome: agent.Failed, by: "policy", reason: "no valid JSON", tool: "/list_dir"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.task.Approval = c.approval
				w.host.Answer = c.answer
				ctx, cancel := context.WithCancelCause(context.Background())
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, func() { cancel(agent.ErrCancelled) })
				}
				_, _, _ = w.run(ctx, "go", agenttest.Call(c.call))
				lines := w.lines()
				w.close()
				cancel(nil)
				if len(lines) != 1 {
					t.Fatalf("%d lines", len(lines))
				}
				l := lines[0]
				if l.Outcome != c.outcome || l.DecidedBy != c.by || !strings.Contains(l.Reason, c.reason) || l.Server+"/"+l.Tool != c.tool || l.RunID != "r1" || l.Session != "s" || l.Time.IsZero() {
					t.Errorf("%+v", l)
				}
				if want := c.cancel.Milliseconds(); l.DurationMS < want || want == 0 && l.DurationMS > 0 {
					t.Errorf("%d ms", l.DurationMS)
				}
			})
		})
	}
}

// github/gh-aw#50772, punkpeye/mcp-remote#268, CherryHQ/cherry-studio#18648
// (CASES 43, P18): a secret in arguments, results, errors, progress and a
// person's words is in no line of the audit or the log, and in no event that is
// told. What the model and its tools exchange stays as it is.
func TestSecretsStayOutOfWhatIsWritten(t *testing.T) {
	t.Parallel()
	const known, shaped = "sentinel-known-1", "sentinelshaped2"
	w := newWorld(t)
	w.secrets.Add(known)
	var told []string
	w.host.On = func(e agent.Event) {
		if e.Kind == agent.EventToolCall {
			told = append(told, e.ToolCall.Message)
		}
	}
	leak := fmt.Sprintf("it leaks %s and --token %s", known, shaped)
	w.servers.call["fake/fail"] = func(_ context.Context, _ json.RawMessage, progress func(mcp.Progress)) (mcp.ToolResult, error) {
		progress(mcp.Progress{Message: leak})
		return mcp.ToolResult{}, fmt.Errorf("%s", leak)
	}
	w.servers.call["fake/panic"] = func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) { panic(leak) }
	args := marshalAny(map[string]any{
		"headers": map[string]any{"Authorization": "Bearer " + shaped}, "env": map[string]any{"DB_PASSWORD": shaped}, "list": []any{[]any{"--api-key", shaped}, known},
		"text": leak + " -u me:" + shaped + " https://x:" + shaped + "@h/?key=" + shaped, known: 1,
	})
	asked := 0
	w.host.Answer = func(_ context.Context, q agent.Question) (agent.Answer, error) {
		if asked++; asked > 2 {
			return agent.Answer{Decision: agent.DecisionDeny, Reason: leak}, nil
		}
		return agent.Answer{Decision: agent.DecisionOnce}, nil
	}
	res, _, err := w.run(context.Background(), "go",
		agenttest.Call(call("a", "mcp__fake__fail", args)), agenttest.Call(call("b", "mcp__fake__panic", args)), agenttest.Call(call("c", "mcp__fake__echo", args)),
		agenttest.Call(call("d", "tool_"+known, args)), agenttest.Call(call("e", "list_dir", `{"path":"`+known)))
	if err != nil || len(res.ToolCalls) != 5 {
		t.Fatalf("%v, %v", res.ToolCalls, err)
	}
	all := strings.Join(told, "\n") + w.log.String()
	err = filepath.WalkDir(w.state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() != "sessions" {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir // the conversation itself, for its person's eyes
		}
		data, err := os.ReadFile(path)
		all += string(data)
		if info, e := d.Info(); e != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), e)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{known, shaped} {
		if at := strings.Index(all, secret); at >= 0 {
			t.Errorf("%s is written: …%s…", secret, all[max(0, at-150):min(len(all), at+100)])
		}
	}
	if n := len(w.lines()); n != 5 {
		t.Errorf("%d lines", n)
	}
}

func marshalAny(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
