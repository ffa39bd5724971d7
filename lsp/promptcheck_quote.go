package lsp

import "strings"

// quote offers to leave a mention as text.
func (c *promptCheck) quote(at textSpan) []promptFix {
	if c.within == nil {
		return nil
	}
	text := at.of(c.state.text)
	run := strings.Repeat("`", longestRun(text)+1)
	edits := []promptEdit{{textSpan{at.start, at.start}, run}, {textSpan{at.end, at.end}, run}}
	if !c.reads(at, edits, true) {
		return nil
	}
	return []promptFix{{title: "Leave as text, in backticks", edits: edits}}
}

// unquote offers to take the quotes away from a mention that is all they hold.
func (c *promptCheck) unquote(at textSpan) []promptFix {
	if c.within == nil {
		return nil
	}
	text := c.state.text
	for _, mark := range []byte{'`', '"'} {
		n := 0
		for at.start-n > 0 && at.end+n < len(text) && text[at.start-n-1] == mark && text[at.end+n] == mark {
			n++
		}
		edits := []promptEdit{{textSpan{at.start - n, at.start}, ""}, {textSpan{at.end, at.end + n}, ""}}
		if n > 0 && c.reads(at, edits, false) {
			return []promptFix{{title: "Attach it: take the quotes away", edits: edits}}
		}
	}
	return nil
}

// reads reports whether the line of a mention would be read as wanted after
// the edits before and behind it: the mention quoted, or not.
func (c *promptCheck) reads(at textSpan, edits []promptEdit, quoted bool) bool {
	text := c.state.text
	from, to := strings.LastIndexAny(text[:at.start], "\r\n")+1, len(text)
	if i := strings.IndexAny(text[at.end:], "\r\n"); i >= 0 {
		to = at.end + i
	}
	before, behind := edits[0], edits[1]
	line := text[from:before.at.start] + before.text + at.of(text)
	end := len(line)
	line += behind.text + text[behind.at.end:to]
	start := end - (at.end - at.start)
	for _, m := range c.s.o.Manager.Mentions(line) {
		if m.Start == start {
			return m.End == end && m.Quoted == quoted
		}
	}
	return quoted // in quotes the mention of an unknown server is none
}
