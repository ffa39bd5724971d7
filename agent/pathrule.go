package agent

import (
	"errors"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// callPath is the file of a call as the rules see it: relative to the
// workspace folders, with slashes.
type callPath struct {
	given []string // as the call names it; several where it may be in several
	real  []string // with links resolved; none: it is outside, or cannot be told
}

// callPathOf finds the file of a call; at is nil for what the tool refuses.
func (all folders) callPathOf(name string, at *place) *callPath {
	p := &callPath{}
	abs := all.candidates(name)
	if at != nil {
		abs = []string{at.abs}
		p.real = all.relative(at.real)
	}
	for _, a := range abs {
		p.given = append(p.given, all.relative(a)...)
	}
	return p
}

// relative gives the ways to name an absolute path below the folders.
func (all folders) relative(abs string) (names []string) {
	for _, f := range all {
		for _, root := range []string{f.given, f.real} {
			if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
				names = append(names, filepath.ToSlash(rel))
				if len(all) > 1 {
					names = append(names, path.Join(f.name, filepath.ToSlash(rel)))
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// allowedBy reports whether a glob matches the path both as it is given and as
// it is.
func (p *callPath) allowedBy(glob string) bool {
	re, err := ruleGlob(glob)
	return err == nil && slices.ContainsFunc(p.given, re.MatchString) && slices.ContainsFunc(p.real, re.MatchString)
}

// restrictedBy reports whether a glob matches the path in any form, or a
// directory above it.
func (p *callPath) restrictedBy(glob string) match {
	re, err := ruleGlob(norm.NFC.String(glob))
	if err == nil {
		re, err = regexp.Compile("(?i)" + re.String())
	}
	if err != nil {
		return matchUnsure
	}
	for _, name := range slices.Concat(p.given, p.real) {
		for name = norm.NFC.String(name); name != "." && name != "/"; name = path.Dir(name) {
			if re.MatchString(name) {
				return matchYes
			}
		}
	}
	return matchNo
}

// ruleGlob compiles the argument of a file tool's rule.
func ruleGlob(glob string) (*regexp.Regexp, error) {
	switch {
	case path.IsAbs(glob) && !strings.HasPrefix(glob, "/**"), filepath.IsAbs(glob), strings.HasPrefix(glob, "~"):
		return nil, errors.New("a file tool's rule is a path below the workspace folder, such as src/**: leave out what stands before it")
	case slices.Contains(strings.Split(filepath.ToSlash(glob), "/"), ".."):
		return nil, errors.New("a file tool's rule is a path below the workspace folder, without ..")
	}
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	return globRegexp(glob)
}
