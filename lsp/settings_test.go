package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/agent/config"
	"agentls/lsp/lsptest"
)

type settingsTest struct {
	*lsptest.Editor
	t *testing.T
	s *Server
}

// await waits until the settings in force say so for notifications.
func (w settingsTest) await(notifications string) {
	w.t.Helper()
	w.Await("notifications = "+notifications, func() bool {
		// Not told on the wire: any answer makes Await look again.
		w.Start("completionItem/resolve", map[string]any{"label": "x"})
		return w.s.cfg.Load().Notifications == notifications
	})
}

// tapLog also keeps what is logged.
func tapLog(o *Options) (text func() string) {
	kept := &slowly{}
	o.Log = slog.New(slog.NewTextHandler(kept, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return func() string {
		kept.mu.Lock()
		defer kept.mu.Unlock()
		return kept.String()
	}
}

func TestSettingsOfTheEditor(t *testing.T) {
	type m = map[string]any
	e, s := served(t, testOptions(t), nil)
	w := settingsTest{e, t, s}
	pulled := m{"notifications": "off"}
	e.On("workspace/configuration", func(params json.RawMessage) (any, error) {
		if string(params) != `{"items":[{"section":"agentls"}]}` {
			t.Errorf("asked for %s", params)
		}
		return []any{pulled}, nil
	})
	e.Initialize(lsptest.Init{Options: m{"notifications": "all"}})
	w.await("off")
	if e.AwaitRequest("client/registerCapability", 1); len(e.Requests("workspace/configuration")) != 1 {
		t.Errorf("%d pulls", len(e.Requests("workspace/configuration")))
	}
	e.Notify("workspace/didChangeConfiguration", m{"settings": m{"agentls": m{"notifications": "important"}, "other": 5}})
	w.await("important")
	pulled = m{"notifications": "all"}
	e.Notify("workspace/didChangeConfiguration", m{"settings": nil})
	w.await("all")
	e.Notify("workspace/didChangeConfiguration", m{"settings": m{"agentls": m{"notifications": "off"}}})
	w.await("off")
	e.Notify("workspace/didChangeConfiguration", m{"settings": m{"agentls": nil}}) // unset: the options count again
	w.await("all")
	// What is wrong is told, and the rest counts all the same.
	e.Notify("workspace/didChangeConfiguration", m{"settings": m{"agentls": m{"answers": 5, "approval": []int{1}, "notifications": "important"}}})
	w.await("important")
	e.Await("problems in the log", func() bool {
		log := fmt.Sprintf("%s", e.Notifications("window/logMessage"))
		return strings.Contains(log, "editor settings: answers: must be a text, not a number") && strings.Contains(log, "editor settings: approval: must be an object, not a list")
	})
	e.Notify("workspace/didChangeConfiguration", m{"settings": m{"agentls": []int{}}}) // as Lua writes {}
	w.await("all")
}

func TestSettingsOfAClientThatCannotBeAsked(t *testing.T) {
	e, s := served(t, testOptions(t), nil)
	e.Initialize(lsptest.Init{Options: map[string]any{"notifications": "all"}, Capabilities: map[string]any{}})
	e.Notify("workspace/didChangeConfiguration", map[string]any{"settings": nil})
	settingsTest{e, t, s}.await("all")
	e.Shutdown()
	if n := len(e.Requests("workspace/configuration")) + len(e.Requests("client/registerCapability")); n != 0 {
		t.Errorf("%d requests to a client without the capability", n)
	}
}

// copilot-emacs/copilot.el#488 and SilasMarvin/lsp-ai#82: a wrong type or key
// was passed over in silence.
func TestProblemsOfTheConfigurationAreShown(t *testing.T) {
	o := testOptions(t)
	if err := os.MkdirAll(o.Config.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.Config.Dir, "config.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("{\n  \"notifications\": 5,\n  \"limts\": {}\n}\n")
	e, _ := served(t, o, nil)
	e.Initialize(lsptest.Init{})
	var p struct {
		URI         string
		Diagnostics []struct {
			Message string
			Range   lsptest.Range
		}
	}
	if err := json.Unmarshal(e.AwaitNotification("textDocument/publishDiagnostics", 1), &p); err != nil {
		t.Fatal(err)
	}
	if p.URI != lsptest.FileURI(file) || len(p.Diagnostics) != 2 || p.Diagnostics[0].Range.Start.Line+p.Diagnostics[1].Range.Start.Line != 3 {
		t.Errorf("%+v", p)
	}
	e.Await("both problems in the log", func() bool {
		log := fmt.Sprintf("%s", e.Notifications("window/logMessage"))
		return strings.Contains(log, "config.json: notifications: ") && strings.Contains(log, "config.json: limts: ")
	})
	popup := string(e.AwaitNotification("window/showMessage", 1))
	if !strings.Contains(popup, "config.json: notifications: ") || !strings.Contains(popup, "and 1 more") {
		t.Errorf("popup %s", popup)
	}

	write("{}")
	e.Notify("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"agentls": nil}})
	if got := string(e.AwaitNotification("textDocument/publishDiagnostics", 2)); !strings.Contains(got, `"diagnostics":[]`) {
		t.Errorf("not cleared: %s", got)
	}
}

// A prompt that comes before the commands of the configuration have run waits
// for them; initialize does not.
func TestFirstPromptWaitsForCommandsInTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config", "config.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"providers": {"p": {"baseURL": "http://127.0.0.1:1/v1", "model": "m", "apiKey": "${cmd:echo from-a-command}"}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var key string
	w := newWorld(t, setup{dir: dir, unset: true, before: func(s *Server) {
		s.o.NewLLM = func(p config.Provider) (agent.LLM, error) {
			key = p.APIKey
			return agenttest.NewLLM(t, agenttest.Text("hi")), nil
		}
	}})
	if raw, err := w.ask("hello", nil).Wait(); err != nil || !strings.Contains(string(raw), `"text":"hi"`) || key != "from-a-command" {
		t.Errorf("answer %s, %v, key %q", raw, err, key)
	}
}

// A project's file is quoted in problems: nothing in it may act on who reads them.
func TestProblemsAreCleaned(t *testing.T) {
	o := testOptions(t)
	folder := t.TempDir()
	text := `{"[x](command:evil)\u001b]0;t\u0007\u202e\nfake: line": {"a": 1}, "sk-abcdefgh12345678": {}, "` + strings.Repeat("long", 5000) + `": 1}`
	if err := errors.Join(os.MkdirAll(filepath.Join(folder, ".agentls"), 0o700), os.WriteFile(filepath.Join(folder, ".agentls", "config.json"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	e, _ := served(t, o, nil)
	e.Initialize(lsptest.Init{Root: folder})
	got := string(e.AwaitNotification("textDocument/publishDiagnostics", 1))
	e.AwaitNotification("window/logMessage", 3)
	for _, n := range e.Notifications("window/logMessage") {
		got += string(n)
	}
	for _, bad := range []string{"](", `\u001b`, "\u202e", `\u202e`, `\n`, "abcdefgh12345678", strings.Repeat("long", 500)} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is in %.3000s", bad, got)
		}
	}
}
