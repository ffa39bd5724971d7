package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"agentls/mcp/workspace"
)

// Bounds of one search.
const (
	searchTime   = 15 * time.Second
	searchLimit  = 100 // lines, where none is asked for
	searchMost   = 1000
	searchedFile = 2 << 20 // bytes of the largest file that is searched
	searchedLine = 300     // characters of a line that are shown
)

const searchCodeSchema = `{"properties":{` +
	`"query":{"description":"The text to find, case-sensitive, within a line.","type":"string"},` +
	`"regex":{"description":"The query is a regular expression (RE2 syntax, (?i) for any case).","type":"boolean"},` +
	`"glob":{"description":"Only files whose path matches, such as **/*.go, src/** or *.{ts,tsx}. A pattern without / matches the file's name in any directory.","type":"string"},` +
	`"limit":{"description":"How many lines to give at most; 100 by default, at most 1000.","minimum":1,"type":"integer"}` +
	`},"required":["query"],"type":"object"}`

func searchCodeTool() *tool {
	return &tool{name: "search_code", description: prompt("search_code.md"), schema: json.RawMessage(searchCodeSchema), run: searchCode}
}

// search is one search under way.
type search struct {
	e       env
	glob    *regexp.Regexp // nil: every file
	query   *regexp.Regexp
	limit   int
	out     strings.Builder
	found   int
	skipped int  // files that are too large
	full    bool // limit or room is used up
}

// searchCode finds lines in the files of the workspace, as the editor has
// them, less what is ignored, binary, or may hold secrets.
func searchCode(ctx context.Context, e env, args json.RawMessage) (output, error) {
	var in struct {
		Query string `json:"query"`
		Regex bool   `json:"regex"`
		Glob  string `json:"glob"`
		Limit int    `json:"limit"`
	}
	if err := into(args, &in); err != nil {
		return output{}, err
	}
	if in.Query == "" {
		return output{}, errors.New("the argument query is missing")
	}
	s := search{e: e, limit: searchLimit}
	if in.Limit > 0 {
		s.limit = min(in.Limit, searchMost)
	}
	note := ""
	var err error
	if s.query, err = regexp.Compile(in.Query); !in.Regex || err != nil {
		if in.Regex {
			note = fmt.Sprintf("[the query is no regular expression (%v) and was taken literally]\n", err)
		}
		s.query = regexp.MustCompile(regexp.QuoteMeta(in.Query))
	}
	if in.Glob != "" {
		if s.glob, err = globRegexp(in.Glob); err != nil {
			return output{}, err
		}
	}
	if len(e.folders) == 0 {
		return output{}, errors.New("no workspace folder is open: there are no files to search")
	}
	bounded, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	for _, f := range e.folders {
		s.walk(bounded, f)
	}
	if ctx.Err() != nil {
		return output{}, context.Cause(ctx)
	}
	return output{text: note + s.report(bounded.Err() != nil)}, nil
}

// walk searches a folder.
func (s *search) walk(ctx context.Context, f folder) {
	_ = filepath.WalkDir(f.real, func(p string, d fs.DirEntry, err error) error { // ends by fs.SkipAll alone
		switch {
		case ctx.Err() != nil || s.full:
			return fs.SkipAll
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is passed over
		}
		rel, err := filepath.Rel(f.real, p)
		if err != nil || rel == "." {
			return nil //nolint:nilerr // likewise
		}
		if d.Name() == ".git" || s.e.ignored(p, d.IsDir()) || s.e.ignored(filepath.Join(f.given, rel), d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() && !workspace.SecretName(p) && s.wants(rel) {
			s.file(place{abs: filepath.Join(f.given, rel), real: p, root: f.real, shown: s.e.folders.show(f, rel)}, d)
		}
		return nil
	})
}

func (s *search) wants(rel string) bool {
	return s.glob == nil || s.glob.MatchString(filepath.ToSlash(rel))
}

// file searches one file.
func (s *search) file(at place, d fs.DirEntry) {
	text, open := document(at, s.e.host)
	if !open {
		if info, err := d.Info(); err != nil || info.Size() > searchedFile {
			s.skipped++
			return
		}
		var err error
		if text, err = diskText(at); err != nil {
			return // binary, or gone meanwhile
		}
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if !s.query.MatchString(strings.TrimRight(line, "\r\n")) {
			continue
		}
		hit := fmt.Sprintf("%s:%d: %s\n", at.shown, n, ellipsis(strings.TrimSpace(line), searchedLine))
		if s.found == s.limit || s.out.Len()+len(hit) > s.e.room() {
			s.full = true
			return
		}
		s.out.WriteString(hit)
		s.found++
	}
}

// report is what the model reads.
func (s *search) report(late bool) string {
	text := s.out.String()
	if s.found == 0 {
		text = "[nothing found]\n"
	}
	if s.full {
		text += fmt.Sprintf("[more than these %d lines match; narrow the query or give a glob]\n", s.found)
	}
	if late {
		text += fmt.Sprintf("[stopped after %d s, before all files were searched; give a glob]\n", int(searchTime.Seconds()))
	}
	if s.skipped > 0 {
		text += fmt.Sprintf("[%d files over %d MiB were not searched]\n", s.skipped, searchedFile>>20)
	}
	return text
}
