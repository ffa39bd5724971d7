package agent

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
)

// writers are the built-in tools that change files.
//
//nolint:gochecknoglobals // a constant table
var writers = map[string]bool{"write_file": true, "edit_file": true}

// alwaysAsked says why a write is asked about whatever allows it (CONTRACT §7),
// "" for one that need not be: what it changes decides what runs, or what the
// agent is told. Paths are looked at as they are given and as they are.
func (a *Agent) alwaysAsked(r *run, name string, at *place) string {
	if at == nil {
		return quote(name) + " leads outside the workspace, or cannot be told"
	}
	for _, f := range r.folders {
		for _, root := range []string{f.given, f.real} {
			for _, abs := range []string{at.abs, at.real} {
				if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) && protectedPath(rel) {
					return quote(at.shown) + " decides what runs or what the agent is told"
				}
			}
		}
	}
	for _, own := range a.own {
		for _, dir := range []string{own, realPath(own)} {
			if below(dir, at.abs) || below(dir, at.real) {
				return quote(at.shown) + " is agentls' own"
			}
		}
	}
	for _, abs := range []string{at.abs, at.real} {
		for dir := filepath.Dir(abs); len(dir) >= len(at.root); dir = filepath.Dir(dir) {
			if isGitDir(dir) {
				return quote(at.shown) + " is in a git directory"
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return ""
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
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
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
// directory, whatever its name: hooks and configuration in it run.
func isGitDir(dir string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
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

// changesProtected says why a simple command that is allowed is asked about
// all the same: its arguments name a file that is always asked about, and its
// program is one that changes files. What other programs do is not known.
func (a *Agent) changesProtected(r *run, words []shellWord, cwd string) string {
	if !changers[programName(words[0].text)] {
		return ""
	}
	base := cwd
	if len(r.folders) > 0 && !filepath.IsAbs(cwd) {
		base = filepath.Join(r.folders[0].given, cwd)
	}
	for _, w := range words[1:] {
		for _, part := range strings.FieldsFunc(w.text, func(r rune) bool { return strings.ContainsRune("= \t\n'\":;,", r) }) {
			abs := part
			if !filepath.IsAbs(part) {
				part, abs = filepath.Join(cwd, part), filepath.Join(base, part)
			}
			if protectedPath(part) || slices.ContainsFunc(a.own, func(own string) bool { return below(own, abs) }) {
				return "it may change " + quote(part)
			}
		}
	}
	return ""
}
