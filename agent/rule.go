package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Rules of approval.allow, ask and deny (CONTRACT §7):
//
//	rule     = server "/" tool | server "/*" | built-in [ "(" argument ")" ]
//	server   = a configured server's name, or workspace; it may hold slashes
//	tool     = the server's own name of the tool
//	argument = words | glob | host, as the built-in takes it
//
// words, of run_command: the leading words of a command, quoted as in a shell
// where they have to be, without any expansion or operator. An allow covers
// one simple command that begins with just these words, see [command]. A deny
// or an ask matches each simple command inside that has them, see
// [command.contains].
//
// glob, of read_file, list_dir, write_file and edit_file: a path below a
// workspace folder, see [globRegexp]; without a slash it is a name in any
// directory, and "src/" is "src/**". An allow has to match the whole path, as
// it is given and as it is with links resolved. A deny or an ask matches
// either, in any case of letters, and all below a directory that it matches.
//
// host, of web_fetch: a host or *.domain, which is every host below it. Ports
// do not count.
//
// Without an argument a built-in's name stands for every call of it; also then
// an allow of run_command covers one simple command only. What a deny or an
// ask says that cannot be understood, or cannot be told to apply, asks: see
// [match].

// argumentTools says what stands in the brackets of a built-in's rule.
//
//nolint:gochecknoglobals // a constant table
var argumentTools = map[string]string{
	"read_file": "glob", "list_dir": "glob", "write_file": "glob", "edit_file": "glob",
	"run_command": "words", "web_fetch": "host",
	"search_code": "", "read_result": "", findToolsName: "", submitPlanName: "", failStepName: "", submitReviewName: "",
}

// match is whether a rule applies to a call.
type match int

const (
	matchNo     match = iota
	matchUnsure       // it may: the call is asked about, whatever allows it
	matchYes
)

// CheckRule says what is wrong with a rule, "" for nothing. allow tells a rule
// that allows from one that asks or denies; servers are the names of all
// configured servers.
func CheckRule(text string, allow bool, servers []string) string {
	if text == workspaceServer+"/*" || slices.ContainsFunc(append(servers, workspaceServer), func(s string) bool {
		rest, ok := strings.CutPrefix(text, s+"/")
		return ok && rest != "" && (rest == "*" || !strings.ContainsAny(rest, "*?"))
	}) {
		return ""
	}
	name, argument, given, ok := cutRule(text)
	kind, known := argumentTools[name]
	switch {
	case known && !ok:
		return fmt.Sprintf("cannot be read: write %s or %s(…)", name, name)
	case known && !given:
		return ""
	case known && kind == "":
		return fmt.Sprintf("%s takes nothing in brackets", name)
	case known:
		return checkArgument(kind, argument, allow)
	case strings.Contains(text, "/"):
		return fmt.Sprintf("names no server that is configured here; rules are server/tool, server/* and built-in tools; the nearest are %s", nearest(text, servers))
	}
	return fmt.Sprintf("names no tool; rules are server/tool, server/* and built-in tools; the nearest are %s", nearest(name, servers))
}

// nearest lists what a mistyped rule may have meant.
func nearest(text string, servers []string) string {
	var names []string
	for name := range argumentTools {
		names = append(names, name)
	}
	for _, s := range append(slices.Clone(servers), workspaceServer) {
		names = append(names, s+"/*")
	}
	slices.Sort(names)
	return strings.Join(nearNames(text, names, 3), ", ")
}

func checkArgument(kind, argument string, allow bool) string {
	var err error
	switch kind {
	case "words":
		var words []string
		if words, err = ruleWords(argument); err == nil && allow {
			// A shell's name alone allows what it runs of files.
			if why := runsOthers(literals(words)); why != "" && (len(words) > 1 || !shells[programName(words[0])]) {
				return "allows nothing: " + why + ", and what that is cannot be told"
			}
		}
	case "glob":
		_, err = ruleGlob(argument)
	case "host":
		_, err = ruleHost(argument)
	}
	if err != nil {
		return "cannot be used: " + err.Error()
	}
	return ""
}

// cutRule parts a rule for a built-in tool. ok is false for brackets that do
// not close or are empty.
func cutRule(text string) (name, argument string, given, ok bool) {
	name, rest, given := strings.Cut(text, "(")
	if !given {
		return name, "", false, true
	}
	argument, closed := strings.CutSuffix(rest, ")")
	argument = strings.TrimSpace(argument)
	return name, argument, true, closed && argument != ""
}

// subject is a call as the rules look at it.
type subject struct {
	server, tool string
	servers      []string // all configured names
	// One of these is set, of a built-in that takes an argument in rules.
	command *command
	path    *callPath
	host    *callHost
}

// restricts returns the first rule of a list that applies for sure, else the
// first that may. It is for the lists that take away, ask and deny: in any
// reading, and in doubt.
func (s *subject) restricts(list []string) (rule string, how match) {
	for _, text := range list {
		switch m := s.restrictedBy(text); {
		case m == matchYes:
			return text, m
		case m > how:
			rule, how = text, m
		}
	}
	return rule, how
}

func (s *subject) restrictedBy(rule string) match {
	if s.server != "" {
		if s.named(rule) {
			return matchYes
		}
		return s.maybe(rule)
	}
	name, argument, given, ok := cutRule(rule)
	switch {
	case name != s.tool:
		return s.maybe(name)
	case !ok:
		return matchUnsure
	case !given:
		return matchYes
	case s.command != nil:
		return s.command.restrictedBy(argument)
	case s.path != nil:
		return s.path.restrictedBy(argument)
	case s.host != nil:
		return s.host.restrictedBy(argument)
	}
	return matchUnsure
}

// maybe reports whether a rule that does not name the tool may have been meant
// to: in another case, by a pattern that rules do not know, or with brackets
// that a server's tool does not take.
func (s *subject) maybe(rule string) match {
	own := s.tool
	if s.server != "" {
		own = s.server + "/" + s.tool
	}
	if strings.EqualFold(rule, own) || s.server != "" && strings.HasPrefix(rule, own+"(") {
		return matchUnsure
	}
	if !strings.ContainsAny(rule, "*?") || s.server == "" && strings.Contains(rule, "/") {
		return matchNo
	}
	pattern := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(rule))
	if re, err := regexp.Compile("(?is)^" + pattern + "$"); err != nil || re.MatchString(own) || re.MatchString(s.tool) {
		return matchUnsure
	}
	return matchNo
}

// allowedBy returns the first rule of a list that allows the call, read
// narrowly. "a/b/c" is the tool c of a server "a/b" if there is one, and no
// tool "b/c" of a server "a", or a server could take another's rules by its
// tools' names.
func (s *subject) allowedBy(list []string) (rule string, ok bool) {
	for _, text := range list {
		if s.allows(text) {
			return text, true
		}
	}
	return "", false
}

func (s *subject) allows(rule string) bool {
	if s.server != "" {
		return s.named(rule) && s.owner(rule) == s.server
	}
	name, argument, given, ok := cutRule(rule)
	switch {
	case name != s.tool || !ok:
		return false
	case s.command != nil:
		return s.command.allowedBy(argument)
	case !given:
		return true
	case s.path != nil:
		return s.path.allowedBy(argument)
	case s.host != nil:
		return s.host.allowedBy(argument)
	}
	return false
}

// named reports whether a rule names the server's tool.
func (s *subject) named(rule string) bool {
	return rule == s.server+"/"+s.tool || rule == s.server+"/*"
}

// owner returns the longest server name that a rule begins with.
func (s *subject) owner(rule string) string {
	owner := ""
	for _, name := range s.servers {
		if len(name) > len(owner) && strings.HasPrefix(rule, name+"/") {
			owner = name
		}
	}
	return owner
}
