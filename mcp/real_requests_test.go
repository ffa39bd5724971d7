package mcp

import (
	"slices"
	"strings"
	"testing"
	"time"

	"agentls/mcp/mcptest"
	"agentls/mcp/workspace"
)

// everything opens the reference server, which may ask the model and knows the
// folder.
func everything(t *testing.T, timeout time.Duration) (h *house, folder string) {
	t.Helper()
	folder = t.TempDir()
	state := workspace.NewState()
	state.SetFolders([]workspace.Folder{{Path: folder, Name: "work"}})
	command, arguments := mcptest.RealServer(t, "everything")
	h = newHouse(t, Options{State: state}, defaultTiming())
	h.Configure([]ServerConfig{{Name: "fake", Source: "user", Type: "stdio", Command: command, Args: arguments, Timeout: timeout, Sampling: true}})
	h.started()
	return h, folder
}

func TestRealServerAsksTheModelAndForRoots(t *testing.T) {
	h, folder := everything(t, 20*time.Second)
	eventually(t, "the tool that asks the model", func() bool { return slices.Contains(h.tools("fake"), "trigger-sampling-request") })
	end := h.calling(WithOrigin(t.Context(), Origin{RunID: "r"}), "trigger-sampling-request", args{"prompt": "Name a colour.", "maxTokens": 33})
	r := h.asked()
	if r.Kind != RequestSample || r.Sample.MaxTokens != 33 || r.Sample.System == "" || !strings.Contains(r.Sample.Messages[0].Contents[0].Text, "Name a colour.") || r.Origin.RunID != "r" {
		t.Errorf("%+v", r)
	}
	r.Reply(SampleResult{Text: "Blue", Model: "m1", StopReason: "endTurn"}.Answer())
	if got, err := end(); err != nil || !strings.Contains(got, "Blue") || !strings.Contains(got, "m1") {
		t.Errorf("%s %v", got, err)
	}
	end = h.calling(t.Context(), "trigger-sampling-request", args{"prompt": "Again?"})
	h.asked().Reply(RequestAnswer{Decline: true})
	if got, err := end(); err == nil && !strings.Contains(got, "User rejected sampling request") {
		t.Errorf("%s %v", got, err)
	}
	if got := h.mustCall("fake", "get-roots-list", nil); !strings.Contains(got, fileURI(folder)) || !strings.Contains(got, "work") {
		t.Errorf("%s", got)
	}
	// Row 60: it can only be run as a task.
	if slices.Contains(h.tools("fake"), "simulate-research-query") {
		t.Error("a tool is offered that cannot be called")
	}
	if e := h.await("fake", EventProblem); !strings.Contains(e.Text, "simulate-research-query") {
		t.Errorf("%+v", e)
	}
}

// CASES 33: anomalyco/opencode#32477, anthropics/claude-code#470,
// aaif-goose/goose#9100. In short: the operation takes longer than the timeout,
// and reports on its way; without reports it is cut off.
func TestRealServerMayTakeLongWhileItReports(t *testing.T) {
	h, _ := everything(t, 2*time.Second)
	start := time.Now()
	if got := h.mustCall("fake", "trigger-long-running-operation", args{"duration": 5, "steps": 10}); !strings.Contains(got, "completed") {
		t.Errorf("%s", got)
	}
	if took := time.Since(start); took < 4*time.Second {
		t.Errorf("it took %v, which shows nothing", took)
	}
	if _, err := h.call("fake", "trigger-long-running-operation", args{"duration": 30, "steps": 1}); err == nil || !strings.Contains(err.Error(), "no answer to tools/call of trigger-long-running-operation within") {
		t.Errorf("%v", err)
	}
	// MCP.md row 24: it goes on reporting what was cancelled.
	if got := h.mustCall("fake", "echo", args{"message": "on"}); got != "Echo: on" {
		t.Errorf("%q", got)
	}
}

// A question to a person takes what it takes; the call's clock stands still.
func TestRealServerWaitsForAPerson(t *testing.T) {
	h, _ := everything(t, time.Second)
	eventually(t, "the tool that asks the model", func() bool { return slices.Contains(h.tools("fake"), "trigger-sampling-request") })
	end := h.calling(t.Context(), "trigger-sampling-request", args{"prompt": "Name a colour."})
	r := h.asked()
	time.Sleep(2500 * time.Millisecond) // of a person, who is not to be waited for otherwise
	r.Reply(SampleResult{Text: "Blue", StopReason: "endTurn"}.Answer())
	if got, err := end(); err != nil || !strings.Contains(got, "Blue") {
		t.Errorf("%s %v", got, err)
	}
}

func TestRealServerLogs(t *testing.T) {
	h, _ := everything(t, 20*time.Second)
	h.mustCall("fake", "toggle-simulated-logging", nil) // the first at once, of a level by chance: debug is not asked for
	h.await("fake", EventLog)
	for _, e := range h.kind("fake", EventLog) {
		if e.LogLevel == "debug" || e.Text == "" {
			t.Errorf("%+v", e)
		}
	}
}

// Servers that log before anything is asked (desktop-commander, taskmaster,
// mastra) are usable, and what they said is kept.
func TestServerThatLogsBeforeAnything(t *testing.T) {
	t.Parallel()
	h := open(t, map[string]mcptest.Options{"fake": {Chatty: 16}})
	if got := h.mustCall("fake", "echo", args{"text": "usable"}); got != "usable" {
		t.Errorf("%q", got)
	}
	lines, err := h.Logs("fake")
	n := 0
	for _, l := range lines {
		if l.Source == logMessage && strings.HasPrefix(l.Text, "starting step ") {
			n++
		}
	}
	if err != nil || n != 16 {
		t.Errorf("%d of 16 lines: %+v %v", n, lines, err)
	}
}
