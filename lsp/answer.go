package lsp

import (
	"regexp"
	"strings"
)

// escaper makes a model's text fit for a prompt buffer (CONTRACT §6): lines
// that would be turn headings are escaped, images are not shown, and a fence
// that is still open is closed. It takes the text in whole lines, so that an
// answer can be written while it grows.
type escaper struct {
	fence  string // the one that is open: its backticks or tildes
	inLine bool   // the last line has no ending yet
}

var (
	turnHeading = regexp.MustCompile(`(?i)^ {0,3}#+[ \t]*(you|agent)\b`)
	htmlImage   = regexp.MustCompile(`(?i)<(img|image|svg|iframe)\b`)
)

// escape takes whole lines; only the last of an answer may lack its ending.
func (e *escaper) escape(text string) string {
	var b strings.Builder
	lines := linesFrom(flat(text), 0)
	for more := text != ""; more; {
		var start, end int
		start, end, more = lines.next()
		b.WriteString(e.line(text[start:end]))
		b.WriteString(text[end:lines.pos])
		e.inLine = start < end && end == lines.pos
	}
	return b.String()
}

// line takes a line without its ending.
func (e *escaper) line(line string) string {
	run, info := fenceRun(line)
	switch {
	case e.fence != "":
		if run != "" && run[0] == e.fence[0] && len(run) >= len(e.fence) && strings.TrimSpace(info) == "" {
			e.fence = ""
		}
		return line
	case run != "" && (run[0] == '~' || !strings.Contains(info, "`")):
		e.fence = run
		return line
	}
	if turnHeading.MatchString(line) {
		i := strings.IndexByte(line, '#')
		line = line[:i] + `\` + line[i:]
	}
	line = strings.ReplaceAll(line, "![", `!\[`)
	return htmlImage.ReplaceAllString(line, `\<$1`)
}

// end gives what closes the answer.
func (e *escaper) end() string {
	if e.fence == "" {
		return ""
	}
	closing := e.fence
	if e.inLine {
		closing = "\n" + closing
	}
	e.fence = ""
	return closing
}
