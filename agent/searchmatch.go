package agent

import (
	"bytes"
	"context"
	"regexp"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// lookEvery is after how many lines a search looks whether it was cancelled.
const lookEvery = 1000

// matcher finds the lines of a text that match. Where every match holds some
// text, that text is looked for first: few lines are left for the expression.
type matcher struct {
	query   *regexp.Regexp // nil: the literal is all of it
	literal []byte         // stands in every matching line; empty: not known
	fold    bool           // the literal is lower-case ASCII that stands for both cases
}

// newMatcher compiles a query. err says why it is no regular expression; the
// matcher then takes it literally.
func newMatcher(query string, isRegexp bool) (m matcher, err error) {
	if isRegexp {
		if m.query, err = regexp.Compile(query); err == nil {
			m.literal, m.fold = required(query)
			return m, nil
		}
	}
	return matcher{literal: []byte(query)}, err
}

// lines calls found with the number and the text of each line that matches, as
// long as it wants more. scratch is room that is used again.
func (m matcher) lines(ctx context.Context, text []byte, scratch *[]byte, found func(n int, line []byte) bool) {
	if len(m.literal) == 0 || bytes.ContainsAny(m.literal, "\r\n") {
		m.each(ctx, text, found)
		return
	}
	where := text
	if m.fold {
		where = lower(text, scratch)
	}
	n, counted := 1, 0 // the number of the line at counted
	for at := 0; at < len(text) && ctx.Err() == nil; {
		i := bytes.Index(where[at:], m.literal)
		if i < 0 {
			return
		}
		begin := bytes.LastIndexByte(text[:at+i], '\n') + 1
		end := len(text)
		if k := bytes.IndexByte(text[at+i:], '\n'); k >= 0 {
			end = at + i + k
		}
		line := trimLine(text[begin:end])
		if m.query == nil || m.query.Match(line) {
			n += bytes.Count(text[counted:begin], newline)
			counted = begin
			if !found(n, line) {
				return
			}
		}
		at = end + 1
	}
}

var newline = []byte("\n") //nolint:gochecknoglobals // a constant

// each looks at every line.
func (m matcher) each(ctx context.Context, text []byte, found func(n int, line []byte) bool) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if n%lookEvery == 0 && ctx.Err() != nil {
			return
		}
		line = trimLine(line)
		matches := false
		if m.query != nil {
			matches = m.query.Match(line)
		} else {
			matches = bytes.Contains(line, m.literal)
		}
		if matches && !found(n, line) {
			return
		}
	}
}

func trimLine(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }

// lower is a text with its ASCII letters in lower case, byte for byte.
func lower(text []byte, scratch *[]byte) []byte {
	out := append((*scratch)[:0], text...)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + ('a' - 'A')
		}
	}
	*scratch = out
	return out
}

// required is the longest text that every match of an expression holds.
func required(query string) (literal []byte, fold bool) {
	re, err := syntax.Parse(query, syntax.Perl)
	if err != nil {
		return nil, false
	}
	literal, fold = requiredBy(re.Simplify())
	if bytes.ContainsRune(literal, utf8.RuneError) {
		return nil, false // it also matches bytes that are no UTF-8
	}
	return literal, fold
}

func requiredBy(re *syntax.Regexp) (best []byte, fold bool) {
	switch re.Op { //nolint:exhaustive // the others need no text
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []byte(string(re.Rune)), false
		}
		return foldable(re.Rune), true
	case syntax.OpCapture, syntax.OpPlus:
		return requiredBy(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l, f := requiredBy(sub); len(l) > len(best) {
				best, fold = l, f
			}
		}
	}
	return best, fold
}

// foldable is the longest run of characters that have no other forms than
// their upper and lower case in ASCII: "k" is also the Kelvin sign.
func foldable(runes []rune) []byte {
	var best, run []byte
	for _, r := range runes {
		if r >= utf8.RuneSelf || unicode.SimpleFold(unicode.SimpleFold(r)) != r {
			run = nil
			continue
		}
		run = append(run, byte(unicode.ToLower(r)))
		if len(run) > len(best) {
			best = bytes.Clone(run)
		}
	}
	return best
}
