package agent

import (
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"runtime"
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
	// forced: nothing that allows counts, and no answer is remembered.
	forced bool
	// changed: there is a remembered answer, for another definition.
	changed bool
	covers  coverage // what an answer that is remembered covers
	real    string   // the file or directory that was decided about, with links resolved; empty: none
	given   string   // the same, as the editor names it
}

// decide applies CONTRACT §7: deny wins over a remembered answer, over ask,
// over allow, over what is allowed from the start, over the default. What is
// always asked about is asked about where any of them would allow it.
func (a *Agent) decide(r *run, t *tool, args json.RawMessage) verdict {
	c := a.look(r, t, args)
	ap := r.task.Approval
	denies, how := c.restricts(ap.Deny)
	if how == matchYes {
		return verdict{action: actionDeny, by: "rule:" + denies, reason: "the rule " + quote(denies) + " denies it"}
	}
	v := verdict{action: actionAsk, by: "policy", reason: c.forced, forced: c.forced != "", real: c.real, given: c.given}
	asks, may := c.restricts(ap.Ask)
	switch {
	case v.forced:
	case how == matchUnsure:
		v.by, v.reason, v.forced = "rule:"+denies, "the rule "+quote(denies)+" may deny it, which cannot be told", true
	case may == matchUnsure:
		v.by, v.reason, v.forced = "rule:"+asks, "the rule "+quote(asks)+" may ask about it, which cannot be told", true
	}
	if !v.forced {
		v.covers = a.coverage(r, t, c)
		var remembered string
		remembered, v.changed = a.remembered(r, v.covers.allowance, t.definition)
		if remembered != "" {
			v.action, v.by, v.reason = actionAllow, "user", "allowed before, "+remembered
			return v
		}
	}
	if may == matchYes {
		v.by, v.reason = "rule:"+asks, "the rule "+quote(asks)+" asks"
		return v
	}
	if rule, ok := c.allowedBy(ap.Allow); ok {
		if !v.forced {
			v.action, v.by, v.reason = actionAllow, "rule:"+rule, "the rule "+quote(rule)+" allows it"
		}
		return v
	}
	return v.byDefault(t, c, ap.Default)
}

// byDefault decides where no rule and no person did.
func (v verdict) byDefault(t *tool, c *looked, def string) verdict {
	harmless := t.server == workspaceServer || t.server == "" && startAllowed[t.name]
	switch {
	case t.plan:
		v.reason = "a plan is carried out when the user accepts it"
	case harmless && c.secret.reason == "" && !v.forced:
		v.action, v.by, v.reason = actionAllow, "policy", "allowed from the start"
	case def == "deny" && !(harmless && v.forced):
		v.action, v.by, v.reason = actionDeny, "policy", "the default denies it"
	case v.forced:
	case c.secret.reason != "":
		v.reason = c.secret.reason
	case def == "allow":
		v.action, v.reason = actionAllow, "the default allows it"
	case t.readOnly:
		v.action, v.reason = actionAllow, "its server, whose annotations are trusted, says that it only reads"
	case c.command != nil && c.command.words == nil:
		v.reason = "no rule can allow it: " + c.command.why
	default:
		v.reason = "no rule allows it"
	}
	return v
}

// looked is a call with all that the policy has to know of its arguments.
type looked struct {
	subject
	forced string // why it is asked about whatever allows it; empty: it need not be
	secret exposure
	real   string // as in verdict
	given  string // likewise
}

// look reads a call's arguments, each as its tool decodes it and no further:
// an argument that the tool does not know must not decide, of whatever type it
// is. What cannot be decoded the tool refuses.
func (a *Agent) look(r *run, t *tool, args json.RawMessage) *looked {
	c := &looked{subject: subject{server: t.server, tool: t.name}, secret: a.exposes(r, t, args)}
	for _, s := range a.manager.Servers() {
		c.servers = append(c.servers, s.Name)
	}
	if t.server != "" {
		return c
	}
	switch argumentTools[t.name] {
	case "glob":
		var in struct {
			Path string `json:"path"`
		}
		refused := json.Unmarshal(args, &in) != nil
		all := r.folders()
		at, err := all.resolve(in.Path, r.task.Host)
		found := &at
		if c.real, c.given = at.real, at.abs; err != nil {
			found = nil
		}
		c.path = all.callPathOf(in.Path, found)
		if writers[t.name] && !refused {
			c.forced = a.alwaysAsked(all, in.Path, found)
		}
	case "words":
		var in struct {
			Command string `json:"command"`
			Cwd     string `json:"cwd"`
		}
		_ = json.Unmarshal(args, &in) // an empty one is allowed by no rule
		c.command = readCommand(in.Command, runtime.GOOS != "windows")
		c.forced = a.changesProtected(r, c.command, in.Cwd)
		if at, err := commandPlace(r.folders(), r.task.Host, in.Cwd); err == nil {
			c.real, c.given = at.real, at.abs
		}
	case "host":
		var in struct {
			URL string `json:"url"`
		}
		_ = json.Unmarshal(args, &in) // likewise
		c.host = callHostOf(in.URL)
	}
	return c
}

// unclear is the error of a call whose path may be in several folders: nobody
// is asked about a file that cannot be told.
func (r *run) unclear(t *tool, args json.RawMessage) error {
	var in struct {
		Path string `json:"path"`
	}
	if t.server != "" || argumentTools[t.name] != "glob" {
		return nil
	}
	_ = json.Unmarshal(args, &in) // what cannot be decoded the tool refuses
	if filepath.Clean(in.Path) == "." {
		return nil // list_dir tells the folders
	}
	if _, err := r.folders().resolve(in.Path, r.task.Host); errors.Is(err, errAmbiguous) {
		return err
	}
	return nil
}

// startAllowed are the built-in tools that read the workspace, or nothing, and change
// nothing.
//
//nolint:gochecknoglobals // a constant table
var startAllowed = map[string]bool{"read_file": true, "list_dir": true, "search_code": true, readResultName: true, findToolsName: true, submitReviewName: true, failStepName: true}

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

// exposure is why a call that reads is asked about all the same.
type exposure struct {
	path   string
	reason string // empty: it exposes nothing
}

// exposes looks at what a reading call would read: ignored files and those
// that hold secrets are asked about (CONTRACT §7).
func (a *Agent) exposes(r *run, t *tool, args json.RawMessage) exposure {
	switch { // as look decodes them
	case t.server == "" && (t.name == "read_file" || t.name == "list_dir"):
		var in struct {
			Path string `json:"path"`
		}
		if json.Unmarshal(args, &in) != nil {
			return exposure{} // the tool refuses them
		}
		at, err := r.folders().resolve(in.Path, r.task.Host)
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
	all := r.folders()
	for _, rel := range []string{unescape(rest), unescape(below)} {
		for _, f := range all {
			if rel == "" {
				continue
			}
			abs := filepath.Join(f.given, filepath.FromSlash(rel))
			paths = append(paths, abs)
			if at, err := all.resolve(abs, r.task.Host); err == nil {
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
