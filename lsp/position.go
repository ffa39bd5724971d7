package lsp

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"
)

// lines walks the lines of a text. Line endings are those of LSP: \n, \r\n
// and \r.
type lines struct {
	text searchable
	pos  int // where the next line starts
	lf   int // the first \n from pos on, or the size; behind pos: to be searched
	cr   int // no \r stands from pos to here
	isCR bool
}

// crAhead is how far a \r is searched: most texts have none, and a search per
// line costs more than one over many lines.
const crAhead = 32 << 10

// searchable is a text, in one piece or not.
type searchable interface {
	size() int
	// index finds the first c in [from, to), or -1.
	index(c byte, from, to int) int
}

type flat string

func (t flat) size() int { return len(t) }

func (t flat) index(c byte, from, to int) int {
	if i := strings.IndexByte(string(t[from:to]), c); i >= 0 {
		return from + i
	}
	return -1
}

func linesFrom(text searchable, pos int) lines { return lines{text: text, pos: pos, lf: -1, cr: -1} }

// next gives the line at pos, [start, end), and goes behind its ending. more
// is false for the last line, which has none.
func (l *lines) next() (start, end int, more bool) {
	start = l.pos
	size := l.text.size()
	if l.lf < l.pos {
		if l.lf = l.text.index('\n', l.pos, size); l.lf < 0 {
			l.lf = size
		}
	}
	if l.cr < l.pos || !l.isCR && l.cr < l.lf {
		limit := min(size, max(l.lf, l.pos+crAhead))
		if l.cr = l.text.index('\r', l.pos, limit); l.cr >= 0 {
			l.isCR = true
		} else {
			l.cr, l.isCR = limit, false
		}
	}
	switch ends := l.isCR && l.cr < l.lf; {
	case ends && (l.cr+1 < l.lf || l.lf == size):
		end, l.pos = l.cr, l.cr+1
	case ends:
		end, l.pos = l.cr, l.lf+1
	case l.lf < size:
		end, l.pos = l.lf, l.lf+1
	default:
		l.pos = size
		return start, size, false
	}
	return start, end, true
}

// positions are the positions of byte offsets, which part no character, in the
// order of the offsets. It walks over the text once. An offset inside a line
// ending means the line's end.
func positions(text string, offsets []int, encoding protocol.PositionEncodingKind) []protocol.Position {
	order := make([]int, len(offsets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(offsets[a], offsets[b]) })
	list := make([]protocol.Position, len(offsets))
	l := linesFrom(flat(text), 0)
	counted, end, more := l.next() // the line is counted up to there
	var at protocol.Position
	for _, i := range order {
		for more && offsets[i] >= l.pos {
			counted, end, more = l.next()
			at = protocol.Position{Line: at.Line + 1}
		}
		if to := min(offsets[i], end); to > counted {
			at.Character += uint32(unitsIn(text[counted:to], encoding))
			counted = to
		}
		list[i] = at
	}
	return list
}

// byteOf is the byte offset of a character in a line without its ending. What
// points inside a character means its start, what points behind the end means
// the end.
func byteOf(line string, character uint32, encoding protocol.PositionEncodingKind) int {
	want, units := uint64(character), uint64(0)
	for i, r := range line {
		n := unitsOf(r, line[i:], encoding)
		if units+n > want {
			return i
		}
		units += n
	}
	return len(line)
}

// unitsIn counts the code units of a text.
func unitsIn(text string, encoding protocol.PositionEncodingKind) (n uint64) {
	if encoding == protocol.PositionEncodingKindUTF8 {
		return uint64(len(text))
	}
	for i, r := range text {
		n += unitsOf(r, text[i:], encoding)
	}
	return n
}

// unitsOf counts the code units of the character that rest begins with.
func unitsOf(r rune, rest string, encoding protocol.PositionEncodingKind) uint64 {
	switch {
	case encoding == protocol.PositionEncodingKindUTF8 && r == utf8.RuneError:
		_, n := utf8.DecodeRuneInString(rest)
		return uint64(n)
	case encoding == protocol.PositionEncodingKindUTF8:
		return uint64(utf8.RuneLen(r))
	case encoding == protocol.PositionEncodingKindUTF32 || r < 0x10000:
		return 1
	}
	return 2
}
