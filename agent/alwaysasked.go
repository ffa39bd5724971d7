package agent

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// writers are the built-in tools that change files.
//
//nolint:gochecknoglobals // a constant table
var writers = map[string]bool{"write_file": true, "edit_file": true}

// alwaysAsked says why a write is asked about whatever allows it (CONTRACT §7),
// "" for one that need not be: what it changes decides what runs, or what the
// agent is told. Paths are looked at as they are given and as they are.
func (a *Agent) alwaysAsked(in folders, name string, at *place) string {
	if at == nil {
		return quote(name) + " leads outside the workspace, or cannot be told"
	}
	for _, f := range in {
		for _, root := range []string{f.given, f.real} {
			for _, abs := range []string{at.abs, at.real} {
				if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) && protectedPath(rel) {
					return quote(at.shown) + " decides what runs or what the agent is told"
				}
			}
		}
	}
	if a.isOwn(at.abs) || a.isOwn(at.real) {
		return quote(at.shown) + " is agentls' own"
	}
	for _, abs := range []string{at.abs, at.real} {
		for dir, name := filepath.Dir(abs), filepath.Base(abs); len(dir) >= len(at.root) && name != "."; dir, name = filepath.Dir(dir), filepath.Base(dir) {
			if isGitDir(dir, name) {
				return quote(at.shown) + " is in a git directory"
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return ""
}

// isOwn reports whether a path is agentls' configuration or state.
func (a *Agent) isOwn(abs string) bool {
	return slices.ContainsFunc(a.own, func(own string) bool { return below(own, abs) || below(realPath(own), abs) })
}

// protectedPath reports whether a relative path is, or is in, what is always
// asked about, at any depth: a nested project is a project.
func protectedPath(rel string) bool {
	parts := strings.Split(filepath.ToSlash(rel), "/")
	return slices.ContainsFunc(parts, func(part string) bool {
		name := diskName(part)
		for _, dir := range []string{".agentls", ".vscode", ".git", ".mcp.json", "agents.md"} {
			if strings.EqualFold(name, dir) {
				return true
			}
		}
		return len(name) >= len(documentSuffix) && strings.EqualFold(name[len(name)-len(documentSuffix):], documentSuffix) ||
			runtime.GOOS == "windows" && shortName(name)
	})
}

// documentSuffix ends the names of prompt buffers.
const documentSuffix = ".agentls.md"

// diskName is the name that file systems may take a name for: some pass over
// characters that are not seen, dots and spaces at the end, and what follows
// a colon.
func diskName(name string) string {
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune {
		if Unseen(r) {
			return -1
		}
		return r
	}, name)
	return strings.TrimRight(name, ". ")
}

// shortName reports a name as GIT~1, which Windows makes of longer ones.
func shortName(name string) bool {
	_, n, ok := strings.Cut(name, "~")
	return ok && n != "" && n[0] >= '0' && n[0] <= '9'
}

// below reports whether a path is a directory or below it, in any case of
// letters.
func below(dir, abs string) bool {
	dir, abs = strings.ToLower(filepath.Clean(dir)), strings.ToLower(abs)
	rel, err := filepath.Rel(dir, abs)
	return err == nil && filepath.IsLocal(rel)
}

// realPath resolves links as far as a path exists.
func realPath(abs string) string {
	if real, err := resolveLinks(abs); err == nil {
		return real
	}
	return abs
}

// isGitDir reports whether a directory is a repository's or a work tree's git
// directory, whatever its name, or would be with one more entry: hooks and
// configuration in it run.
func isGitDir(dir, more string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil || strings.EqualFold(name, more)
	}
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// changes are programs that change the files that they are given.
//
//nolint:gochecknoglobals // a constant table
var changers = map[string]bool{
	"cp": true, "mv": true, "rm": true, "ln": true, "tee": true, "sed": true, "dd": true, "install": true, "touch": true, "truncate": true, "chmod": true,
	"chown": true, "mkdir": true, "rmdir": true, "rsync": true, "scp": true, "patch": true, "curl": true, "wget": true, "tar": true, "unzip": true, "perl": true,
	"python": true, "python3": true, "node": true, "ruby": true, "awk": true, "gawk": true, "ed": true, "ex": true, "vi": true, "vim": true, "shred": true, "unlink": true,
}

// maxTargets is how many words of a command are looked at for what they name.
const maxTargets = 1000

// changesProtected says why a command is asked about whatever allows it: its
// redirects, or the arguments of a program that changes files, name what is
// always asked about, "" for nothing. Names count from where the command runs
// and from where it says that it goes. What other programs do is not known.
func (a *Agent) changesProtected(r *run, c *command, cwd string) string {
	t := targets{a: a, folders: r.folders(), host: r.task.Host}
	t.goTo(cwd)
	for _, part := range c.parts {
		if name := programName(part[0].text); name == "cd" || name == "pushd" {
			for _, w := range part[1:] {
				t.goTo(w.text)
			}
		}
	}
	for _, w := range c.writes {
		if why := t.written(w); why != "" {
			return why
		}
	}
	for _, part := range c.parts {
		if !part[0].literal || !changers[programName(part[0].text)] {
			continue
		}
		for _, w := range part[1:] {
			if why := t.argument(w); why != "" {
				return why
			}
		}
	}
	return ""
}

// targets judges the names in a command.
type targets struct {
	a       *Agent
	folders folders
	host    Host
	bases   []place // where names may count from
	seen    int
}

// goTo takes a directory from which names may count, as run_command finds it.
func (t *targets) goTo(dir string) {
	if at, err := commandPlace(t.folders, t.host, dir); err == nil && len(t.bases) < 10 {
		t.bases = append(t.bases, at)
	}
}

// written judges the target of a redirect.
func (t *targets) written(w shellWord) string {
	switch {
	case w.literal && (w.text == "/dev/null" || w.text == "/dev/stdout" || w.text == "/dev/stderr" || w.text == "/dev/tty" || strings.HasPrefix(w.text, "/dev/fd/")):
		return ""
	case !w.literal:
		return "it cannot be told which file it writes"
	}
	for _, base := range t.bases {
		if why := t.name(base, w.text, true); why != "" {
			return why
		}
	}
	return ""
}

// argument judges an argument of a program that changes files, whose parts may
// be names.
func (t *targets) argument(w shellWord) string {
	if !w.literal && mayNameHidden(w.text) {
		return "it may change what " + quote(w.text) + " names"
	}
	for _, part := range strings.FieldsFunc(w.text, func(r rune) bool { return strings.ContainsRune("= \t\n'\":;,", r) }) {
		for _, base := range t.bases {
			if why := t.name(base, part, false); why != "" {
				return why
			}
		}
	}
	return ""
}

// name judges one name; outside: also whether it leads out of the workspace.
func (t *targets) name(base place, name string, outside bool) string {
	if t.seen++; t.seen > maxTargets {
		return "it names more files than are looked at"
	}
	abs := filepath.FromSlash(name)
	if rest, ok := strings.CutPrefix(abs, "~"+string(filepath.Separator)); ok {
		abs = filepath.Join(t.home(), rest)
	}
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(base.real, abs)
	}
	at, err := t.folders.contain(abs)
	switch {
	case protectedPath(name), t.a.isOwn(abs), err != nil && t.a.isOwn(realPath(abs)):
		return "it may change " + quote(name)
	case err == nil:
		if why := t.a.alwaysAsked(t.folders, name, &at); why != "" {
			return why
		}
	case outside:
		return t.a.alwaysAsked(t.folders, name, nil)
	}
	return ""
}

// home is the home directory of commands.
func (t *targets) home() string {
	for _, kv := range t.a.children.env {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			return home
		}
	}
	return ""
}

// mayNameHidden reports whether a word that expands may become a name that
// begins with a dot: patterns match that only where the dot is written.
func mayNameHidden(text string) bool {
	return strings.Contains(text, "{") || slices.ContainsFunc(strings.Split(text, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") && strings.ContainsAny(part, "*?[")
	})
}
