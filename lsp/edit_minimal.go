package lsp

import (
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"go.lsp.dev/protocol"
)

// minimalEdits makes after of before by the lines that differ, and in them by
// what differs: cursors, marks and folds elsewhere stay where they are. They
// are in the order of the text.
func (d *documents) minimalEdits(before, after string) []protocol.TextEdit {
	var list []protocol.TextEdit
	from := placeFinder{lines: linesFrom(flat(before), 0), text: before, encoding: d.encoding}
	for _, e := range udiff.Lines(before, after) {
		head, tail := alike(before[e.Start:e.End], e.New)
		start, end := e.Start+head, e.End-tail
		list = append(list, protocol.TextEdit{
			Range:   protocol.Range{Start: from.find(start), End: from.find(end)},
			NewText: e.New[head : len(e.New)-tail],
		})
	}
	return list
}

// alike gives how many bytes two texts have in common at their beginning and
// at their end. It parts no character and no \r\n.
func alike(a, b string) (head, tail int) {
	head = prefix(a, b)
	for head > 0 && !(parts(a, head) && parts(b, head)) {
		head--
	}
	tail = suffix(a[head:], b[head:])
	for tail > 0 && !(parts(a, len(a)-tail) && parts(b, len(b)-tail)) {
		tail--
	}
	return head, tail
}

// parts reports whether a text may be parted at an offset.
func parts(text string, at int) bool {
	if at <= 0 || at >= len(text) {
		return true
	}
	return utf8.RuneStart(text[at]) && !(text[at-1] == '\r' && text[at] == '\n')
}

// placeFinder finds the positions of offsets that only grow.
type placeFinder struct {
	lines      lines
	text       string
	encoding   protocol.PositionEncodingKind
	line       uint32 // that start and end are of
	start, end int
	begun      bool
	more       bool // another line follows
}

func (f *placeFinder) find(offset int) protocol.Position {
	if !f.begun {
		f.start, f.end, f.more = f.lines.next()
		f.begun = true
	}
	for f.more && offset >= f.lines.pos {
		f.start, f.end, f.more = f.lines.next()
		f.line++
	}
	return protocol.Position{Line: f.line, Character: uint32(unitsIn(f.text[f.start:min(offset, f.end)], f.encoding))}
}
