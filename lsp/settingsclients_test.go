package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agentls/lsp/lsptest"
)

// The ways in which the six recorded editors tell settings: what they push
// after initialize, and what they answer when they are asked.
func TestSettingsOfTheRecordedEditors(t *testing.T) {
	type m = map[string]any
	mine := m{"notifications": "off"}
	for _, c := range []struct {
		name, file string
		push       any // settings of didChangeConfiguration; nil: none is sent
		pull       any // answer to workspace/configuration
		want       string
	}{
		{"VS Code, which is asked", "vscode.json", nil, []any{mine}, "off"},
		{"VS Code without settings", "vscode.json", nil, []any{nil}, "important"},
		{"VS Code with synchronize.configurationSection", "vscode.json", m{"agentls": mine}, []any{mine}, "off"},
		{"Neovim 0.10 with settings", "nvim10.json", m{"agentls": mine}, []any{mine}, "off"},
		{"Neovim 0.10, an empty table", "nvim10.json", m{"agentls": []any{}}, []any{[]any{}}, "important"},
		{"Neovim 0.10 with settings of others", "nvim10.json", m{"other": m{"a": 1}}, []any{nil}, "important"},
		{"Neovim 0.12 with settings", "nvim12.json", m{"agentls": mine}, []any{mine}, "off"},
		{"Neovim 0.12 without", "nvim12.json", nil, []any{nil}, "important"},
		{"Helix, config.agentls", "helix.json", m{"agentls": mine}, []any{mine}, "off"},
		{"Helix, config without a section", "helix.json", mine, []any{nil}, "important"}, // it comes as initializationOptions, too
		{"Helix without config", "helix.json", nil, []any{nil}, "important"},
		{"eglot with eglot-workspace-configuration", "eglot.json", m{"agentls": mine}, []any{mine}, "off"},
		{"eglot without", "eglot.json", m{}, []any{m{}}, "important"},
		{"eglot without, as a list", "eglot.json", []any{}, []any{nil}, "important"},
		{"ALE with a config", "vim-ale.json", m{"agentls": mine}, nil, "off"},
		{"ALE with a config of another shape", "vim-ale.json", mine, nil, "important"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, s := served(t, testOptions(t), nil)
			e.On("workspace/configuration", func(params json.RawMessage) (any, error) {
				if string(params) != `{"items":[{"section":"agentls"}]}` {
					t.Errorf("asked for %s", params)
				}
				return c.pull, nil
			})
			e.InitializeParams(e.Recorded("testdata/initialize/" + c.file))
			if c.push != nil {
				e.Notify("workspace/didChangeConfiguration", m{"settings": c.push})
			}
			if pushed, _ := c.push.(m); c.file != "vim-ale.json" && pushed["agentls"] == nil {
				e.AwaitRequest("workspace/configuration", 1)
			}
			settingsTest{e, t, s}.await(c.want)
			e.Shutdown()
			if c.file == "vim-ale.json" && len(e.Requests("workspace/configuration")) > 0 {
				t.Error("it was asked")
			}
		})
	}
}

// An answer that was on its way when the editor told something newer does not
// undo it.
func TestLateAnswerAboutSettings(t *testing.T) {
	type m = map[string]any
	e, s := served(t, testOptions(t), nil)
	pushed := make(chan struct{})
	e.On("workspace/configuration", func(json.RawMessage) (any, error) {
		<-pushed
		return []any{m{"notifications": "all"}}, nil
	})
	e.Initialize(lsptest.Init{})
	e.AwaitRequest("workspace/configuration", 1)
	e.Notify("workspace/didChangeConfiguration", m{"settings": m{"agentls": m{"notifications": "off"}}})
	e.Start("completionItem/resolve", m{"label": "x"}).Wait() // it has arrived
	close(pushed)
	settingsTest{e, t, s}.await("off")
	e.AwaitRequest("client/registerCapability", 1)
	e.Notify("workspace/didChangeConfiguration", m{"settings": m{"other": 1}}) // asked anew: that counts
	settingsTest{e, t, s}.await("all")
}

// What an editor answers that is none of our settings is told, and what held
// before holds on.
func TestOddSettings(t *testing.T) {
	type m = map[string]any
	for _, c := range []struct {
		name         string
		pull, push   any
		err          error
		told, logged string // on the wire, to a person; in our own log
	}{
		{name: "a number", pull: []any{5}, told: "editor settings: must be an object, not a number"},
		{name: "a text", pull: []any{"x"}, told: "editor settings: must be an object, not a text"},
		{name: "a list that is not empty", pull: []any{[]any{1}}, told: "editor settings: must be an object, not a list"},
		{name: "wrong types inside", pull: []any{m{"answers": 5, "limits": []any{1}, "approval": m{"timeoutSeconds": "x"}}}, told: "editor settings: answers: must be"},
		{name: "an unknown key", pull: []any{m{"notificatoins": "off"}}, told: "notificatoins"},
		{name: "no list", pull: m{"notifications": "off"}, logged: "the client does not give its settings"},
		{name: "null", pull: nil},
		{name: "an empty list", pull: []any{}},
		{name: "more than was asked for", pull: []any{nil, 5, m{}}},
		{name: "an error", err: &lsptest.Error{Code: -32601, Message: "no such method"}, logged: "the client does not give its settings"},
		{name: "a push of a number", pull: []any{nil}, push: m{"settings": m{"agentls": 5}}, told: "editor settings: must be an object, not a number"},
		{name: "a push without settings", pull: []any{nil}, push: m{}},
		{name: "a push of a list", pull: []any{nil}, push: []any{1}, logged: "passed over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions(t)
			log := tapLog(&o)
			e, s := served(t, o, nil)
			e.On("workspace/configuration", func(json.RawMessage) (any, error) { return c.pull, c.err })
			e.Initialize(lsptest.Init{Options: m{"notifications": "all"}})
			if c.push != nil {
				e.Notify("workspace/didChangeConfiguration", c.push)
			}
			if c.told != "" {
				e.Await("words about it", func() bool {
					return strings.Contains(fmt.Sprintf("%s", e.Notifications("window/logMessage")), c.told)
				})
			}
			if c.logged != "" {
				poll(t, "a line in the log", func() bool { return strings.Contains(log(), c.logged) })
			}
			settingsTest{e, t, s}.await("all")
			e.Shutdown()
		})
	}
}

// Settings that are pushed without our section by a client that cannot be
// asked reach nobody: that is said.
func TestSettingsWithoutOurSection(t *testing.T) {
	o := testOptions(t)
	log := tapLog(&o)
	e, _ := served(t, o, nil)
	e.InitializeParams(e.Recorded("testdata/initialize/vim-ale.json"))
	e.Notify("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"notifications": "off"}})
	poll(t, "a line in the log", func() bool {
		return strings.Contains(log(), `the settings have no section \"agentls\": put ours into settings.agentls`)
	})
}
