package lsp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// onTools is a model that calls the tool which the prompt names after "call".
func onTools(t testing.TB) *agenttest.LLM {
	return agenttest.NewScript(t, func(n int, req agent.Request) agenttest.Step {
		m := req.Messages[len(req.Messages)-1]
		if words := strings.Fields(m.Text); m.Role == agent.User && len(words) > 2 && words[0] == "call" {
			return agenttest.Call(agent.ToolCall{ID: fmt.Sprint("c", n), Name: "mcp__fake__" + words[1], Arguments: words[2]})
		}
		return agenttest.Text("saw: " + m.Text)
	})
}

// A remote server under an editor: what it has comes into a prompt, a cancel
// reaches it, and it is killed and restarted in the middle of a call without a
// person having to do anything.
// anomalyco/opencode#24312 (a cancel reaches it), MoonshotAI/kimi-code#2109 and
// openai/codex#28704 (it dies in a call, and comes back).
func TestRemoteServerUnderAnEditor(t *testing.T) {
	for name, mode := range map[string]mcptest.HTTPMode{"legacy": mcptest.Streamable, "modern": mcptest.Modern, "sse": mcptest.SSE} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := mcptest.ServeHTTP(t, mcptest.HTTPOptions{Mode: mode})
			options := allowed()
			options["mcpServers"] = obj{"fake": obj{"url": srv.URL}}
			w := newWorld(t, setup{llm: onTools(t), options: options})
			w.awaitStatus("fake", mcp.StatusReady)
			if i := w.serverInfo("fake"); i.URL != srv.URL {
				t.Errorf("%+v", i)
			}
			poll(t, "its resources", func() bool { n := w.serverInfo("fake").Resources; return n != nil && *n == 3 })
			if r := result[agent.Result](t, w.ask("read @fake:file://doc1.md", nil)); !strings.Contains(r.Text, "# Content of file://doc1.md") {
				t.Errorf("%+v", r)
			}
			echo := func() {
				t.Helper()
				if r := result[agent.Result](t, w.ask(`call echo {"text":"pong"}`, nil)); r.Text != "saw: pong" {
					t.Errorf("%+v", r)
				}
			}
			echo()

			p := w.ask(`call sleep {"seconds":60}`, nil)
			srv.Await(t, 1, mcptest.Call("sleep"))
			p.Cancel()
			failure(t, p, -32800)
			if mode == mcptest.Modern {
				srv.Await(t, 1, mcptest.Call("sleep"), func(r mcptest.HTTPRequest) bool { return r.Aborted })
			} else {
				srv.Await(t, 1, mcptest.Method("notifications/cancelled"))
			}
			echo()

			p = w.ask(`call never {}`, nil)
			srv.Await(t, 1, mcptest.Call("never"))
			killed := time.Now()
			srv.Stop()
			if r := result[agent.Result](t, p); !strings.HasPrefix(r.Text, "saw: ") {
				t.Errorf("%+v", r)
			}
			if took := time.Since(killed); took > 5*time.Second {
				t.Errorf("the run went on for %v", took)
			}
			popup := func(text string) {
				t.Helper()
				w.Await("a popup: "+text, func() bool {
					return slices.ContainsFunc(w.messages("window/showMessage"), func(m string) bool { return strings.HasPrefix(m, "fake: "+text) })
				})
			}
			popup("connection lost")
			srv.Restart(t)
			popup("connected again")
			w.awaitStatus("fake", mcp.StatusReady)
			for range 3 { // anthropics/claude-code#74329
				echo()
			}
		})
	}
}
