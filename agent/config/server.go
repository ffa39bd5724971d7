package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"agentls/mcp"
)

// reserved is the embedded server's name.
const reserved = "workspace"

// mcpServers reads a map of servers, each taken whole by its name.
func (l *loader) mcpServers(n node, folder string) {
	for _, m := range n.members() {
		if n.doc.layer == projectLayer {
			if l.projectServers++; l.projectServers > maxProjectServers {
				m.wrongKey("a folder may bring %d servers; this one and those after it are ignored", maxProjectServers)
				return
			}
		}
		c, ok := l.decodeServer(m, folder)
		if !ok {
			continue
		}
		old, exists := l.servers[m.key]
		switch {
		case m.key == reserved:
			m.wrongKey("the name %q is reserved for the embedded server; it is ignored", reserved)
		case m.key == "":
			m.wrongKey("a server needs a name")
		case exists && c.Project && !old.Project:
			m.wrongKey("a server of this name is in the user's configuration; the project's is not started")
		case exists && c.Project && old.Fingerprint != c.Fingerprint:
			m.wrongKey("a server of this name is also in %s, which counts", old.Source)
		case exists && c.Project:
		default:
			l.servers[m.key] = c
		}
	}
}

// raw is a server as it is written, before anything is expanded. Its JSON is
// what the fingerprint is taken over, so a field that decides what starts
// belongs into it.
type raw struct {
	Folder  string            `json:"folder"`
	File    string            `json:"file"`
	Key     string            `json:"key"`
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Cwd     string            `json:"cwd"`
	Env     map[string]string `json:"env"`
	EnvFile string            `json:"envFile"`
	EnvSum  string            `json:"envSum,omitempty"` // SHA-256 of what stands in it: a PATH decides what starts
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`

	// Not the project's to say, so nothing that trust is asked for.
	oauth   *mcp.OAuthConfig
	oauthAt member
}

func (r raw) fingerprint() string {
	b, err := json.Marshal(r) // maps are sorted by key
	if err != nil {
		panic(err) // strings only
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// decodeServer reads one server. ok is false when it cannot be one at all.
func (l *loader) decodeServer(m member, folder string) (mcp.ServerConfig, bool) {
	d := m.doc
	c := mcp.ServerConfig{
		Name: m.key, Folder: folder, Source: d.file, Project: d.layer == projectLayer,
		Timeout: mcp.DefaultTimeout, StartupTimeout: mcp.DefaultStartupTimeout, Protocol: "auto",
	}
	if d.layer == editorLayer {
		c.Source = "editor"
	}
	if folder == "" && len(l.request.Folders) > 0 {
		c.Folder = l.request.Folders[0]
	}
	r := raw{Folder: folder, File: d.file, Key: m.key}
	if m.value.Value.Kind() != '{' {
		m.disables("a server must be an object")
		return c, false
	}
	for _, f := range m.members() {
		if !serverField(f, &c, &r) && !d.foreign {
			f.unknown("mcpServers.NAME")
		}
	}
	switch {
	case r.Type != "":
	case r.URL != "":
		r.Type = "http"
	case r.Command != "":
		r.Type = "stdio"
	}
	switch {
	case r.Type == "stdio" && r.Command == "":
		m.disables("a stdio server needs a command")
		return c, false
	case r.Type != "stdio" && r.URL == "":
		m.disables("a server needs a command or a url")
		return c, false
	}
	c.Type = r.Type
	r.onlyWhatCounts(m)
	c.Shown = mcp.Definition{Command: r.Command, Args: r.Args, Cwd: r.Cwd, Env: r.Env, EnvFile: r.EnvFile, URL: r.URL, Headers: r.Headers}
	ready := l.expandServer(m, &r, &c)
	c.Fingerprint = r.fingerprint()
	return c, ready
}

// onlyWhatCounts drops the fields of the other kind of server: the question of
// trust is to show what starts, and nothing beside it.
func (r *raw) onlyWhatCounts(m member) {
	var dropped []string
	if r.Type == "stdio" {
		if r.URL != "" || len(r.Headers) > 0 || r.oauth != nil {
			dropped = []string{"url", "headers", "oauth"}
		}
		r.URL, r.Headers, r.oauth = "", nil, nil
	} else {
		if r.Command != "" || len(r.Args) > 0 {
			dropped = []string{"command", "args"}
		}
		r.Command, r.Args, r.Cwd, r.Env, r.EnvFile = "", nil, "", nil, ""
	}
	for _, f := range m.members() {
		if slices.Contains(dropped, f.key) {
			f.wrongKey("passed over: the type of this server is %q", r.Type)
		}
	}
}

// serverField reads one field; false for one that we do not know.
func serverField(f member, c *mcp.ServerConfig, r *raw) bool {
	switch f.key {
	case "type":
		if t, ok := f.choice("stdio", "http", "streamable-http", "streamableHttp", "sse"); ok {
			if strings.HasPrefix(t, "streamable") {
				t = "http"
			}
			r.Type = t
		}
	case "command":
		set(&r.Command)(f.text())
	case "args":
		r.Args = f.texts()
	case "env":
		r.Env = f.textMap()
	case "envFile":
		set(&r.EnvFile)(f.text())
	case "cwd":
		set(&r.Cwd)(f.text())
	case "url":
		set(&r.URL)(f.text())
	case "headers":
		r.Headers = f.textMap()
	case "oauth":
		oauthField(f, r)
	case "disabled":
		set(&c.Disabled)(f.truth())
	case "inheritEnv":
		userOnly(f, &c.InheritEnv)
	case "trustAnnotations":
		userOnly(f, &c.TrustAnnotations)
	case "sampling":
		if f.doc.layer == projectLayer {
			f.wrong("a project's file cannot allow sampling; it is ignored")
			return true
		}
		set(&c.Sampling)(f.truth())
	case "timeoutSeconds":
		if s, ok := f.seconds(); ok {
			c.Timeout = duration(s)
		}
	case "startupTimeoutSeconds":
		if s, ok := f.seconds(); ok {
			c.StartupTimeout = duration(s)
		}
	case "protocol":
		set(&c.Protocol)(f.choice("auto", "legacy", "modern"))
	case "enabledTools":
		c.EnabledTools = f.texts()
	case "disabledTools":
		c.DisabledTools = f.texts()
	default:
		return false
	}
	return true
}

// userOnly reads a switch that widens what a server gets.
func userOnly(f member, to *bool) {
	v, ok := f.truth()
	if ok && v && f.doc.layer != userLayer {
		f.wrong("counts in the user's files only; it is ignored")
		return
	}
	set(to)(v, ok)
}

// expandServer fills the expanded fields, or Err. It is false for a server
// that must wait until commands may run.
func (l *loader) expandServer(m member, r *raw, c *mcp.ServerConfig) bool {
	x := l.expander(m.doc)
	x.inputs = map[string]mcp.Input{}
	at := func(field string) string { return join(m.path, field) }
	c.Command = x.expand(at("command"), "", r.Command)
	for i, a := range r.Args {
		c.Args = append(c.Args, x.expand(fmt.Sprintf("%s[%d]", at("args"), i), "", a))
	}
	c.Env = map[string]string{}
	if r.EnvFile != "" {
		r.EnvSum = l.envFile(x, at("envFile"), r.EnvFile, c)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Env)) {
		c.Env[k] = x.expand(join(at("env"), k), k, r.Env[k])
	}
	c.Headers = map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(r.Headers)) {
		c.Headers[k] = x.expand(join(at("headers"), k), k, r.Headers[k])
	}
	c.URL = x.expand(at("url"), "", r.URL)
	c.OAuth = x.oauth(r)
	c.Cwd = x.expand(at("cwd"), "", r.Cwd)
	// Where an input is part of it mcp joins it, once it is known.
	if c.Cwd != "" && !filepath.IsAbs(c.Cwd) && !strings.Contains(c.Cwd, "${input:") {
		c.Cwd = filepath.Join(c.Folder, c.Cwd)
	}
	c.Reads = slices.Sorted(maps.Keys(x.reads))
	for _, id := range slices.Sorted(maps.Keys(x.inputs)) {
		c.Inputs = append(c.Inputs, x.inputs[id])
	}
	c.Err = x.err
	switch {
	case x.pending:
		l.config.Pending = true
		l.config.Waiting = append(l.config.Waiting, *c)
	case x.err != "" && !c.Disabled && m.doc.tells():
		m.doc.problem(x.fault(m.node))
	}
	return !x.pending
}

// envFile adds the variables of a file of NAME=value lines, VS Code's field,
// and returns the SHA-256 (hex) of its text.
func (l *loader) envFile(x *expander, path, name string, c *mcp.ServerConfig) string {
	inputs := x.inputs
	x.inputs = nil // the file is read before anybody is asked
	name = x.expand(path, "", name)
	x.inputs = inputs
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.Folder, name)
	}
	if x.doc.layer == projectLayer && l.projectEnv > maxProjectEnv {
		x.fail(path, "the env files of this folder's servers are larger than %d bytes in all", maxProjectEnv)
		return ""
	}
	text, err := l.files.read(filepath.Clean(name))
	if err != nil {
		x.fail(path, "cannot be read: %v", err)
		return ""
	}
	if x.doc.layer == projectLayer {
		l.projectEnv += len(text)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, v, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if !ok {
			continue
		}
		k, v = strings.TrimSpace(k), strings.TrimSpace(v)
		if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
			v = v[1 : len(v)-1]
		}
		c.Env[k] = v
		if mcp.IsSecretKey(k) && x.doc.layer != projectLayer {
			l.secret(v)
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
