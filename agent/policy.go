package agent

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"agentls/mcp/workspace"
)

// action is what the policy says about a call.
type action string

const (
	actionAllow action = "allow"
	actionAsk   action = "ask"
	actionDeny  action = "deny"
)

// verdict is a decision and what decided it.
type verdict struct {
	action action
	by     string // "rule:<text>", "policy", "user" for a remembered answer
	reason string
	// changed: there is a remembered answer, for another definition.
	changed bool
	covers  allowance // what an answer that is remembered covers
}

// decide applies CONTRACT §7: deny wins over a remembered answer, over ask,
// over allow, over what is allowed from the start, over the default.
func (a *Agent) decide(r *run, t *tool, args json.RawMessage) verdict {
	servers := a.manager.Servers()
	rules := rules{server: t.server, tool: t.name}
	covers := allowance{Folder: r.t.Folder, Server: t.server, Tool: t.name}
	for _, s := range servers {
		rules.servers = append(rules.servers, s.Name)
		if s.Name == t.server {
			covers.Fingerprint = s.Fingerprint
		}
	}
	if t.virtual {
		covers.Tool += " (resources)" // the server may have a tool of the same name
	}
	secret := a.exposes(r, t, args)
	if secret.reason != "" {
		covers.Tool += "(" + secret.path + ")" // an answer about one secret is none about another
	}
	if rule, ok := rules.denies(r.t.Approval.Deny); ok {
		return verdict{action: actionDeny, by: "rule:" + rule, reason: "the rule " + quote(rule) + " denies it"}
	}
	how, changed := a.remembered(r, covers, t.definition)
	v := verdict{action: actionAsk, covers: covers, changed: changed}
	if how != "" {
		v.action, v.by, v.reason = actionAllow, "user", "allowed before, "+how
		return v
	}
	if rule, ok := rules.matches(r.t.Approval.Ask); ok {
		v.by, v.reason = "rule:"+rule, "the rule "+quote(rule)+" asks"
		return v
	}
	if rule, ok := rules.matches(r.t.Approval.Allow); ok {
		v.action, v.by, v.reason = actionAllow, "rule:"+rule, "the rule "+quote(rule)+" allows it"
		return v
	}
	return v.byDefault(t, secret, r.t.Approval.Default)
}

// byDefault decides where no rule and no person did.
func (v verdict) byDefault(t *tool, secret exposure, def string) verdict {
	v.by = "policy"
	harmless := t.server == workspaceServer || t.server == "" && startAllowed[t.name]
	switch {
	case harmless && secret.reason == "":
		v.action, v.reason = actionAllow, "allowed from the start"
	case def == "deny":
		v.action, v.reason = actionDeny, "the default denies it"
	case secret.reason != "":
		v.reason = secret.reason
	case def == "allow":
		v.action, v.reason = actionAllow, "the default allows it"
	default:
		v.reason = "no rule allows it"
	}
	return v
}

// startAllowed are the built-in tools that read the workspace and change
// nothing.
//
//nolint:gochecknoglobals // a constant table
var startAllowed = map[string]bool{"read_file": true, "list_dir": true, "search_code": true, readResultName: true}

// Unasked gives the rules that let tools of a server run without a question.
// They name it by its name alone, so a server that comes with a project may
// take the name that a rule was made for: who is asked to trust it is told.
func (a Approval) Unasked(server string) (list []string) {
	for _, rule := range a.Allow {
		if strings.HasPrefix(rule, server+"/") {
			list = append(list, rule)
		}
	}
	return list
}

// rules matches the texts of rules against one tool.
type rules struct {
	server, tool string
	servers      []string // all configured names
}

// denies returns the first rule that names the tool in any reading.
func (m rules) denies(list []string) (string, bool) {
	for _, rule := range list {
		if m.names(rule) {
			return rule, true
		}
	}
	return "", false
}

// matches returns the first rule that names the tool. "a/b/c" is the tool c
// of a server "a/b" if there is one, and no tool "b/c" of a server "a", or a
// server could take another's rules by its tools' names. A rule of a form
// that is not known here matches nothing.
func (m rules) matches(list []string) (string, bool) {
	for _, rule := range list {
		if m.names(rule) && m.owner(rule) == m.server {
			return rule, true
		}
	}
	return "", false
}

func (m rules) names(rule string) bool {
	if m.server == "" {
		return rule == m.tool
	}
	return rule == m.server+"/"+m.tool || rule == m.server+"/*"
}

// owner returns the longest server name that a rule begins with.
func (m rules) owner(rule string) string {
	owner := ""
	for _, name := range m.servers {
		if len(name) > len(owner) && strings.HasPrefix(rule, name+"/") {
			owner = name
		}
	}
	return owner
}

// exposure is why a call that reads is asked about all the same.
type exposure struct {
	path   string
	reason string // empty: it exposes nothing
}

// exposes looks at what a reading call would read: ignored files and those
// that hold secrets are asked about (CONTRACT §7).
func (a *Agent) exposes(r *run, t *tool, args json.RawMessage) exposure {
	// Each is decoded as its tool does it and no further: an argument that the
	// tool does not know must not decide, of whatever type it is.
	switch {
	case t.server == "" && (t.name == "read_file" || t.name == "list_dir"):
		var in struct {
			Path string `json:"path"`
		}
		if json.Unmarshal(args, &in) != nil {
			return exposure{} // the tool refuses them
		}
		at, err := r.folders.resolve(in.Path, r.t.Host)
		if err != nil {
			return exposure{} // likewise
		}
		return a.exposesPath(at.shown, t.name == "list_dir", at.abs, at.real)
	case t.server == workspaceServer && t.virtual && t.name == "read_resource":
		var in struct {
			URI string `json:"uri"`
		}
		if json.Unmarshal(args, &in) != nil {
			return exposure{} // likewise
		}
		return a.exposesURI(r, in.URI)
	}
	return exposure{}
}

// exposesPath judges one file by each of its absolute paths.
func (a *Agent) exposesPath(shown string, dir bool, paths ...string) exposure {
	if slices.ContainsFunc(paths, workspace.SecretName) {
		return exposure{shown, quote(shown) + " may hold secrets"}
	}
	for _, p := range paths {
		if a.ignored(p, dir) {
			return exposure{shown, quote(shown) + " is ignored by the project's ignore rules"}
		}
	}
	return exposure{}
}

// exposesURI judges a URI of the embedded server: file://<path>, or
// file://<folder name>/<path> where there are several folders, and the same
// behind diagnostics:// (CONTRACT §9). A diff leaves out what is asked about.
func (a *Agent) exposesURI(r *run, uri string) exposure {
	rest, ok := strings.CutPrefix(uri, "file://")
	if !ok {
		rest, ok = strings.CutPrefix(uri, "diagnostics://")
	}
	if !ok {
		return exposure{}
	}
	_, below, _ := strings.Cut(rest, "/")
	var paths []string
	for _, rel := range []string{unescape(rest), unescape(below)} {
		for _, f := range r.folders {
			if rel == "" {
				continue
			}
			abs := filepath.Join(f.given, filepath.FromSlash(rel))
			paths = append(paths, abs)
			if at, err := r.folders.resolve(abs, r.t.Host); err == nil {
				paths = append(paths, at.real)
			}
		}
	}
	return a.exposesPath(uri, false, append(paths, "/"+unescape(rest))...)
}

func unescape(part string) string {
	if plain, err := url.PathUnescape(part); err == nil {
		return plain
	}
	return part
}

func quote(s string) string { return `"` + oneLine(s, 200) + `"` }
