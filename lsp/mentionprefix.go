package lsp

import "agentls/mcp"

// mentionAt finds the mention that is being typed in a prompt at a byte offset:
// its '@'.
func mentionAt(text string, offset int) (at int, ok bool) {
	line, start, ok := promptLine(text, offset)
	if !ok {
		return 0, false
	}
	at, ok = mcp.MentionStart(line, min(offset-start, len(line)))
	return start + at, ok
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
