package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"agentls/agent/config"
)

// section is our part of the editor's settings (CONTRACT §2).
const section = "agentls"

// clientTime is how long a client may take to answer what needs no person.
const clientTime = 10 * time.Second

// settings reads the configuration and follows its changes.
type settings struct {
	s *Server

	mu      sync.Mutex
	options json.RawMessage // initializationOptions
	editor  json.RawMessage // section agentls, nil before it is known
	pull    bool            // the client is to be asked for it

	wake    chan struct{} // 1 slot: there is something for follow to do
	whole   chan struct{} // closed once nothing of the configuration is pending
	settled sync.Once     // closes whole

	// Of follow alone: what the client was told.
	told  []config.Problem
	files map[uri.URI]bool
}

func newSettings(s *Server) *settings {
	return &settings{s: s, wake: make(chan struct{}, 1), whole: make(chan struct{}), files: make(map[uri.URI]bool)}
}

// configure reads the configuration for the first time, from files alone. It
// starts no server: ten children that start at once would take the processor
// from the answer to initialize.
func (t *settings) configure(ctx context.Context, options json.RawMessage) {
	t.options = object(options)
	t.pull = t.canPull()
	t.read(ctx, true)
}

func (t *settings) canPull() bool {
	ws := t.s.peer.caps.Workspace
	return ws != nil && ws.Configuration != nil && *ws.Configuration
}

// changed is workspace/didChangeConfiguration. Clients that keep to the pull
// model send null.
func (t *settings) changed(params []byte) error {
	var p struct {
		Settings json.RawMessage `json:"settings"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	var sections map[string]json.RawMessage
	_ = json.Unmarshal(p.Settings, &sections) // null, a list: no section of ours
	t.mu.Lock()
	if mine, ok := sections[section]; ok {
		t.editor = object(mine)
	} else {
		t.pull = t.canPull()
	}
	t.mu.Unlock()
	t.reload()
	return nil
}

// reload asks follow to read everything anew.
func (t *settings) reload() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// follow tells the client what is wrong with the configuration and reads it
// anew after each change, until ctx ends. Serve owns the goroutine.
func (t *settings) follow(ctx context.Context) {
	t.enforce()
	if t.s.cfg.Load().Pending {
		t.read(ctx, false)
		t.enforce()
	}
	t.tell(t.s.cfg.Load().Problems)
	t.register(ctx)
	for changed := false; ; {
		if t.wantsPull() {
			changed = t.ask(ctx) || changed
		}
		if changed {
			t.read(ctx, false)
			t.enforce()
			t.tell(t.s.cfg.Load().Problems)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
			changed = true
		}
	}
}

// register asks for didChangeConfiguration where the client sends it only to
// who asked.
func (t *settings) register(ctx context.Context) {
	ws := t.s.peer.caps.Workspace
	if ws == nil || ws.DidChangeConfiguration == nil || ws.DidChangeConfiguration.DynamicRegistration == nil || !*ws.DidChangeConfiguration.DynamicRegistration {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, clientTime)
	defer cancel()
	err := t.s.call(ctx, "client/registerCapability", protocol.RegistrationParams{
		Registrations: []protocol.Registration{{ID: "agentls.configuration", Method: "workspace/didChangeConfiguration"}},
	}, nil)
	if err != nil && !isCancel(err) {
		t.s.o.Log.Info("the client will not tell of changed settings", "error", err)
	}
}

func (t *settings) wantsPull() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	want := t.pull
	t.pull = false
	return want
}

// ask pulls our section from the client.
func (t *settings) ask(ctx context.Context) (ok bool) {
	ctx, cancel := context.WithTimeout(ctx, clientTime)
	defer cancel()
	name := section
	var values []json.RawMessage
	err := t.s.call(ctx, "workspace/configuration", protocol.ConfigurationParams{Items: []protocol.ConfigurationItem{{Section: &name}}}, &values)
	if err != nil && !isCancel(err) {
		t.s.o.Log.Warn("the client does not give its settings", "error", err)
	}
	if err != nil || len(values) == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.editor = object(values[0])
	return true
}

// read reads all layers, without the commands in them if it must not wait.
func (t *settings) read(ctx context.Context, noCommands bool) {
	t.mu.Lock()
	request := config.Request{Editor: []json.RawMessage{t.options, t.editor}, NoCommands: noCommands}
	t.mu.Unlock()
	for _, f := range t.s.o.State.Folders() {
		request.Folders = append(request.Folders, f.Path)
	}
	cfg := config.Load(ctx, t.s.o.Config, request)
	t.s.cfg.Store(&cfg)
}

// enforce starts and stops servers as the configuration now says.
func (t *settings) enforce() {
	cfg := t.s.cfg.Load()
	t.s.o.Manager.Configure(cfg.Servers)
	if !cfg.Pending {
		t.settled.Do(func() { close(t.whole) })
	}
}

// inForce gives the configuration, once its servers are starting and the
// commands that its values come from have run for the first time.
func (t *settings) inForce(ctx context.Context) (*config.Config, error) {
	select {
	case <-t.whole:
		return t.s.cfg.Load(), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// tell shows problems where the user looks: in the log, and at their file.
func (t *settings) tell(problems []config.Problem) {
	files := make(map[uri.URI][]protocol.Diagnostic)
	var fresh []config.Problem
	for _, p := range problems {
		if !slices.Contains(t.told, p) {
			fresh = append(fresh, p)
			t.s.logMessage(protocol.MessageTypeWarning, t.words(p.String()))
		}
		if p.File != "" {
			file := uri.File(p.File)
			files[file] = append(files[file], t.diagnose(p))
		}
	}
	for file := range t.files {
		if files[file] == nil {
			t.s.notify("textDocument/publishDiagnostics", protocol.PublishDiagnosticsParams{URI: file})
			delete(t.files, file)
		}
	}
	if !slices.Equal(t.told, problems) {
		for file, list := range files {
			t.s.notify("textDocument/publishDiagnostics", protocol.PublishDiagnosticsParams{URI: file, Diagnostics: list})
			t.files[file] = true
		}
	}
	t.told = problems
	t.popUp(fresh)
}

// popUp tells that something is wrong to who looks at neither the log nor the
// file: what is passed over may be a rule that denies.
func (t *settings) popUp(fresh []config.Problem) {
	if len(fresh) == 0 || t.s.cfg.Load().Notifications == "off" {
		return
	}
	text := "agentls: something in the configuration is passed over: " + t.words(fresh[0].String())
	if more := len(fresh) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more in the log)", more)
	}
	t.s.showMessage(protocol.MessageTypeWarning, text)
}

// problemLimit is more than clean shows: a problem begins with its file.
const problemLimit = 1000

// words makes a problem fit to be shown: it quotes keys and values of files
// that may come with a project.
func (t *settings) words(text string) string {
	return cleanTo(t.s.o.Secrets.Redact(text), problemLimit)
}

func (t *settings) diagnose(p config.Problem) protocol.Diagnostic {
	text := p.Message
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	line := uint32(max(0, p.Line-1))
	return protocol.Diagnostic{
		// To the end of the line, which clients clamp.
		Range:    protocol.Range{Start: protocol.Position{Line: line}, End: protocol.Position{Line: line, Character: 1000}},
		Severity: protocol.DiagnosticSeverityWarning,
		Source:   protocol.NewOptional("agentls"),
		Message:  protocol.String(t.words(text)),
	}
}

// object takes null, and the [] that Lua writes for an empty table, for unset.
func object(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 0 {
		return nil
	}
	return bytes.Clone(raw)
}
