package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	diffPrefix = "git://diff/"
	diffMIME   = "text/x-diff"
	unstaged   = "unstaged"
	staged     = "staged"
	// gitTimeout bounds all that git does for one read.
	gitTimeout = 10 * time.Second
)

// parseDiff is the word behind git://diff/.
func parseDiff(uri string) (word string, ok bool) {
	word, ok = strings.CutPrefix(uri, diffPrefix)
	return word, ok && (word == unstaged || word == staged)
}

// section is what is shown of one repository.
type section struct {
	top     string // where its .git is
	folders []*folder
}

// sections finds the repositories of the trusted folders, and the folders that
// are in one and not trusted. It runs no git.
func (s *State) sections() (list []section, untrusted []*folder) {
	for _, f := range s.roots() {
		top, ok := repositoryOf(f.ignore.place().real)
		switch {
		case !ok:
		case !f.trusted:
			untrusted = append(untrusted, f)
		default:
			i := slices.IndexFunc(list, func(have section) bool { return have.top == top })
			if i < 0 {
				i, list = len(list), append(list, section{top: top})
			}
			list[i].folders = append(list[i].folders, f)
		}
	}
	// What lies in a trusted folder is trusted with it.
	untrusted = slices.DeleteFunc(untrusted, func(f *folder) bool {
		return slices.ContainsFunc(list, func(one section) bool { return one.holds(f) })
	})
	return list, untrusted
}

// holds reports whether a folder is in one of the section's, in the same
// repository.
func (one section) holds(f *folder) bool {
	top, _ := repositoryOf(f.ignore.place().real)
	return top == one.top && slices.ContainsFunc(one.folders, func(outer *folder) bool {
		_, ok := within(outer.ignore.place().real, f.ignore.place().real)
		return ok
	})
}

// repositoryOf finds the directory at or above dir that holds a .git.
func repositoryOf(dir string) (top string, ok bool) {
	for top = dir; ; top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			return top, true
		}
		if top == filepath.Dir(top) {
			return "", false
		}
	}
}

// gitDirOf is the directory that a .git is or, in a worktree or a submodule,
// names.
func gitDirOf(top string) string {
	at := filepath.Join(top, ".git")
	text := readRules(at) // nil for a directory
	if rest, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:"); ok {
		if at = filepath.FromSlash(strings.TrimSpace(rest)); !filepath.IsAbs(at) {
			at = filepath.Join(top, at)
		}
	}
	return filepath.Clean(at)
}

// gitState are the files of a git directory that say that the index or HEAD is
// another one. logs/HEAD is the only one that a soft reset writes.
//
//nolint:gochecknoglobals // a constant table
var gitState = []string{"index", "HEAD", "ORIG_HEAD"}

// diffEntries are the listed resources.
func diffEntries() []entry {
	return []entry{
		{uri: diffPrefix + staged, name: "staged changes (git diff --cached)"},
		{uri: diffPrefix + unstaged, name: "unstaged changes (git diff)"},
	}
}

// diff answers with the changes of each repository.
func (s *Server) diff(ctx context.Context, uri, word string) (contents, error) {
	list, untrusted := s.state.sections()
	switch {
	case s.git.path == "":
		return contents{}, notFound(uri, "git is not in PATH")
	case len(list) == 0 && len(untrusted) > 0:
		s.state.wantTrust()
		return contents{}, refused(uri, "the folder is not trusted, and git is not run in it before it is")
	case len(list) == 0:
		return contents{}, notFound(uri, "no workspace folder is in a git repository")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.gitTimeout, fmt.Errorf("git has not ended after %v", s.gitTimeout))
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(s.life, func() { end(errClosed) })()
	var b strings.Builder
	for _, one := range list {
		text, err := s.diffOf(ctx, one, word == staged)
		head := len(list) > 1 || len(one.folders) > 1 || len(untrusted) > 0
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
			if _, ok := errors.AsType[*Error](err); ok || errors.Is(err, context.Canceled) {
				return contents{}, err
			}
			return contents{}, refused(uri, err.Error())
		case err != nil && !head:
			return contents{}, refused(uri, err.Error())
		case err != nil:
			text = "[" + onOneLine(err.Error()) + "]\n"
		}
		if head {
			fmt.Fprintf(&b, "### %s\n", names(one.folders))
		}
		b.WriteString(text)
	}
	if unsaved := s.unsaved(); word == unstaged && len(unsaved) > 0 {
		fmt.Fprintf(&b, "[unsaved, so not as the editor has them: %s]\n", strings.Join(unsaved, ", "))
	}
	if len(untrusted) > 0 {
		s.state.wantTrust()
		fmt.Fprintf(&b, "[not shown, as the folder is not trusted: %s]\n", names(untrusted))
	}
	return editorText(uri, b.String(), diffMIME)
}

// unsaved names the files whose text in the editor differs from what git sees.
func (s *Server) unsaved() (list []string) {
	several := len(s.state.roots()) > 1
	for _, path := range s.state.dirty() {
		if f, rel, ok := s.state.folderOf(path); ok && f.trusted && s.state.shown(path) {
			list = append(list, onOneLine(displayName(f, rel, several)))
		}
	}
	return list
}

func names(folders []*folder) string {
	list := make([]string, len(folders))
	for i, f := range folders {
		list[i] = onOneLine(f.name)
	}
	return strings.Join(list, ", ")
}

// diffOf gives the changes in the folders of one repository. As with files,
// what is ignored is not shown, nor is what may hold secrets: nobody who
// mentions a diff thinks of them.
func (s *Server) diffOf(ctx context.Context, one section, staged bool) (string, error) {
	r, err := s.git.inspect(ctx, one.folders[0].ignore.place().real)
	if err != nil {
		return "", err
	}
	var specs []string
	below := ""
	for _, f := range one.folders {
		rel, ok := within(r.top, f.ignore.place().real)
		if !ok {
			return "", errors.New("the work tree of the repository is elsewhere")
		}
		if len(one.folders) == 1 {
			below = rel // so that paths are those of file://
		}
		if rel != "" {
			specs = append(specs, ":(top,literal)"+rel)
		} else {
			specs = append(specs, ":(top)")
		}
	}
	text, left, err := s.git.diff(ctx, r, staged, below, specs, func(path string) bool {
		abs := filepath.Join(r.top, filepath.FromSlash(path))
		return SecretName(abs) || !s.state.shown(abs)
	})
	switch {
	case err != nil:
		return "", err
	case text == "" && len(left) == 0:
		return "No changes.\n", nil
	case len(left) > 0:
		text += "[changed and left out, as ignored or as it may hold secrets: " + onOneLine(strings.Join(left, ", ")) + "]\n"
	}
	return text, nil
}

// watchGit watches where the repositories keep their index and HEAD; of run
// alone.
func (s *scanner) watchGit(list []section) {
	want := map[string]bool{}
	for _, one := range list {
		dir := gitDirOf(one.top)
		want[dir], want[filepath.Join(dir, "logs")] = true, true
	}
	for dir := range s.gitDirs {
		if !want[dir] {
			s.watches.Remove(dir)
			s.setGitDir(dir, false)
		}
	}
	for dir := range want {
		if info, err := os.Stat(dir); !s.gitDirs[dir] && err == nil && info.IsDir() && s.watches.Add(dir) {
			s.setGitDir(dir, true)
		}
	}
}

func (s *scanner) setGitDir(dir string, watched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if watched {
		s.gitDirs[dir] = true
	} else {
		delete(s.gitDirs, dir)
	}
}

// diffsChanged tells that the diffs may be other ones.
func (s *scanner) diffsChanged(index bool) {
	for word, changed := range map[string]bool{unstaged: true, staged: index} {
		if changed {
			if uri, ok := s.interest.changed(docKey{kind: kindDiff, path: word}); ok {
				s.outbox.resourceUpdated(uri)
			}
		}
	}
}
