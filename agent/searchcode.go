package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
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

// search is one search under way. Its goroutine alone takes what was found, in
// the order of the walk, so that the same search gives the same lines.
type search struct {
	e       env
	glob    *regexp.Regexp // nil: every file
	match   matcher
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
	if s.match, err = newMatcher(in.Query, in.Regex); err != nil {
		note = fmt.Sprintf("[the query is no regular expression (%v) and was taken literally]\n", err)
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
	s.walk(bounded)
	if ctx.Err() != nil {
		return output{}, context.Cause(ctx)
	}
	return output{text: note + s.report(bounded.Err() != nil)}, nil
}

// take adds what a batch of files came to.
func (s *search) take(b *batch) {
	s.skipped += b.skipped
	for _, hit := range b.hits {
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
