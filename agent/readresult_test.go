package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

var idInNotice = regexp.MustCompile(`read_result with id "([a-z2-7]{12})"`)

// answers lets the fake server's echo answer text.
func (s *servers) answers(text string) {
	s.call["fake/echo"] = func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.ToolResult, error) {
		return mcp.ToolResult{Content: []mcp.Content{{Type: "text", Text: text}}}, nil
	}
}

// charmbracelet/crush#3480, QwenLM/qwen-code#2439, archi-physics/archi#599,
// anthropics/claude-code#45770: what is cut stays readable, unasked, in its
// session alone, and the limit is the configured one.
func TestLongResultStaysReadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.task.Limits.ToolResultBytes = 2000
		var text strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&text, "row %d\n", i+1)
		}
		w.servers.answers(text.String())
		id := ""
		steps := func(n int, req agent.Request) agenttest.Step {
			got := results(req)
			switch n {
			case 1:
				return agenttest.Call(call("a", "mcp__fake__echo", "{}"))
			case 2:
				if m := idInNotice.FindStringSubmatch(got[0]); m != nil && len(got[0]) <= 2000 {
					id = m[1]
				}
				return agenttest.Call(call("b", "read_result", `{"id":"`+id+`","range":{"start":500,"end":502}}`))
			}
			return agenttest.Text("done")
		}
		run := func(session string, script agenttest.Script) string {
			t.Helper()
			task := w.task
			llm := agenttest.NewScript(t, script)
			task.Session, task.Prompt, task.LLM = session, "go", llm
			if _, err := w.work(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			all := results(llm.Last())
			return all[len(all)-1]
		}
		if got := run("s", steps); got != "row 500\nrow 501\nrow 502\n[lines 500-502 of 1000]" {
			t.Errorf("read_result gives\n%s", got)
		}
		if q := w.host.Questions(); len(q) != 1 || q[0].Tool != "echo" {
			t.Errorf("questions %+v", q)
		}
		again := func(n int, _ agent.Request) agenttest.Step {
			if n == 1 {
				return agenttest.Call(call("c", "read_result", `{"id":"`+id+`"}`))
			}
			return agenttest.Text("done")
		}
		contains(t, run("other", again), "The call failed: there is no result")
		w.restart()
		contains(t, run("s", again), "row 1\nrow 2\n", "ask for the rest with a range]")
		for _, l := range w.lines() {
			if strings.Contains(l.Reason+string(l.Arguments), "row 500") {
				t.Errorf("audited: %+v", l)
			}
		}
	})
}

// What read_result gives is never kept again, and it is offered where there is
// no folder.
func TestReadResultIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.task.Limits.ToolResultBytes = 1000
		w.task.Folders = nil
		w.servers.answers(strings.Repeat("x", 10000))
		llm := agenttest.NewScript(t, func(n int, req agent.Request) agenttest.Step {
			switch n {
			case 1:
				return agenttest.Call(call("a", "mcp__fake__echo", "{}"))
			case 2:
				return agenttest.Call(call("b", "read_result", `{"id":"`+idInNotice.FindStringSubmatch(results(req)[0])[1]+`"}`))
			}
			return agenttest.Text("done")
		})
		task := w.task
		task.Prompt, task.LLM = "go", llm
		if _, err := w.work(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		contains(t, results(llm.Last())[1], "xxx", "[line 1 goes on for 9450 of its 10000 bytes: ask for it again with offset 550]")
		if files, _ := filepath.Glob(filepath.Join(w.state, "results", "*", "*")); len(files) != 1 {
			t.Errorf("kept: %v", files)
		}
	})
}

// A disk that takes nothing: the result is cut as before, and the run goes on.
func TestLongResultWithoutADisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if err := os.WriteFile(filepath.Join(w.state, "results"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		w.servers.answers(strings.Repeat("x", 100000))
		_, llm := w.must("go", agenttest.Call(call("a", "mcp__fake__echo", "{}")))
		contains(t, results(llm.Last())[0], "of 100000 bytes here; they are lost, because they could not be kept]")
	})
}
