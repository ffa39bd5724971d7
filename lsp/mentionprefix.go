package lsp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mentionAt finds the mention that is being typed at a byte offset: its '@'.
// The grammar is that of CONTRACT §6; what would be left alone in a prompt is
// not completed either.
func mentionAt(text string, offset int) (at int, ok bool) {
	line, start, ok := promptLine(text, offset)
	if !ok {
		return 0, false
	}
	head := line[:min(offset-start, len(line))]
	for i := strings.LastIndexByte(head, '@'); i >= 0; i = strings.LastIndexByte(head[:i], '@') {
		if !startsMention(head[:i]) {
			continue // part of an address, or of a URI
		}
		return start + i, isOpen(head[i+1:]) && !quoted(line, i)
	}
	return 0, false
}

// promptLine is the line at an offset, if it belongs to a prompt: to a `## You`
// block or a buffer without headings, and to no fence.
func promptLine(text string, offset int) (line string, start int, ok bool) {
	role := ""
	for m := walkMarkdown(text); m.next(); {
		r := headingRole(m.line)
		if m.fenced {
			r = ""
		}
		if r != "" {
			role = r
		}
		if offset < m.pos() || m.done {
			return m.line, m.start, !m.fenced && r == "" && (role == "you" || role == "" && turns(text)[0].role == "")
		}
	}
	return "", 0, false
}

// startsMention reports whether an '@' behind this text starts a mention.
func startsMention(before string) bool {
	r, n := utf8.DecodeLastRuneInString(before)
	return n == 0 || unicode.IsSpace(r) || unicode.In(r, unicode.Ps, unicode.Pi) || r == '"' || r == '\'' || r == '`'
}

// isOpen reports whether what follows an '@' may still be part of its mention.
func isOpen(mention string) bool {
	_, uri, _ := strings.Cut(mention, ":")
	closer := ""
	switch {
	case strings.HasPrefix(uri, "<"):
		closer = ">"
	case strings.HasPrefix(uri, `"`):
		closer = `"`
	default:
		return !strings.ContainsFunc(mention, unicode.IsSpace)
	}
	return !strings.Contains(uri[1:], closer)
}

// quoted reports whether the byte at i stands inside "…" or `…` on its line:
// from a quote behind white space to one before white space, punctuation or
// the line's end.
func quoted(line string, i int) bool {
	for from := 0; from < i; {
		open := strings.IndexAny(line[from:i], "\"`")
		if open < 0 {
			return false
		}
		open += from
		from = open + 1
		before, n := utf8.DecodeLastRuneInString(line[:open])
		if n > 0 && !unicode.IsSpace(before) {
			continue
		}
		if end := closingQuote(line, open); end > i {
			return true
		} else if end > open {
			from = end + 1
		}
	}
	return false
}

func closingQuote(line string, open int) int {
	for i := open + 1; i < len(line); i++ {
		if line[i] != line[open] {
			continue
		}
		after, n := utf8.DecodeRuneInString(line[i+1:])
		if n == 0 || unicode.IsSpace(after) || unicode.IsPunct(after) {
			return i
		}
	}
	return -1
}
