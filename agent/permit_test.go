package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
)

var echo = call("c", "mcp__fake__echo", `{"text":"x"}`)

// answers gives answers in turn, then denies.
func answers(list ...agent.Answer) func(context.Context, agent.Question) (agent.Answer, error) {
	return func(context.Context, agent.Question) (agent.Answer, error) {
		if len(list) == 0 {
			return agent.Answer{}, nil
		}
		a := list[0]
		list = list[1:]
		return a, nil
	}
}

func TestQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.must("go", agenttest.Call(echo))
		q := w.host.Questions()[0]
		if len(q.ID) != 32 || q.Kind != "tool" || q.Server != "fake" || q.Tool != "echo" || q.Description != "The tool echo" ||
			string(q.Arguments) != `{"text":"x"}` || q.RunID != "r1" || q.Session != "s" || q.Timeout != 600*time.Second || q.Reason != "no rule allows it" || q.DefinitionChanged {
			t.Errorf("question %+v", q)
		}
	})
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  agent.Answer
		err     error
		outcome agent.Outcome
		by      string
		text    []string // that the model reads
	}{
		{name: "once", answer: agent.Answer{Decision: agent.DecisionOnce}, outcome: "completed", by: "user", text: []string{"echo: x"}},
		{name: "by command", answer: agent.Answer{Decision: agent.DecisionOnce, By: "command"}, outcome: "completed", by: "command", text: []string{"echo: x"}},
		// olimorris/codecompanion.nvim#2924
		{name: "deny", answer: agent.Answer{Decision: agent.DecisionDeny, Reason: "not on a Sunday."}, outcome: "rejected", by: "user", text: []string{"rejected this call: not on a Sunday. Nothing was done."}},
		{name: "dismissed", answer: agent.Answer{Reason: "dismissed"}, outcome: "rejected", by: "user", text: []string{"dismissed. Nothing was done."}},
		{name: "deadline", answer: agent.Answer{Reason: "no answer in 600 s"}, outcome: "rejected", by: "user", text: []string{"no answer in 600 s. Nothing was done."}},
		{name: "unknown decision", answer: agent.Answer{Decision: "yes"}, outcome: "rejected", by: "user", text: []string{"Nothing was done."}},
		{name: "a rule meanwhile", answer: agent.Answer{Decision: agent.DecisionDeny, By: "rule:fake/*", Reason: "the rule denies"}, outcome: "denied", by: "rule:fake/*", text: []string{"not allowed", "Nothing was done."}},
		{name: "nobody to ask", err: errors.New("no terminal"), outcome: "rejected", by: "policy", text: []string{"no terminal", "Nothing was done."}},
		{name: "edited", answer: agent.Answer{Decision: agent.DecisionOnce, Arguments: json.RawMessage(`{"text": "edited"}`)}, outcome: "completed", by: "user", text: []string{"echo: edited"}},
		{name: "edited to no object", answer: agent.Answer{Decision: agent.DecisionOnce, Arguments: json.RawMessage(`"edited"`)}, outcome: "rejected", by: "user", text: []string{"Nothing was done."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) { return c.answer, c.err }
				// Rejecting one does not abort the others: agentclientprotocol/claude-agent-acp#402.
				res, llm := w.must("go", agenttest.Call(echo, call("d", "mcp__workspace__list_resources", "{}")))
				got := map[string]agent.Outcome{}
				for _, r := range res.ToolCalls {
					got[r.Tool] = r.Status
				}
				if got["echo"] != c.outcome || got["list_resources"] != agent.Completed {
					t.Errorf("outcomes %v", got)
				}
				contains(t, results(llm.Last())[0], c.text...)
				ran := len(w.servers.called()) > 0
				if ran != (c.outcome == agent.Completed) {
					t.Errorf("the server was called: %v", w.servers.called())
				}
				lines, _ := w.audit.Read(agent.AuditFilter{Tool: "fake/echo"})
				if len(lines) != 1 || lines[0].DecidedBy != c.by {
					t.Fatalf("audit %+v", lines)
				}
				if c.name == "edited" && string(lines[0].Arguments) != `{"text":"edited"}` {
					t.Errorf("audited arguments %s", lines[0].Arguments)
				}
			})
		})
	}
}

func TestEditedArgumentsPassTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.files()
		w.task.Approval = agent.Approval{Default: "deny", Ask: []string{"read_file"}}
		w.host.Answer = answers(agent.Answer{Decision: agent.DecisionOnce, Arguments: json.RawMessage(`{"path":"../../etc/passwd"}`)})
		res, llm := w.must("go", agenttest.Call(call("c", "read_file", `{"path":"a.txt"}`)))
		equal(t, "outcome", statuses(res), []agent.Outcome{"failed"})
		contains(t, results(llm.Last())[0], "outside the workspace")
		contains(t, string(w.lines()[0].Arguments), "passwd")
	})
}

// What is remembered of an edited call is what was allowed, not what was asked.
func TestEditedArgumentsAreWhatIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.files()
		w.host.Answer = answers(agent.Answer{Decision: agent.DecisionAlways, Arguments: json.RawMessage(`{"path":"a.txt"}`)})
		res, _ := w.must("go", agenttest.Call(call("c", "read_file", `{"path":".env"}`)))
		equal(t, "edited", statuses(res), []agent.Outcome{"completed"})
		res, _ = w.must("go", agenttest.Call(call("c", "read_file", `{"path":".env"}`)))
		equal(t, "as it was asked", statuses(res), []agent.Outcome{"rejected"})
	})
}

// The definition that is called is the one that was shown: a server that
// changes it under an open question is asked about anew.
func TestDefinitionChangesUnderTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := 0
		w.host.Answer = func(context.Context, agent.Question) (agent.Answer, error) {
			if n++; n == 1 {
				w.servers.mu.Lock()
				w.servers.tools[0].Description += " And more."
				w.servers.mu.Unlock()
			}
			return agent.Answer{Decision: agent.DecisionOnce}, nil
		}
		w.must("go", agenttest.Call(call("c", "mcp__fake__"+w.servers.tools[0].Name, "{}")))
		q := w.host.Questions()
		if len(q) != 2 || !q[1].DefinitionChanged || !strings.HasSuffix(q[1].Description, "And more.") {
			t.Errorf("questions %+v", q)
		}
	})
}

func TestRecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		both := make(chan struct{}) // questions are open
		w.host.Answer = func(_ context.Context, q agent.Question) (agent.Answer, error) {
			if a, ok := q.Recheck(); ok {
				t.Errorf("decided before anybody answered: %+v", a)
			}
			if string(q.Arguments) == `{"text":"1"}` {
				<-both
				return agent.Answer{Decision: agent.DecisionSession}, nil
			}
			close(both)
			time.Sleep(time.Second) // until the first answer is kept
			a, ok := q.Recheck()
			if !ok || a.Decision != agent.DecisionOnce || a.By != "user" {
				t.Errorf("recheck gives %+v, %v", a, ok)
			}
			return a, nil
		}
		res, _ := w.must("go", agenttest.Call(call("1", "mcp__fake__echo", `{"text":"1"}`), call("2", "mcp__fake__echo", `{"text":"2"}`)))
		equal(t, "outcomes", statuses(res), []agent.Outcome{"completed", "completed"})
	})
}
