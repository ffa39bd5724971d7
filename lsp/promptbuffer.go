package lsp

import (
	"slices"
	"strings"
)

// turn is whose a block of a prompt buffer is, and its text (CONTRACT §6).
type turn struct {
	role       string // "you", "agent", or "" for a buffer without headings
	start, end int    // byte offsets of the body, heading line excluded
}

// isPromptBuffer reports whether a document is a prompt buffer.
func isPromptBuffer(d document) bool {
	return d.languageID == "agentls" || strings.HasSuffix(d.uri, promptExtension) || strings.HasSuffix(d.path, promptExtension)
}

// headingRole is the role whose heading a line is, or "".
func headingRole(line string) string {
	switch strings.TrimRight(line, " \t") {
	case "## You":
		return "you"
	case "## Agent":
		return "agent"
	}
	return ""
}

// promptAt returns the body of the `## You` block at the byte offset; the last
// one for offset < 0.
func promptAt(text string, offset int) (body string, ok bool) {
	blocks := turns(text)
	i := promptBlockAt(blocks, offset)
	if i < 0 {
		return "", false
	}
	return text[blocks[i].start:blocks[i].end], true
}

// promptBlockAt is the index of that block; -1: there is none.
func promptBlockAt(blocks []promptBlock, offset int) int {
	for i, t := range slices.Backward(blocks) {
		if t.role == "agent" {
			continue
		}
		if offset < 0 || t.whole().start <= offset && (offset < t.end || i == len(blocks)-1) {
			return i
		}
	}
	return -1
}

// markdown walks the lines of a Markdown text and knows which stand in a
// fenced block; the fences themselves count as inside.
type markdown struct {
	lines
	text   string
	line   string // without its ending
	start  int    // where the line starts
	fenced bool
	fence  string // the fence that is open behind the line: its run of ` or ~
	done   bool
}

func walkMarkdown(text string) *markdown {
	return &markdown{lines: linesFrom(flat(text), 0), text: text}
}

// next goes to the next line.
func (m *markdown) next() bool {
	if m.done {
		return false
	}
	start, end, more := m.lines.next()
	m.line, m.start, m.done = m.text[start:end], start, !more
	open := m.fence != ""
	run, info := fenceRun(m.line)
	switch {
	case !open && run != "" && !(run[0] == '`' && strings.Contains(info, "`")):
		m.fence, open = run, true
	case open && run != "" && run[0] == m.fence[0] && len(run) >= len(m.fence) && strings.TrimSpace(info) == "":
		m.fence = ""
	}
	m.fenced = open
	return true
}

// pos is where the line after this one starts.
func (m *markdown) pos() int { return m.lines.pos }

// fenceRun is the run of at least three ` or ~ that a line starts with, after
// up to three spaces, and what follows it (CommonMark §4.5).
func fenceRun(line string) (run, info string) {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return "", ""
	}
	n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	if n < 3 {
		return "", ""
	}
	return rest[:n], rest[n:]
}
