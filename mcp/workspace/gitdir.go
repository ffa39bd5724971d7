package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// gitPlaces is where a repository keeps what a diff is made from, absolute.
type gitPlaces struct {
	top     string // the work tree, symlinks resolved
	dir     string // its git directory
	common  string // that of all its worktrees
	index   string
	objects string
	linked  bool // dir names the work tree by core.worktree, as a submodule's does
}

var (
	errForeignGit = errors.New("the git directory lies outside of the work tree and does not name it; if it is right, name it there with git config core.worktree")
	errLedAway    = errors.New("the index or the objects of the repository lie outside of its git directory")
)

// check refuses what leads away. A folder that came as an archive may hold any
// .git: one that is a file, or a symlink, to another repository of the user's
// would show all of that as deleted here. A worktree's or a submodule's git
// directory lies elsewhere too, but names its work tree. Alternates are not
// looked at: a repository may borrow objects.
func (p gitPlaces) check() error {
	real := func(path string) string {
		if found, err := filepath.EvalSymlinks(path); err == nil {
			return found
		}
		return path // it is not there; what leads to it is no symlink that leads somewhere
	}
	dir, common := real(p.dir), real(p.common)
	if _, inside := within(p.top, dir); !inside && !p.linked && !p.namedBack() {
		return errForeignGit
	}
	for inner, outer := range map[string]string{
		dir: common, p.index: dir, p.objects: common, filepath.Join(p.objects, "pack"): common,
	} {
		if _, inside := within(outer, real(inner)); !inside {
			return errLedAway
		}
	}
	return nil
}

// namedBack reports whether the git directory names the work tree's .git, as
// that of a worktree does.
func (p gitPlaces) namedBack() bool {
	back := strings.TrimSpace(string(readRules(filepath.Join(p.dir, "gitdir"))))
	if back == "" {
		return false
	}
	if back = filepath.FromSlash(back); !filepath.IsAbs(back) {
		back = filepath.Join(p.dir, back) // worktree.useRelativePaths
	}
	named, err1 := os.Lstat(back)
	have, err2 := os.Lstat(filepath.Join(p.top, ".git"))
	return err1 == nil && err2 == nil && os.SameFile(named, have)
}
