package lsp

import "slices"

// splice is a change of a text: its bytes [from, to) became n others.
type splice struct{ from, to, n int }

// maxSplices is how many changes of a document are remembered.
const maxSplices = 1024

// spliceOf is the change of a part of a text that starts at an offset, less
// what it left as it was at its ends: editors replace more than what differs.
func spliceOf(from int, old, now string) splice {
	start := prefix(old, now)
	end := suffix(old[start:], now[start:])
	return splice{from + start, from + len(old) - end, len(now) - start - end}
}

// move gives the offset behind the change of a place before it. A place inside
// it is lost. What was put in at the place itself comes after it.
func (c splice) move(offset int) (int, bool) {
	switch {
	case offset <= c.from:
		return offset, true
	case offset >= c.to:
		return offset + c.n - (c.to - c.from), true
	}
	return 0, false
}

// move is [splice.move] for a text that became another one, in whatever steps.
func move(old, now string, offset int) (int, bool) {
	return spliceOf(0, old, now).move(offset)
}

// spliced remembers a change. Snapshots share what was remembered before.
func (o *openDocument) spliced(c splice) {
	if len(o.splices) >= maxSplices {
		o.splices = slices.Clone(o.splices[maxSplices/2:])
	}
	o.splices = append(o.splices, c)
	o.changes++
}

// replaced remembers that the text became another one as a whole.
func (o *openDocument) replaced() {
	o.splices = nil
	o.changes++
}

// place is where a place of an earlier snapshot is in this one. Each change
// moves it on its own: taken together, two on both sides of it look like one
// that it is lost in.
func (d document) place(of document, offset int) (int, bool) {
	n := d.changes - of.changes
	if d.opened != of.opened || n < 0 || n > len(d.splices) {
		return move(of.text, d.text, offset)
	}
	for _, c := range d.splices[len(d.splices)-n:] {
		var ok bool
		if offset, ok = c.move(offset); !ok {
			return 0, false
		}
	}
	return offset, true
}
