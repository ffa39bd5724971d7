package workspace

import (
	"bytes"
	"runtime"
	"strings"

	"github.com/git-pkgs/gitignore"
)

const (
	// maxRuleLine is longer than any path that a rule could match.
	maxRuleLine = 8 << 10
	// foldCase is git's core.ignoreCase as it is at first on this system.
	foldCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"
	// end closes patterns and paths. The library lets a pattern match all that
	// lies below a match, which is wrong after a negation ("*", "!*/", "!*.go"
	// would let every file through). With the last segments closed a pattern
	// matches the path itself or nothing, and what lies below follows from
	// asking about each directory on the way.
	end = "\x00"
)

// rules are those of one directory's .gitignore, chained to those above it.
// nil has none. Never changed.
type rules struct {
	above *rules
	base  string // the directory with a "/" behind it, "" for the top
	files *gitignore.Matcher
	dirs  *gitignore.Matcher // also knows the rules for directories only
}

// compile returns above itself when text holds no rule.
func compile(above *rules, dir string, text []byte) *rules {
	var files, dirs strings.Builder
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		rule, dirOnly := closeRule(string(line))
		if rule == "" {
			continue
		}
		dirs.WriteString(rule)
		if !dirOnly {
			files.WriteString(rule)
		}
	}
	if dirs.Len() == 0 {
		return above
	}
	r := &rules{above: above, files: &gitignore.Matcher{}, dirs: &gitignore.Matcher{}}
	if dir != "" {
		r.base = dir + "/"
	}
	r.files.AddPatterns([]byte(files.String()), "")
	r.dirs.AddPatterns([]byte(dirs.String()), "")
	return r
}

// closeRule writes one line of a rule file as an anchored pattern that matches
// a path closed by end; "" for a line that is no rule.
func closeRule(line string) (rule string, dirOnly bool) {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if strings.HasPrefix(line, "#") || strings.Contains(line, end) || len(line) > maxRuleLine {
		return "", false
	}
	for strings.HasSuffix(line, " ") && !escaped(line) {
		line = line[:len(line)-1]
	}
	line, negate := strings.CutPrefix(line, "!")
	line, dirOnly = strings.CutSuffix(line, "/")
	if line == "" || escaped(line+"?") {
		return "", false
	}
	if !strings.Contains(line, "/") {
		line = "**/" + line
	} else if strings.HasSuffix(line, "/**") {
		line += "/*" // all that is inside, not the directory itself
	}
	if foldCase {
		line = strings.ToLower(line)
	}
	rule = "/" + strings.TrimPrefix(line, "/") + end + "\n"
	if negate {
		rule = "!" + rule
	}
	return rule, dirOnly
}

// escaped reports whether the last byte stands behind a backslash that is not
// itself escaped.
func escaped(s string) bool {
	s = s[:len(s)-1]
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

// match reports whether a path relative to the top, whose directory is not
// ignored, is.
func (r *rules) match(rel string, dir bool) bool {
	for ; r != nil; r = r.above {
		m := r.files
		if dir {
			m = r.dirs
		}
		name := rel[len(r.base):]
		if foldCase {
			name = strings.ToLower(name)
		}
		if d := m.MatchDetail(name + end); d.Matched {
			return d.Ignored
		}
	}
	return false
}
