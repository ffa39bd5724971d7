package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// MCP.md row 41: a hint counts where the user trusts the server's annotations,
// and never against a rule or a default that denies.
func TestReadOnlyHintCountsWhereAnnotationsAreTrusted(t *testing.T) {
	for _, c := range []struct {
		name     string
		tool     mcp.Tool
		approval agent.Approval
		outcome  agent.Outcome
		asked    int
	}{
		{name: "untrusted", tool: mcp.Tool{ReadOnly: true}, outcome: "rejected", asked: 1},
		{name: "trusted", tool: mcp.Tool{ReadOnly: true, Trusted: true}, outcome: "completed"},
		{name: "trusted, says nothing", tool: mcp.Tool{Trusted: true}, outcome: "rejected", asked: 1},
		{name: "trusted, an ask rule", tool: mcp.Tool{ReadOnly: true, Trusted: true}, approval: agent.Approval{Ask: []string{"fake/*"}}, outcome: "rejected", asked: 1},
		{name: "trusted, a deny rule", tool: mcp.Tool{ReadOnly: true, Trusted: true}, approval: agent.Approval{Deny: []string{"fake/echo"}}, outcome: "denied"},
		{name: "trusted, denied by default", tool: mcp.Tool{ReadOnly: true, Trusted: true}, approval: agent.Approval{Default: "deny"}, outcome: "denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				for i, tool := range w.servers.tools {
					if tool.Name == "echo" {
						w.servers.tools[i].ReadOnly, w.servers.tools[i].Trusted = c.tool.ReadOnly, c.tool.Trusted
					}
				}
				w.host.Answer, w.task.Approval = nil, c.approval
				res, _ := w.must("go", agenttest.Call(echo))
				equal(t, "outcome", statuses(res), []agent.Outcome{c.outcome})
				if n := len(w.host.Questions()); n != c.asked {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
}

// What a tool's schema refuses is told to the model with the place, and nobody
// is asked about it; edited arguments are checked as well.
func TestArgumentsThatDoNotFitTheSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.servers.check = func(server, tool string, args json.RawMessage) error {
			if server+"/"+tool != "fake/echo" {
				t.Errorf("%s of %s is checked", tool, server)
			}
			if strings.Contains(string(args), "null") {
				return errors.New("/more: got null, want string")
			}
			if string(args) == `{"text":5}` {
				return errors.New("/text: got number, want string")
			}
			return nil
		}
		res, llm := w.must("go", agenttest.Call(call("a", "mcp__fake__echo", `{"text": 5}`)), agenttest.Call(echo))
		equal(t, "outcome", statuses(res), []agent.Outcome{"failed", "completed"})
		equal(t, "result", results(llm.Last())[:1], []string{"the arguments do not fit the tool's schema: /text: got number, want string. Call the tool again with one JSON object that fits its schema. Nothing was done."})
		if n := len(w.host.Questions()); n != 1 {
			t.Errorf("asked %d times", n)
		}
		w.must("what is left out", agenttest.Call(call("n", "mcp__fake__echo", `{"text":"x","more":null}`)))
		if q := w.host.Questions(); len(q) != 2 || string(q[1].Arguments) != `{"text":"x"}` {
			t.Errorf("asked about %s", q[len(q)-1].Arguments)
		}
		w.host.Answer = answers(agent.Answer{Decision: agent.DecisionOnce, Arguments: json.RawMessage(`{"text":5}`)})
		res, llm = w.must("again", agenttest.Call(echo))
		equal(t, "outcome of the edit", statuses(res), []agent.Outcome{"rejected"})
		contains(t, results(llm.Last())[3], "the edited arguments cannot be used: the arguments do not fit the tool's schema: /text")
	})
}
