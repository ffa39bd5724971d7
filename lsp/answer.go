package lsp

import (
	"regexp"
	"strings"
)

// escaper makes a model's text fit for a prompt buffer (CONTRACT §6): lines
// that would be turn headings are escaped, images are not shown, and a fence
// that is still open is closed. Lines end in "\n": editors write an edit's line
// endings as their document has them, and an edit with others in it could not
// be found again. An answer can be written while it grows.
type escaper struct {
	fence  string // the one that is open: its backticks or tildes
	inLine bool   // the last line has no ending yet
}

var (
	turnHeading = regexp.MustCompile(`(?i)^ {0,3}#+[ \t]*(you|agent)\b`)
	shownImage  = regexp.MustCompile(`(?i)\\<(img|image|svg|iframe)\b`)
	htmlImage   = regexp.MustCompile(`(?i)<(img|image|svg|iframe)\b`)
)

// take escapes as much of a growing text as is decided: its whole lines, and
// the beginning of the last one up to a space, where no heading, fence or image
// can begin any more. n is how many bytes were taken.
func (e *escaper) take(text string) (out string, n int) {
	n = strings.LastIndexByte(text, '\n') + 1
	out = e.escape(text[:n])
	rest := text[n:]
	i := strings.LastIndexByte(rest, ' ') + 1
	if i == 0 || e.fence != "" || strings.Contains(rest, "\r") || !e.inLine && !ordinary(rest[:i]) {
		return out, n
	}
	return out + e.escape(rest[:i]), n + i
}

// ordinary reports whether a line that begins so is no heading and no fence.
func ordinary(line string) bool {
	line = strings.TrimLeft(line, " ")
	return line != "" && line[0] != '#' && line[0] != '`' && line[0] != '~'
}

// escape takes whole lines, or what take found to be decided; the last of an
// answer may lack its ending.
func (e *escaper) escape(text string) string {
	var b strings.Builder
	lines := linesFrom(flat(text), 0)
	for more := text != ""; more; {
		var start, end int
		start, end, more = lines.next()
		if e.inLine {
			b.WriteString(noImages(text[start:end]))
		} else {
			b.WriteString(e.line(text[start:end]))
		}
		if end < lines.pos {
			b.WriteByte('\n')
		}
		e.inLine = (e.inLine || start < end) && end == lines.pos
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
	return noImages(line)
}

func noImages(line string) string {
	line = strings.ReplaceAll(line, "![", `!\[`)
	return htmlImage.ReplaceAllString(line, `\<$1`)
}

// imagesBack undoes noImages in what a person wrote beside it.
func imagesBack(text string) string {
	return shownImage.ReplaceAllString(strings.ReplaceAll(text, `!\[`, "!["), "<$1")
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
