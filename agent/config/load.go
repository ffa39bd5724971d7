package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentls/agent"
	"agentls/mcp"
)

// loader merges the layers as it reads them.
type loader struct {
	ctx      context.Context //nolint:containedctx // of one Load, which made the loader
	source   Source
	request  Request
	config   Config
	provider string          // the key that is to be used; empty: none named
	withheld map[string]bool // variables that providers read
	files    *Files
	servers  map[string]mcp.ServerConfig
	faults   map[string]Problem // what is wrong with a provider, by name
	rules    []rule             // those that are to be checked once all servers are known

	// Of the folder that is read: what it made us take so far.
	projectServers int
	projectRules   int
	projectEnv     int // bytes of env files, once for each server that names one
}

// maxProblems bounds what one Load tells: a project's file may be all wrong.
const maxProblems = 200

// What one folder may make us take before anybody trusts it: each server costs
// memory and a question, and many of them may name one file.
const (
	maxProjectServers = 200
	maxProjectRules   = 1000
	maxProjectEnv     = maxFile // bytes
)

func (l *loader) problem(p Problem) {
	switch n := len(l.config.Problems); {
	case n < maxProblems:
		l.config.Problems = append(l.config.Problems, p)
	case n == maxProblems:
		l.config.Problems = append(l.config.Problems, Problem{File: p.File, Message: "more is wrong than is told here"})
	}
}

// read parses a file; a missing one is no problem. A file that was good before
// and is not now, as when it is half written, stays in force as it was.
func (l *loader) read(d *document) (root node, ok bool) {
	d.units = l.request.Units
	before, kept := l.files.before(d.file)
	d.problem = func(p Problem) {
		if p.Disables && kept {
			p.Message += "; what it said before stays in force"
		}
		l.problem(p)
	}
	text, err := l.files.read(d.file)
	switch {
	case isMissing(err):
		l.files.gone(d.file)
		return node{}, false
	case errors.Is(err, errIrregular), errors.Is(err, errLarge):
		d.problem(Problem{File: d.file, Message: err.Error(), Disables: true})
	case err != nil:
		d.problem(Problem{File: d.file, Message: "cannot be read: " + err.Error(), Disables: true})
	case len(bytes.TrimSpace(text)) == 0:
		if !kept {
			return node{}, false
		}
		d.problem(Problem{File: d.file, Message: "is empty", Disables: true})
	default:
		if root, ok = d.parse(text); ok {
			l.files.parsed(d.file)
			d.problem = l.problem
			return root, true
		}
	}
	if !kept {
		return node{}, false
	}
	d.problem = func(Problem) {} // its places are those of another text
	return d.parse(before)
}

func (l *loader) user() {
	if l.source.Dir == "" {
		return
	}
	if root, ok := l.read(&document{layer: userLayer, file: filepath.Join(l.source.Dir, "config.json")}); ok {
		l.whole(root)
	}
	if root, ok := l.read(&document{layer: userLayer, file: filepath.Join(l.source.Dir, "mcp.json")}); ok {
		l.serversOf(root, "mcpServers", "")
	}
}

func (l *loader) editor(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	d := &document{layer: editorLayer, problem: l.problem}
	if root, ok := d.parse(raw); ok {
		l.whole(root)
	}
}

func (l *loader) project(folder string) {
	l.projectServers, l.projectRules, l.projectEnv = 0, 0, 0
	for _, p := range []struct{ file, key string }{
		{".agentls/config.json", ""},
		{".mcp.json", "mcpServers"},
		{".vscode/mcp.json", "servers"},
	} {
		d := &document{layer: projectLayer, file: filepath.Join(folder, filepath.FromSlash(p.file)), folder: folder, foreign: p.key != ""}
		root, ok := l.read(d)
		if !ok {
			continue
		}
		switch p.key {
		case "":
			l.whole(root)
		case "servers":
			d.inputs = inputsOf(root)
			fallthrough
		default:
			l.serversOf(root, p.key, folder)
		}
	}
}

// serversOf reads a file that only lists servers.
func (l *loader) serversOf(root node, key, folder string) {
	found := false
	for _, m := range root.members() {
		if m.key == key {
			found = true
			l.mcpServers(m.node, folder)
		} else if !root.doc.foreign && m.key != "$schema" {
			m.wrongKey("unknown key; this file holds %q", key)
		}
	}
	// An object whose servers stand at the top is the usual mistake.
	if !found && len(root.members()) > 0 {
		root.wrong("has no %q", key)
	}
}

// whole reads a document of our own format.
func (l *loader) whole(root node) {
	c := &l.config
	for _, m := range root.members() {
		if root.doc.layer == projectLayer && !narrows[m.key] {
			m.wrongKey("a project's file cannot set this; it is ignored")
			continue
		}
		switch m.key {
		case "workspaceTrusted": // initialize's
		case "$schema":
			m.text() // for the editor: only its type is looked at
		case "provider":
			if s, ok := m.text(); ok {
				l.provider = s
			}
		case "providers":
			for _, p := range m.members() {
				c.Providers[p.key] = l.decodeProvider(p)
			}
		case "mcpServers":
			l.mcpServers(m.node, root.doc.folder)
		case "approval":
			l.approval(m.node)
		case "notifications":
			set(&c.Notifications)(m.choice("all", "important", "off"))
		case "answers":
			set(&c.Answers)(m.choice("document", "message", "none"))
		case "detached":
			set(&c.Detached)(m.choice("auto", "always", "never"))
		case "limits":
			l.limits(m.node)
		default:
			m.unknown("")
		}
	}
}

// narrows are the keys that a project's file may hold: they only take away.
//
//nolint:gochecknoglobals // a constant table
var narrows = map[string]bool{"$schema": true, "mcpServers": true, "approval": true, "answers": true, "notifications": true, "detached": true, "limits": true}

// set stores a value when it was given.
func set[T any](to *T) func(T, bool) {
	return func(v T, ok bool) {
		if ok {
			*to = v
		}
	}
}

func (l *loader) approval(n node) {
	a := &l.config.Approval
	for _, m := range n.members() {
		project := n.doc.layer == projectLayer
		switch {
		case m.key == "ask":
			a.Ask = append(a.Ask, l.rulesOf(m, false)...)
		case m.key == "deny":
			a.Deny = append(a.Deny, l.rulesOf(m, false)...)
		case project:
			m.wrongKey("a project's file can only add to ask and deny; it is ignored")
		case m.key == "allow":
			a.Allow = append(a.Allow, l.rulesOf(m, true)...)
		case m.key == "default":
			set(&a.Default)(m.choice("ask", "allow", "deny"))
		case m.key == "timeoutSeconds":
			if s, ok := m.seconds(); ok {
				a.Timeout = duration(s)
			}
		default:
			m.unknown("approval")
		}
	}
}

// rule is one rule where it stands.
type rule struct {
	text  string
	allow bool
	node  node
}

// rulesOf gives a list of rules. Those that cannot be understood stay in it:
// the agent asks where one of them would deny.
func (l *loader) rulesOf(m member, allow bool) (texts []string) {
	for _, e := range m.items() {
		if m.doc.layer == projectLayer {
			if l.projectRules++; l.projectRules > maxProjectRules {
				e.wrong("a folder may bring %d rules; this one and those after it are ignored", maxProjectRules)
				return texts
			}
		}
		if s, ok := e.text(); ok {
			texts = append(texts, s)
			l.rules = append(l.rules, rule{s, allow, e})
		}
	}
	return texts
}

// checkRules tells the rules that do nothing, or not what they seem to.
func (l *loader) checkRules() {
	servers := slices.Collect(maps.Keys(l.servers))
	for _, s := range l.config.Waiting {
		servers = append(servers, s.Name)
	}
	for _, r := range l.rules {
		if why := agent.CheckRule(r.text, r.allow, servers); why != "" {
			r.node.wrong("the rule %q %s", r.text, why)
		}
	}
}

func (l *loader) limits(n node) {
	lim := &l.config.Limits
	fields := map[string]*int{
		"steps": &lim.Steps, "tokens": &lim.Tokens, "mentionChars": &lim.MentionChars,
		"toolResultBytes": &lim.ToolResultBytes, "parallelTools": &lim.ParallelTools,
	}
	for _, m := range n.members() {
		to, known := fields[m.key]
		if !known {
			m.unknown("limits")
			continue
		}
		v, ok := m.count(1)
		switch {
		case !ok:
		case n.doc.layer == projectLayer && v > *to:
			m.wrong("a project's file can only lower a limit (%d); it is ignored", *to)
		default:
			*to = v
		}
	}
}

func (l *loader) decodeProvider(p member) Provider {
	out := Provider{Name: p.key, Headers: map[string]string{}, IdleTimeout: idleTimeout}
	x := l.expander(p.doc)
	preset := ""
	field := func(m member, to *string) {
		if s, ok := m.text(); ok {
			*to = x.expand(m.path, m.key, s)
		}
	}
	for _, m := range p.members() {
		switch m.key {
		case "preset":
			preset, _ = m.presetField()
		case "baseURL":
			field(m, &out.BaseURL)
		case "apiKey":
			field(m, &out.APIKey)
			l.secret(out.APIKey)
		case "model":
			field(m, &out.Model)
		case "contextWindow":
			set(&out.ContextWindow)(m.count(1))
		case "headers":
			for k, v := range m.textMap() {
				out.Headers[k] = x.expand(join(m.path, k), k, v)
			}
		case "extraBody":
			out.ExtraBody = rawMembers(m.node)
		case "idleTimeoutSeconds":
			if s, ok := m.seconds(); ok {
				out.IdleTimeout = duration(s)
			}
		default:
			m.unknown("providers.NAME")
		}
	}
	if out.Err = x.err; x.err != "" {
		l.faults[p.key] = x.fault(p.node)
	} else {
		l.preset(&out, preset)
	}
	maps.Copy(l.withheld, x.reads)
	if x.pending {
		l.config.Pending = true
	}
	return out
}

func rawMembers(n node) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, m := range n.members() {
		v := m.value.Clone()
		v.Minimize()
		out[m.key] = json.RawMessage(v.Pack())
	}
	return out
}

// idleTimeout is how long a provider may be silent where nothing else is said.
const idleTimeout = 120 * time.Second

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func (l *loader) secret(values ...string) {
	if l.source.Secrets != nil {
		l.source.Secrets.Add(values...)
	}
}

// finish settles what depends on all layers.
func (l *loader) finish() Config {
	c := &l.config
	l.checkRules()
	c.presets = l.unconfigured()
	c.Provider = l.choose()
	if fault, wrong := l.faults[c.Provider.Name]; wrong && c.Provider.Err != "" {
		l.problem(fault)
	}
	withheld := slices.Sorted(maps.Keys(l.withheld))
	for _, name := range slices.Sorted(maps.Keys(l.servers)) {
		server := l.servers[name]
		server.Withheld = withheld
		c.Servers = append(c.Servers, server)
	}
	l.files.loaded()
	return *c
}

// choose gives the provider in force: the named one, the only one, the one of
// the environment's OPENAI_API_KEY, else offline.
func (l *loader) choose() Provider {
	names := slices.Sorted(maps.Keys(l.config.Providers))
	name := l.provider
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	p, known := l.config.Providers[name]
	switch {
	case known:
	case name == Offline:
		return Provider{Name: Offline}
	case name != "":
		if k, is := presetOf(name); is && l.adopt(k) {
			p = l.config.Providers[k.Name]
			break
		}
		return Provider{Name: name, Err: fmt.Sprintf("the provider %q is not configured; known are %s, and the presets %s", name, list(append(names, Offline)), list(presetNames()))}
	case len(names) > 1:
		return Provider{Err: fmt.Sprintf(`several providers are configured and none is chosen; set "provider" to one of %s`, list(names))}
	default:
		k, _ := presetOf(openAI)
		if l.source.variable(openAIKey) == "" || !l.adopt(k) {
			l.config.Unset = true
			return Provider{Name: Offline}
		}
		p = l.config.Providers[k.Name]
	}
	return p.usable()
}

// adopt takes a preset that is chosen by its name alone as if it were
// configured; false: something else has that name.
func (l *loader) adopt(k KnownProvider) bool {
	if _, taken := l.config.Providers[k.Name]; taken {
		return false
	}
	p := Provider{Name: k.Name, IdleTimeout: idleTimeout}
	l.preset(&p, "")
	l.config.Providers[p.Name] = p
	delete(l.config.presets, p.Name)
	return true
}

func list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, ", ")
}
