package lsp

import (
	"bytes"

	"go.lsp.dev/protocol"
)

// buffer is a text that is being edited. Edits near each other cost what they
// are long, however long the text is: the text lies around a gap, and the
// place of the last edit is remembered.
type buffer struct {
	b      []byte // the text is b[:lo] and b[hi:]
	lo, hi int

	line, start int // a line and where it starts, at or before the last edit
}

func newBuffer(text string) *buffer {
	b := make([]byte, len(text), len(text)+len(text)/8+256)
	copy(b, text)
	return &buffer{b: b, lo: len(b), hi: len(b)}
}

func (t *buffer) size() int { return t.lo + len(t.b) - t.hi }

func (t *buffer) at(i int) byte {
	if i >= t.lo {
		i += t.hi - t.lo
	}
	return t.b[i]
}

func (t *buffer) index(c byte, from, to int) int {
	if from < t.lo {
		if i := bytes.IndexByte(t.b[from:min(to, t.lo)], c); i >= 0 {
			return from + i
		}
		from = t.lo
	}
	if from < to {
		gap := t.hi - t.lo
		if i := bytes.IndexByte(t.b[from+gap:to+gap], c); i >= 0 {
			return from + i
		}
	}
	return -1
}

func (t *buffer) String() string { return t.slice(0, t.size()) }

func (t *buffer) slice(from, to int) string {
	gap := t.hi - t.lo
	switch {
	case to <= t.lo:
		return string(t.b[from:to])
	case from >= t.lo:
		return string(t.b[from+gap : to+gap])
	}
	part := make([]byte, 0, to-from)
	part = append(part, t.b[from:t.lo]...)
	return string(append(part, t.b[t.hi:to+gap]...))
}

// splice replaces [from, to).
func (t *buffer) splice(from, to int, text string) {
	if t.start > from {
		t.line, t.start = 0, 0
	}
	t.moveGap(from)
	t.hi += to - from
	if t.hi-t.lo < len(text) {
		t.grow(len(text))
	}
	t.lo += copy(t.b[t.lo:], text)
}

func (t *buffer) moveGap(to int) {
	if n := t.lo - to; n > 0 {
		copy(t.b[t.hi-n:t.hi], t.b[to:t.lo])
		t.lo, t.hi = to, t.hi-n
	} else if n < 0 {
		copy(t.b[t.lo:], t.b[t.hi:t.hi-n])
		t.lo, t.hi = to, t.hi-n
	}
}

// grow makes the gap at least n wide.
func (t *buffer) grow(n int) {
	right := len(t.b) - t.hi
	b := make([]byte, t.lo+n+t.size()/8+256+right)
	copy(b, t.b[:t.lo])
	copy(b[len(b)-right:], t.b[t.hi:])
	t.b, t.hi = b, len(b)-right
}

// offset is the byte offset of a position, clamped to the text.
func (t *buffer) offset(p protocol.Position, encoding protocol.PositionEncodingKind) int {
	start := t.seek(int(p.Line))
	l := linesFrom(t, start)
	_, end, more := l.next()
	if !more && t.line < int(p.Line) {
		return t.size() // a line behind the last
	}
	// No code unit takes more than 4 bytes: a long line is not copied whole.
	end = int(min(int64(end), int64(start)+4*int64(p.Character)+4))
	return start + byteOf(t.slice(start, end), p.Character, encoding)
}

// seek finds where a line starts, or where the last one does, and remembers
// it.
func (t *buffer) seek(line int) int {
	if !t.isLineStart(t.start) || line < t.line/2 {
		t.line, t.start = 0, 0
	}
	for t.line > line {
		t.line, t.start = t.line-1, t.lineBefore(t.start)
	}
	for l := linesFrom(t, t.start); t.line < line; t.line++ {
		if _, _, more := l.next(); !more {
			break
		}
		t.start = l.pos
	}
	return t.start
}

// isLineStart reports whether a line starts at i. After an edit behind i - 1
// that decides whether lines can be counted from there.
func (t *buffer) isLineStart(i int) bool {
	switch {
	case i == 0:
		return true
	case i > t.size():
		return false
	case t.at(i-1) == '\n':
		return true
	}
	return t.at(i-1) == '\r' && (i == t.size() || t.at(i) != '\n')
}

// lineBefore is the start of the line before the one that starts at i.
func (t *buffer) lineBefore(i int) int {
	i--
	if t.at(i) == '\n' && i > 0 && t.at(i-1) == '\r' {
		i--
	}
	for i > 0 && t.at(i-1) != '\n' && t.at(i-1) != '\r' {
		i--
	}
	return i
}
