package workspace

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// ruleAge is how long a rule file is believed before it is read again.
	ruleAge = time.Second
	// maxRuleFile bounds a rule file, maxRuleDirs the directories remembered.
	maxRuleFile = 512 << 10
	maxRuleDirs = 50_000
)

// ignorer answers for one folder what git would ignore there. It starts no
// git and reads no configuration of git's, so the user's global excludes do
// not count: a folder that is not trusted must not make a process run.
type ignorer struct {
	place func() place
	mu    sync.Mutex
	cache map[string]*cachedRules // by directory relative to the top
}

// place says where a folder lies.
type place struct {
	real   string // the folder with its symlinks resolved
	top    string // the repository's top, or real where there is none
	prefix string // real relative to top, with slashes; "" when they are one
}

type cachedRules struct {
	above   *rules
	text    []byte
	rules   *rules
	checked time.Time
}

func newIgnorer(folder string) *ignorer {
	return &ignorer{
		place: sync.OnceValue(func() place { return locate(folder) }),
		cache: map[string]*cachedRules{},
	}
}

// locate looks for the repository that holds folder.
func locate(folder string) place {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		real = folder
	}
	top, ok := repositoryOf(real)
	if !ok {
		return place{real: real, top: real}
	}
	prefix, _ := within(top, real)
	return place{real: real, top: top, prefix: prefix}
}

// ignored reports whether a slash-separated path below the folder is ignored.
// What lies in an ignored directory is, whatever a rule says about it.
func (g *ignorer) ignored(rel string, dir bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	at := g.place().prefix
	r := g.rulesOf(at, now)
	for more := true; more; {
		var name string
		name, rel, more = strings.Cut(rel, "/")
		at = path.Join(at, name)
		if isGit(name) || r.match(at, dir || more) {
			return true
		}
		if more {
			r = g.enter(r, at, now)
		}
	}
	return false
}

// at returns the rules that hold for what lies in a directory below the
// folder, for a scan that has checked the directory itself.
func (g *ignorer) at(dir string) *rules {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rulesOf(path.Join(g.place().prefix, dir), time.Now())
}

// full is a path below the folder as the rules see it.
func (g *ignorer) full(rel string) string { return path.Join(g.place().prefix, rel) }

// forget makes a directory's rules be read again now.
func (g *ignorer) forget(dir string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.cache, path.Join(g.place().prefix, dir))
}

// rulesOf descends from the top to dir; g.mu is held.
func (g *ignorer) rulesOf(dir string, now time.Time) *rules {
	r := g.enter(nil, "", now)
	for i := 0; dir != "" && i <= len(dir); i++ {
		if i == len(dir) || dir[i] == '/' {
			r = g.enter(r, dir[:i], now)
		}
	}
	return r
}

// enter adds the rules of dir to those above it; g.mu is held.
func (g *ignorer) enter(above *rules, dir string, now time.Time) *rules {
	c := g.cache[dir]
	if c != nil && c.above == above && now.Sub(c.checked) < ruleAge {
		return c.rules
	}
	top := filepath.Join(g.place().top, filepath.FromSlash(dir))
	text := readRules(filepath.Join(top, ".gitignore"))
	if dir == "" {
		// The weaker rules stand first: a later one wins.
		text = append(readRules(filepath.Join(top, ".git", "info", "exclude")), text...)
	}
	if c == nil || c.above != above || !bytes.Equal(c.text, text) {
		if len(g.cache) >= maxRuleDirs {
			clear(g.cache)
		}
		c = &cachedRules{above: above, text: text, rules: compile(above, dir, text)}
		g.cache[dir] = c
	}
	c.checked = now
	return c.rules
}

// readRules returns the text of a rule file, ending in a newline; nil for one
// that is not there or is no file.
func readRules(name string) []byte {
	f, err := openFile(os.OpenFile, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRuleFile))
	if err != nil || len(text) == 0 {
		return nil
	}
	if len(text) == maxRuleFile { // no half rule
		return text[:bytes.LastIndexByte(text, '\n')+1]
	}
	return append(text, '\n')
}

// isGit: git's own directory, or the file that stands for it in a worktree.
func isGit(name string) bool { return strings.EqualFold(name, ".git") }
