package main

import (
	"strings"
)

// style writes what a terminal shows in another look. Its zero value leaves text
// as it is.
type style struct{ on, colours bool }

// newStyle goes by what the environment says (no-color.org).
func newStyle(getenv func(string) (string, bool)) style {
	no, _ := getenv("NO_COLOR")
	return style{on: true, colours: no == ""}
}

// The looks, as parameters of SGR (ECMA-48, 8.3.117).
const (
	lookBold    = "1"
	lookDim     = "2"
	lookItalic  = "3"
	lookRed     = "31"
	lookGreen   = "32"
	lookYellow  = "33"
	lookCyan    = "36"
	lookHeading = "1;36"
)

// in gives a line in a look. Colours fall away without them.
func (s style) in(look, text string) string {
	if !s.on || text == "" {
		return text
	}
	if !s.colours {
		switch look {
		case lookHeading:
			look = lookBold
		case lookRed, lookGreen, lookYellow, lookCyan:
			return text
		}
	}
	return "\x1b[" + look + "m" + text + "\x1b[0m"
}

// note is a note's text in its look, line by line.
func (s style) note(kind noteKind, text string) string {
	look := map[noteKind]string{noteDim: lookDim, noteDone: lookGreen, noteWarn: lookYellow, noteError: lookRed}[kind]
	if look == "" {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = s.in(look, line)
	}
	return strings.Join(lines, "\n")
}

// markdown gives the lines of a Markdown text a light look, as they come: what
// is written stays as it is, and is copied as it is.
type markdown struct {
	style style
	fence string // the run of ` or ~ that is open; "": none
}

// line gives one line its look.
func (m *markdown) line(text string) string {
	trimmed := strings.TrimLeft(text, " ")
	if run := fenceOf(trimmed); run != "" {
		switch {
		case m.fence == "":
			m.fence = run
			return m.style.in(lookDim, text)
		case run[0] == m.fence[0] && len(run) >= len(m.fence) && strings.TrimRight(trimmed, " ") == run:
			m.fence = ""
			return m.style.in(lookDim, text)
		}
	}
	switch {
	case m.fence != "":
		return m.style.in(lookCyan, text)
	case isHeading(trimmed):
		return m.style.in(lookHeading, text)
	case strings.HasPrefix(trimmed, "> "):
		return m.style.in(lookDim, text)
	}
	return m.spans(text)
}

// fenceOf is the run that opens or closes a fenced block (CommonMark §4.5).
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

func isHeading(line string) bool {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	return n >= 1 && n <= 6 && strings.HasPrefix(line[n:], " ")
}

// spans gives code spans and strong words their look.
func (m *markdown) spans(text string) string {
	var b strings.Builder
	for text != "" {
		i := strings.IndexAny(text, "`*")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		mark, look := "`", lookCyan
		if text[0] == '*' {
			mark, look = "**", lookBold
		}
		end := -1
		if strings.HasPrefix(text, mark) {
			end = strings.Index(text[len(mark):], mark)
		}
		if end <= 0 {
			b.WriteString(text[:1])
			text = text[1:]
			continue
		}
		end += 2 * len(mark)
		b.WriteString(m.style.in(look, text[:end]))
		text = text[end:]
	}
	return b.String() + text
}
