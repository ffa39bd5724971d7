package lsp

import (
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/mcp"
)

// textSpan is a part of a text, by byte offsets; end is exclusive.
type textSpan struct{ start, end int }

func (sp textSpan) of(text string) string { return text[sp.start:sp.end] }

// promptModel is what a prompt buffer's text says (CONTRACT §6). All offsets
// are bytes of doc.text.
type promptModel struct {
	doc    document
	blocks []promptBlock // in order, each behind the one before
}

// promptBlock is a turn of a prompt buffer, or all of one without headings.
type promptBlock struct {
	turn
	heading textSpan   // its heading line without the ending; empty without headings
	fences  []textSpan // fenced blocks, from the opening fence to the end of the closing one
	// Only of what a person writes: `## You` blocks, and buffers without headings.
	slash    []slashLine
	mentions []mcp.Mention // filled by [Server.promptModel]
}

// slashLine is a line of a prompt that begins with '/', outside of fences.
// Whether it has the form of a command, [agent.ParseSlash] says.
type slashLine struct {
	line  textSpan // without its ending
	word  textSpan // from the '/' to the first white space
	leads bool     // nothing but white space is before it: it can be a command
}

// promptModel reads a prompt buffer, from memory alone: the mentions by what is
// cached of the servers. It takes time linear in the text.
func (s *Server) promptModel(doc document) promptModel {
	m := promptModel{doc: doc, blocks: turns(doc.text)}
	mentions := s.o.Manager.MentionReader()
	for i := range m.blocks {
		b := &m.blocks[i]
		if b.role == "agent" {
			continue
		}
		b.mentions = mentions(doc.text[b.start:b.end])
		for j := range b.mentions {
			b.mentions[j].Start += b.start
			b.mentions[j].End += b.start
		}
		if len(b.slash) > 0 && b.slash[0].takesNoMention(doc.text) {
			line := b.slash[0].line
			b.mentions = slices.DeleteFunc(b.mentions, func(m mcp.Mention) bool { return m.Start < line.end && line.start < m.End })
		}
	}
	return m
}

// takesNoMention reports whether mentions in the line are arguments like any
// others: only of a command that starts a run are they read.
func (l slashLine) takesNoMention(text string) bool {
	line, ok := agent.ParseSlash(l.line.of(text))
	if !ok || !l.leads {
		return false
	}
	c, _ := agent.SlashCommandNamed(line.Name)
	return c.Mode == ""
}

// turns parts a prompt buffer by its `## You` and `## Agent` headings, those
// inside fences not counted. What stands before the first heading is no turn;
// without a heading the whole text is one prompt.
func turns(text string) []promptBlock {
	blocks := []promptBlock{{turn: turn{end: len(text)}}}
	open, leads := false, true // a fence is open; nothing was said in the block yet
	for m := walkMarkdown(text); m.next(); {
		b := &blocks[len(blocks)-1]
		line := textSpan{m.start, m.start + len(m.line)}
		if m.fenced {
			if !open {
				b.fences = append(b.fences, line)
			}
			b.fences[len(b.fences)-1].end = line.end
			open, leads = m.fence != "", false
			continue
		}
		if role := headingRole(m.line); role != "" {
			leads, b.end = true, m.start
			blocks = append(blocks, promptBlock{turn: turn{role: role, start: m.pos(), end: len(text)}, heading: line})
			continue
		}
		if b.role != "agent" && strings.HasPrefix(m.line, "/") {
			b.slash = append(b.slash, slashLine{line, textSpan{line.start, line.start + commandEnd(m.line)}, leads})
		}
		leads = leads && strings.TrimSpace(m.line) == ""
	}
	if len(blocks) > 1 {
		return blocks[1:]
	}
	return blocks
}

// commandEnd is where the first white space of a line stands, or its end.
func commandEnd(line string) int {
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return i
	}
	return len(line)
}

// block is the block that holds an offset, its heading included; a place
// between two belongs to the second.
func (m promptModel) block(offset int) (promptBlock, bool) {
	for i, b := range m.blocks {
		if offset >= b.whole().start && (offset < b.end || i == len(m.blocks)-1) {
			return b, true
		}
	}
	return promptBlock{}, false
}

// whole is the block with its heading.
func (b promptBlock) whole() textSpan {
	if b.heading.end > b.heading.start {
		return textSpan{b.heading.start, b.end}
	}
	return textSpan{b.start, b.end}
}

// mention is the mention that an offset is in, or right behind.
func (b promptBlock) mention(offset int) (mcp.Mention, bool) {
	for _, m := range b.mentions {
		if m.Start <= offset && offset <= m.End {
			return m, true
		}
	}
	return mcp.Mention{}, false
}

// command is the line that begins with '/' at an offset.
func (b promptBlock) command(offset int) (slashLine, bool) {
	for _, l := range b.slash {
		if l.line.start <= offset && offset <= l.line.end {
			return l, true
		}
	}
	return slashLine{}, false
}

// rangeOf is the range of a part of a text. For more than a few there is
// [Server.rangesOf], which walks over the text once.
func (s *Server) rangeOf(text string, sp textSpan) protocol.Range {
	return s.rangesOf(text, []textSpan{sp})[0]
}

// rangesOf are the ranges of parts of a text, in the order of the parts.
func (s *Server) rangesOf(text string, spans []textSpan) []protocol.Range {
	offsets := make([]int, 0, 2*len(spans))
	for _, sp := range spans {
		offsets = append(offsets, sp.start, sp.end)
	}
	ranges := make([]protocol.Range, len(spans))
	for i, p := range positions(text, offsets, s.docs.encoding) {
		if i%2 == 0 {
			ranges[i/2].Start = p
		} else {
			ranges[i/2].End = p
		}
	}
	return ranges
}
