package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	pushes  int             // how often it told of it unasked
	chosen  *picked         // a provider and a model for this connection; nil: as configured

	wake    chan struct{} // 1 slot: there is something for follow to do
	written chan writing  // of our own into the user's file
	known   chan struct{} // closed once the editor was asked for its settings, as far as it can be
	begun   chan struct{} // closed once what the files say is in force
	whole   chan struct{} // closed once nothing of the configuration is pending
	settled sync.Once     // closes whole
	chose   chan struct{} // 1 slot: the provider or the model in force may be another one

	files *configFiles

	// Of follow alone: what the client was told, and at which files.
	told   []config.Problem
	marked map[uri.URI]bool
}

func newSettings(s *Server) *settings {
	t := &settings{s: s, wake: make(chan struct{}, 1), written: make(chan writing, 16), known: make(chan struct{}), begun: make(chan struct{}), whole: make(chan struct{}), chose: make(chan struct{}, 1), marked: make(map[uri.URI]bool)}
	t.files = newConfigFiles(t)
	return t
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
	mine, ok := sections[section]
	t.mu.Lock()
	if ok {
		t.editor, t.pull = object(mine), false // what was asked for before is older
		t.pushes++
	} else {
		t.pull = t.canPull()
	}
	t.mu.Unlock()
	t.reload()
	if !ok && len(sections) > 0 && !t.canPull() {
		return fmt.Errorf("the settings have no section %q: put ours into settings.%s", section, section)
	}
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
	close(t.begun)
	if t.s.cfg.Load().Pending {
		t.read(ctx, false)
		t.enforce()
	}
	t.tell(t.s.cfg.Load().Problems)
	var wg sync.WaitGroup // they end with ctx
	defer wg.Wait()
	defer t.files.asking.Wait()
	t.files.watcher = config.NewWatcher(t.s.o.Log)
	wg.Go(func() { t.files.watcher.Run(ctx) })
	t.files.loaded()
	wg.Go(func() { t.register(ctx) })
	known := sync.OnceFunc(func() { close(t.known) })
	for changed, told := false, []chan struct{}(nil); ; {
		if t.wantsPull() {
			changed = t.ask(ctx) || changed
		}
		if changed {
			t.renew(ctx)
			changed = false
		}
		known()
		for _, done := range told {
			close(done)
		}
		told = nil
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
			changed = true
		case <-t.files.watcher.C:
			changed = t.files.changed(ctx)
		case <-t.files.look:
			changed = t.files.changed(ctx)
		case w := <-t.written:
			t.files.wrote(w)
			dropped := t.unchoose() // what is set up counts from now on
			changed = t.files.changed(ctx) || dropped
			told = append(told, w.done)
		case p := <-t.files.accepted:
			changed = t.files.accept(p)
		}
	}
}

// writing is a change of the user's file that a person had us make.
type writing struct {
	config.Written
	done chan struct{} // closed when it was looked at
}

// wrote brings a change of our own into force, and waits for that as long as
// ctx lets it; whether it was looked at. It counts also where ctx has ended: the
// file has it.
func (t *settings) wrote(ctx context.Context, change config.Written) bool {
	w := writing{change, make(chan struct{})}
	select {
	case t.written <- w:
	default: // many wait
		select {
		case t.written <- w:
		case <-ctx.Done():
			return false
		}
	}
	select {
	case <-w.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// renew reads the configuration anew and puts it into force. The secrets in it
// are known before anything of it is told.
func (t *settings) renew(ctx context.Context) {
	before := *t.s.cfg.Load()
	t.read(ctx, false)
	t.enforce()
	now := t.s.cfg.Load()
	if d := config.Diff(before, *now); !d.None() {
		t.s.logMessage(protocol.MessageTypeInfo, t.words("agentls: the configuration was read anew: "+describe(d)))
	}
	t.tell(now.Problems)
}

// register asks for didChangeConfiguration, and for didChangeWatchedFiles,
// where the client sends it only to who asked.
func (t *settings) register(ctx context.Context) {
	var list []protocol.Registration
	if ws := t.s.peer.caps.Workspace; ws != nil && ws.DidChangeConfiguration != nil && deref(ws.DidChangeConfiguration.DynamicRegistration) {
		list = append(list, protocol.Registration{ID: "agentls.configuration", Method: "workspace/didChangeConfiguration"})
	}
	if r, ok := t.files.registration(); ok {
		list = append(list, r)
	}
	if len(list) == 0 {
		return
	}
	t.s.registerAtClient(ctx, list...)
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
	t.mu.Lock()
	pushes := t.pushes
	t.mu.Unlock()
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
	if t.pushes != pushes {
		return false // the answer was on its way when it told something newer
	}
	t.editor = object(values[0])
	return true
}

// read reads all layers, without the commands in them if it must not wait.
func (t *settings) read(ctx context.Context, noCommands bool) {
	cfg := t.load(ctx, t.s.o.Config, t.files.inForce, noCommands)
	t.mu.Lock() // a choice comes before this, or after it
	cfg = t.withChoice(cfg)
	t.put(cfg)
	t.mu.Unlock()
	t.files.loaded()
}

// put brings a configuration into force. t.mu is held.
func (t *settings) put(cfg config.Config) {
	t.s.cfg.Store(&cfg)
	select {
	case t.chose <- struct{}{}:
	default:
	}
}

// load is read for other files than those in force.
func (t *settings) load(ctx context.Context, source config.Source, files *config.Files, noCommands bool) config.Config {
	t.mu.Lock()
	request := config.Request{
		Editor: []json.RawMessage{t.options, t.editor}, NoCommands: noCommands, Files: files,
		Units: func(text string) int { return int(unitsIn(text, t.s.docs.encoding)) }, //nolint:gosec // a line's length
	}
	t.mu.Unlock()
	for _, f := range t.s.o.State.Folders() {
		request.Folders = append(request.Folders, f.Path)
	}
	return config.Load(ctx, source, request)
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

// isKnown reports whether the configuration has been read from all that gives it.
func (t *settings) isKnown() bool {
	select {
	case <-t.known:
		return true
	default:
		return false
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
