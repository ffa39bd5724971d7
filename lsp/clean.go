package lsp

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"agentls/agent"
)

// cleanLimit is how many code points of a foreign text are shown.
const cleanLimit = 300

// clean makes foreign text fit for a message, a question, a progress, a label
// or a hover (CONTRACT §7): control, bidi and zero-width characters out, one
// line, 300 characters, `](` broken.
func clean(text string) string { return cleanTo(text, cleanLimit) }

// escapes matches what a terminal would act on: CSI, OSC and other sequences
// that begin with ESC, and their 8-bit forms.
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\x1b\\]|\u009d)[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)?|\x1b[ -/]*[0-~]?")

// cleanTo is clean with another limit in code points.
func cleanTo(text string, limit int) string {
	if len(text) <= limit && isPlain(text) {
		return text
	}
	// Nothing past this can be seen; a huge text must not cost a pass.
	if most := 16*limit + 4096; len(text) > most {
		text = text[:most]
	}
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	var b strings.Builder
	n, space := 0, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = n > 0
			continue
		case agent.Unseen(r):
			continue
		case n >= limit:
			return breakLinks(b.String()) + "…"
		}
		if space {
			b.WriteByte(' ')
			n, space = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return breakLinks(b.String())
}

// cleanLines makes the beginning of a foreign text fit to be shown in a block
// that keeps it apart: n lines of width code points at most. What would not be
// seen is taken out as by clean; white space stays, and so does `](`, since
// nothing is a link there. more says that something was left out.
func cleanLines(text string, n, width int) (shown string, more bool) {
	var lines []string
	l := linesFrom(flat(text), 0)
	for next := true; next; {
		var start, end int
		if start, end, next = l.next(); len(lines) == n {
			more = more || next || start < end
			break
		}
		line := text[start:end]
		if most := 16*width + 4096; len(line) > most { // as in cleanTo
			line, more = line[:most], true
		}
		line = escapes.ReplaceAllString(strings.ToValidUTF8(line, "\uFFFD"), "")
		line = strings.TrimRightFunc(strings.Map(func(r rune) rune {
			switch {
			case r == '\t' || r == ' ':
				return r
			case unicode.IsSpace(r):
				return ' '
			case agent.Unseen(r):
				return -1
			}
			return r
		}, line), unicode.IsSpace)
		if runes := []rune(line); len(runes) > width {
			line, more = string(runes[:width])+"…", true
		}
		lines = append(lines, line)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n"), more
}

// isPlain reports what needs no cleaning, as nearly every text: printable
// ASCII, single spaces inside, no link.
func isPlain(text string) bool {
	last := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == ' ' && last == ' ' || c == '(' && last == ']' {
			return false
		}
		last = c
	}
	return last != ' ' || text == ""
}

// breakLinks keeps Markdown from making a link of foreign text: editors run
// command: links in popups.
func breakLinks(text string) string { return strings.ReplaceAll(text, "](", "] (") }

// tell makes foreign text fit to be shown: no secrets, then clean.
func (s *Server) tell(text string) string { return clean(s.o.Secrets.Redact(text)) }

// quoteVisible quotes a text so that nothing in it stays unseen: what is not
// ASCII, a letter or a digit is escaped.
func quoteVisible(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch quoted := strconv.QuoteRune(r); {
		case r == '"':
			b.WriteString(`\"`)
		case r == '\'':
			b.WriteRune(r)
		case r > 0x7e && (agent.Unseen(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r)):
			quoted = strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	b.WriteByte('"')
	return b.String()
}
