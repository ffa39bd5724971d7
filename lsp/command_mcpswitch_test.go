package lsp

import (
	"slices"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// offers reports whether the request gives the model a tool of the server.
func offers(req agent.Request, server string) bool {
	return slices.ContainsFunc(req.Tools, func(t agent.ToolSpec) bool { return strings.HasPrefix(t.Name, "mcp__"+server+"__") })
}

// A server that is disabled while a run is under way is gone from that run at
// once, and comes back to it.
func TestDisableAndEnableDuringARun(t *testing.T) {
	var w *world
	var saw []string
	llm := agenttest.NewScript(t, func(n int, req agent.Request) agenttest.Step {
		last := req.Messages[len(req.Messages)-1].Text
		saw = append(saw, last)
		call := agenttest.Call(agent.ToolCall{ID: "c" + string(rune('0'+n)), Name: "mcp__fake__echo", Arguments: `{"text":"pong"}`})
		switch len(saw) {
		case 1:
			if !offers(req, "fake") {
				t.Error("its tools are not offered")
			}
			if r := commandAs[mcp.ServerInfo](w, "agentls.mcp.disable", "fake"); r.Status != mcp.StatusDisabled || r.Name != "fake" {
				t.Errorf("%+v", r)
			}
			return call
		case 2:
			if offers(req, "fake") {
				t.Error("tools of a disabled server are offered")
			}
			commandAs[mcp.ServerInfo](w, "agentls.mcp.enable", "fake")
			w.awaitStatus("fake", mcp.StatusReady)
			return call // of what was not offered
		case 3:
			if !offers(req, "fake") {
				t.Error("its tools did not come back")
			}
			return call
		}
		return agenttest.Text("done")
	})
	w = newWorld(t, setup{llm: llm, options: allowed(), servers: fake(mcptest.Options{})})
	r := result[agent.Result](t, w.ask("call", nil))
	if len(saw) != 4 || !strings.Contains(saw[1], `"fake" is disabled`) || !strings.HasPrefix(saw[2], "There is no tool") || saw[3] != "pong" {
		t.Errorf("%q %+v", saw, r)
	}
	w.Await("it is told", func() bool {
		return slices.ContainsFunc(w.messages("window/showMessage"), func(m string) bool { return strings.HasPrefix(m, "fake: disabled until you enable it") })
	})
}

// A project's server that is disabled by its file is enabled by a person's
// word, and still has to be trusted.
func TestEnableAProjectsServer(t *testing.T) {
	theirs := `{"mcpServers": {"theirs": {"command": "no-such-program", "disabled": true}}}`
	for name, enable := range map[string]func(w *world) string{
		"by command": func(w *world) string {
			return string(commandAs[mcp.ServerInfo](w, "agentls.mcp.enable", obj{"server": "theirs"}).Status)
		},
		"by a line": func(w *world) string { return result[agent.Result](t, w.ask("/mcp enable theirs", nil)).Text },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setup{llm: agenttest.NewLLM(t), files: map[string]string{".mcp.json": theirs}})
			w.awaitStatus("theirs", mcp.StatusDisabled)
			w.On("window/showMessageRequest", title("Not now"))
			for n := range 2 { // a person who asks for it is asked once more
				if got := enable(w); !strings.Contains(got, string(mcp.StatusUntrusted)) {
					t.Errorf("%q", got)
				}
				w.AwaitRequest("window/showMessageRequest", n+1)
				poll(t, "no question", func() bool { return len(w.server.asks.waiting()) == 0 })
				commandAs[mcp.ServerInfo](w, "agentls.mcp.disable", obj{"server": "theirs"})
			}
		})
	}
}

func TestLogsOfAServer(t *testing.T) {
	w := newWorld(t, setup{llm: onTool(t, "log", `{"level":"warning","text":"look \u001b[31mhere"}`), options: allowed(), servers: fake(mcptest.Options{Stderr: "line one\nline two\n"})})
	result[agent.Result](t, w.ask("call", nil))
	var r logsResult
	has := func(source, level, text string) bool {
		return slices.ContainsFunc(r.Lines, func(l mcp.LogLine) bool {
			return l.Source == source && l.Level == level && l.Text == text && !l.Time.IsZero()
		})
	}
	poll(t, "its lines", func() bool {
		r = commandAs[logsResult](w, "agentls.mcp.logs", "fake")
		return has("stderr", "info", "line one") && has("stderr", "info", "line two") && has("log", "warning", "fake: look here")
	})
	if r.Name != "fake" || r.Status != mcp.StatusReady {
		t.Errorf("%+v", r)
	}
	if last := commandAs[logsResult](w, "agentls.mcp.logs", obj{"server": "fake", "limit": 1}); !slices.Equal(last.Lines, r.Lines[len(r.Lines)-1:]) {
		t.Errorf("%+v", last)
	}
	if r := commandAs[logsResult](w, "agentls.mcp.logs", "workspace"); r.Lines == nil {
		t.Error("no lines are null")
	}
}

func TestLoginOfServers(t *testing.T) {
	closed, open := mcptest.ServeHTTP(t, mcptest.HTTPOptions{}), mcptest.ServeHTTP(t, mcptest.HTTPOptions{})
	closed.Break(mcptest.Any, mcptest.Unauthorized(`Bearer realm="x"`))
	w := newWorld(t, setup{llm: agenttest.NewLLM(t), options: obj{"mcpServers": obj{
		"bare": obj{"url": closed.URL}, "old": obj{"url": closed.URL, "headers": obj{"Authorization": "Bearer hunter2hunter2"}},
		"free": obj{"url": open.URL}, "given": obj{"url": open.URL, "headers": obj{"X-Key": "hunter2hunter2", "X-Team": "a"}}, "gone": obj{"command": "no-such-program"},
	}}})
	for name, status := range map[string]mcp.Status{"bare": mcp.StatusNeedsLogin, "old": mcp.StatusNeedsLogin, "free": mcp.StatusReady, "given": mcp.StatusReady, "gone": mcp.StatusFailed} {
		w.awaitStatus(name, status)
	}
	fails := func(command, server string, says ...string) {
		t.Helper()
		err := failure(t, w.StartCommand(command, server, nil), -32803)
		for _, text := range says {
			if !strings.Contains(err.Message, text) || strings.Contains(err.Message, "hunter2") {
				t.Errorf("%s %s: %q does not say %q", command, server, err.Message, text)
			}
		}
	}
	notes := func(command, server string, status mcp.Status, note string) {
		t.Helper()
		if r := commandAs[loginResult](w, command, server); r.Name != server || r.Status != status || r.Note != note {
			t.Errorf("%s %s: %+v", command, server, r)
		}
	}
	fails("agentls.mcp.login", "bare", "names no way to log in by OAuth", `"headers": {"Authorization": "Bearer ${TOKEN}"}`, "in the editor's settings", "agentls.mcp.restart")
	fails("agentls.mcp.login", "old", "does not take the header Authorization of the editor's settings", "agentls.mcp.restart")
	notes("agentls.mcp.login", "free", mcp.StatusReady, "free is ready and wants no login")
	notes("agentls.mcp.login", "given", mcp.StatusReady, "given is ready and wants no login; it is shown the headers X-Key, X-Team of the editor's settings")
	notes("agentls.mcp.login", "gone", mcp.StatusFailed, `gone is a program and wants no login; what it must know stands in "env" of the editor's settings`)
	notes("agentls.mcp.login", "workspace", mcp.StatusReady, "workspace is part of agentls and wants no login")

	notes("agentls.mcp.logout", "bare", mcp.StatusNeedsLogin, "agentls keeps no login of bare")
	notes("agentls.mcp.logout", "given", mcp.StatusReady, "agentls keeps no login of given")
	fails("agentls.mcp.logout", "old", "it is shown the header Authorization of the editor's settings", "agentls.mcp.restart", "agentls.mcp.disable")
	notes("agentls.mcp.logout", "workspace", mcp.StatusReady, "workspace is part of agentls and wants no login")

	// A login given in the configuration is what a restart takes.
	closed.Mend()
	commandAs[mcp.ServerInfo](w, "agentls.mcp.restart", "old")
	w.awaitStatus("old", mcp.StatusReady)
	notes("agentls.mcp.login", "old", mcp.StatusReady, "old is ready: it is shown the header Authorization of the editor's settings")
}
