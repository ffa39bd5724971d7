package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"
)

// point is a place in an open document that moves with what the user types.
type point struct {
	s      *Server
	at     document // what offset is for
	offset int
	near   string // stood before the point when it was set
	lost   bool
}

// newPoint is the place at an offset of a document.
func newPoint(s *Server, d document, offset int) *point {
	return &point{s: s, at: d, offset: offset, near: d.text[max(0, offset-200):offset]}
}

// follow moves the point to the text of now. It fails when the document is
// closed, or when what the point stood at is gone.
func (p *point) follow() error {
	d, ok := p.s.docs.current(p.at)
	if !ok {
		return errClosed
	}
	if d.text != p.at.text {
		offset, ok := 0, false
		if !p.lost {
			offset, ok = d.place(p.at, p.offset)
		}
		if !ok && strings.Count(d.text, p.near) == 1 {
			offset, ok = strings.Index(d.text, p.near)+len(p.near), true
		}
		p.offset, p.lost = offset, !ok // what was undone is found again
	}
	p.at = d
	if p.lost {
		return errAnchorGone
	}
	return nil
}

// alive reports whether the turn that the point belongs to still holds text
// before it.
func (p *point) alive() bool {
	for _, t := range turns(p.at.text) {
		if t.start <= p.offset && p.offset <= t.end {
			return strings.TrimSpace(p.at.text[t.start:p.offset]) != ""
		}
	}
	return false
}

// insert puts text in at the point, which then stands after it, and behind the
// point what comes next. Nothing of the user's is replaced; a client that
// refuses because the document went on is asked again. The edit counts as done
// only when the document has the text. Nothing is no edit.
func (p *point) insert(ctx context.Context, text, next string) error {
	if text == "" && next == "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, confirmWithin, errUnconfirmed)
	defer cancel()
	if strings.Contains(p.at.text, "\r\n") {
		text, next = strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(next, "\n", "\r\n") // as the editor would
	}
	all := text + next
	for {
		if err := p.follow(); err != nil {
			return err
		}
		at := p.s.docs.position(p.at.text, p.offset)
		before, want := p.at.text, p.at.text[:p.offset]+all+p.at.text[p.offset:]
		now, again, err := p.s.change(ctx, change{
			of: p.at, edits: []protocol.TextEdit{{Range: protocol.Range{Start: at, End: at}, NewText: all}},
			holds: func(now string) bool { _, ok := landed(want, now, p.offset, all); return ok },
			lacks: func(now string) bool { return !gained(before, now, all) },
		})
		switch {
		case again:
			continue
		case err != nil:
			return err
		}
		end, _ := landed(want, now.text, p.offset, all)
		*p = *newPoint(p.s, now, end-len(next))
		return nil
	}
}

// landed gives the end of a text that stands at an offset of want, in a text
// that followed it.
func landed(want, now string, offset int, text string) (end int, ok bool) {
	start, ok1 := move(want, now, offset)
	end, ok2 := move(want, now, offset+len(text))
	return end, ok1 && ok2 && start <= end && now[start:end] == text
}

// gained reports whether the beginning of text stands more often in now than
// it did before.
func gained(before, now, text string) bool {
	head := text[:min(len(text), 200)]
	return strings.Count(now, head) > strings.Count(before, head)
}
