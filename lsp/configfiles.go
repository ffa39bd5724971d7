package lsp

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"agentls/agent"
	"agentls/agent/config"
	"agentls/mcp"
)

// configFiles follows the configuration's files on disk: a person's edit comes
// into force, a change of a run's waits for a person (CONTRACT §2). All but
// what mu guards belongs to settings.follow.
type configFiles struct {
	t        *settings
	inForce  *config.Files
	watcher  *config.Watcher // made by follow
	look     chan struct{}   // 1 slot: somebody else saw a change
	accepted chan *proposal  // by a person

	activity uint64          // of runs, when the files were last looked at
	held     map[string]bool // what waits for a person, or was refused
	open     *proposal       // what was asked last, with held; nil: nothing is held
	asking   sync.WaitGroup  // the goroutines of questions

	mu    sync.Mutex
	names map[string]string  // the files in force, by each path that they may be saved under
	saved map[string]*string // by the editor since the files were last looked at: the text; nil: not known
	anew  bool               // what is held is to be asked about once more
}

// proposal is a change that a person is asked about.
type proposal struct {
	now      *config.Files
	names    []string
	withdraw context.CancelCauseFunc
}

func newConfigFiles(t *settings) *configFiles {
	return &configFiles{
		t: t, inForce: config.NewFiles(), look: make(chan struct{}, 1), accepted: make(chan *proposal),
		held: map[string]bool{}, saved: map[string]*string{}, names: map[string]string{},
	}
}

// kick asks follow to look at the files.
func (c *configFiles) kick() {
	select {
	case c.look <- struct{}{}:
	default:
	}
}

// didSave lets a file that a person saved in the editor count at once, as far
// as it still holds the text of the editor: a run may write after the save.
func (c *configFiles) didSave(path string, text *string) {
	c.mu.Lock()
	name, ours := c.names[path]
	if ours {
		c.saved[name] = text
	}
	c.mu.Unlock()
	if ours {
		c.kick()
	}
}

// wrote lets a change of our own count at once, as a person's: but not with it
// what somebody else wrote into the file before, which is not in force.
func (c *configFiles) wrote(w writing) {
	file, text := c.t.s.o.Config.File(), string(w.After)
	if c.inForce.Is(file, w.Before) {
		c.mu.Lock()
		c.saved[file] = &text
		c.mu.Unlock()
	}
}

// askAnew asks once more about what a person did not apply.
func (c *configFiles) askAnew() {
	c.mu.Lock()
	c.anew = true
	c.mu.Unlock()
	c.kick()
}

// savedFile is didSave, for a document that need not be open.
func (s *Server) savedFile(params []byte) {
	if p, err := decodeDocument(params); err == nil { // docs tells what is wrong
		if _, path := canonical(p.TextDocument.URI); path != "" {
			var text *string
			if d, open := s.docs.get(p.TextDocument.URI); open {
				text = &d.text
			}
			s.settings.files.didSave(path, text)
		}
	}
}

// loaded notes which files are in force, after each Load.
func (c *configFiles) loaded() {
	files := c.inForce.Names()
	names := make(map[string]string, len(files))
	for _, file := range files {
		names[file] = file
		if real, err := filepath.EvalSymlinks(file); err == nil {
			names[real] = file
		}
	}
	c.mu.Lock()
	c.names = names
	c.mu.Unlock()
	if c.watcher != nil {
		c.watcher.Watch(files)
	}
}

// changed looks at the files and reports whether what is in force is now
// another. What changed while a run was active, and was not saved in the
// editor, is asked about first.
func (c *configFiles) changed(ctx context.Context) bool {
	busy, activity := c.t.s.runs.activity()
	c.mu.Lock()
	saved, anew := c.saved, c.anew
	c.saved, c.anew = map[string]*string{}, false
	c.mu.Unlock()
	now := c.inForce.Look()
	if !busy {
		busy, _ = c.t.s.runs.activity()
	}
	busy = busy || activity != c.activity
	c.activity = activity

	var take []string
	held := map[string]bool{}
	for _, name := range c.inForce.Changed(now) {
		text, aPersons := saved[name]
		aPersons = aPersons && (text == nil || now.Holds(name, *text))
		if !aPersons && (busy || c.held[name]) {
			held[name] = true
		} else {
			take = append(take, name)
		}
	}
	if c.held = held; len(held) == 0 {
		c.withdraw()
	} else if anew || c.isNews(now) {
		c.withdraw()
		c.propose(ctx, now)
	}
	if len(take) > 0 {
		c.inForce.Take(now, take...)
	}
	return len(take) > 0
}

// isNews reports whether what is held is other than what was asked about.
func (c *configFiles) isNews(now *config.Files) bool {
	names := slices.Sorted(maps.Keys(c.held))
	return c.open == nil || !slices.Equal(c.open.names, names) ||
		slices.ContainsFunc(c.open.now.Changed(now), func(name string) bool { return c.held[name] })
}

func (c *configFiles) withdraw() {
	if c.open != nil {
		c.open.withdraw(errNoUse)
		c.open = nil
	}
}

// propose asks a person about what is held.
func (c *configFiles) propose(ctx context.Context, now *config.Files) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &proposal{now: now, names: slices.Sorted(maps.Keys(c.held)), withdraw: cancel}
	c.open = p
	after := c.inForce.Clone()
	after.Take(now, p.names...)
	// Neither runs commands, nor teaches secrets: what a run wrote must not hide
	// behind what it makes look like one.
	unknown := c.t.s.o.Config
	unknown.Secrets = nil
	w := c.question(p.names, c.t.load(ctx, unknown, c.inForce.Clone(), true), c.t.load(ctx, unknown, after, true))
	c.asking.Go(func() { // ends with ctx
		if a, err := c.t.s.asks.settle(ctx, w); err != nil || !yes(a) {
			return
		}
		select {
		case c.accepted <- p:
		case <-ctx.Done():
		}
	})
}

// accept brings into force what a person said yes to: what was shown, not what
// is on disk by now. False: it is no longer what is held.
func (c *configFiles) accept(p *proposal) bool {
	if p != c.open {
		return false
	}
	c.withdraw()
	c.inForce.Take(p.now, p.names...)
	for _, name := range p.names {
		delete(c.held, name)
	}
	return true
}

// question shows what a change would do. A server of the user's starts without
// another question, so what it would run is shown whole.
func (c *configFiles) question(names []string, before, after config.Config) *question {
	d := config.Diff(before, after)
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = c.t.s.shortPath(name)
	}
	wide := widened(before, after)
	starts, whole := map[string]mcp.Definition{}, map[string]string{}
	for _, s := range slices.Concat(after.Servers, after.Waiting) {
		if !s.Project && (slices.Contains(d.Added, s.Name) || slices.Contains(d.Changed, s.Name)) {
			starts[s.Name], whole[s.Name] = s.Shown, wholeDefinition(s.Shown, s.Reads)
		}
	}
	arguments, _ := json.Marshal(map[string]any{ // strings always encode
		"files": names, "serversAdded": orNone(d.Added), "serversRemoved": orNone(d.Removed), "serversChanged": orNone(d.Changed), "settings": orNone(d.Settings),
		"starts": starts, "widened": orNone(wide),
	})
	parts := []string{"agentls: " + strings.Join(visibles(shown), ", ") + " changed while a run was active (" + strings.Join(append([]string{describe(d)}, wide...), "; ") + ")."}
	for _, name := range slices.Sorted(maps.Keys(starts)) {
		parts = append(parts, visible(name)+": "+whole[name])
	}
	text := strings.Join(parts, " ")
	w := &question{
		id: newID(), kind: asksTrust, arguments: arguments, timeout: c.t.s.cfg.Load().Approval.Timeout,
		reason:  "configuration files changed while a run was active; the change is not in force",
		message: breakLinks(text + " Apply the change?"),
		choices: []choice{{title: "Not now", decision: agent.DecisionDeny}, {title: "Apply", decision: agent.DecisionOnce}},
	}
	if utf8.RuneCountInString(w.message) > trustLimit {
		w.message = cleanTo(text, trustLimit/2) + " The change is too long to be shown here: agentls.approvals shows all of it, and saving the file in the editor applies it."
		w.choices = w.choices[:1]
	}
	return w
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// describe puts changes into words.
func describe(d config.Changes) string {
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"servers added", d.Added}, {"servers removed", d.Removed}, {"servers changed", d.Changed}, {"settings changed", d.Settings}} {
		if len(p.names) > 0 {
			parts = append(parts, p.what+": "+strings.Join(visibles(p.names), ", "))
		}
	}
	if len(parts) == 0 {
		return "to the same effect"
	}
	return strings.Join(parts, "; ")
}

// shortPath is a path as a person knows it: relative to its folder.
func (s *Server) shortPath(path string) string {
	if folder, name, ok := s.inFolder(path); ok {
		return s.shownIn(folder, name)
	}
	return path
}

// registration asks the client to tell of changes, for file systems that tell
// us nothing.
func (c *configFiles) registration() (r protocol.Registration, ok bool) {
	ws := c.t.s.peer.caps.Workspace
	if ws == nil || ws.DidChangeWatchedFiles == nil || !deref(ws.DidChangeWatchedFiles.DynamicRegistration) {
		return r, false
	}
	type watcher struct {
		Pattern any `json:"globPattern"`
	}
	watchers := []watcher{{"**/.mcp.json"}, {"**/.vscode/mcp.json"}, {"**/.agentls/config.json"}}
	if dir := c.t.s.o.Config.Dir; dir != "" && deref(ws.DidChangeWatchedFiles.RelativePatternSupport) {
		watchers = append(watchers, watcher{map[string]any{"baseUri": uri.File(dir), "pattern": "{config,mcp}.json"}})
	}
	options, _ := json.Marshal(map[string]any{"watchers": watchers}) // strings always encode
	return protocol.Registration{ID: "agentls.files", Method: "workspace/didChangeWatchedFiles", RegisterOptions: options}, true
}
