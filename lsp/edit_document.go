package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agentls/agent"
)

// replace makes the text of an open document another one, and saves it where
// the disk had its text before (CONTRACT §6, Edits). Where the document went
// on before the edit reached it, it is sent again only if it still has that
// text. What was sent is awaited also when ctx ends, unless the editor asks a
// person first.
func (s *Server) replace(ctx context.Context, d document, e agent.Edit) (agent.Edited, error) {
	if ctx.Err() != nil {
		return agent.Edited{}, context.Cause(ctx)
	}
	wasSaved := onDisk(d.path, e.Before)
	d, err := s.sendReplacement(ctx, d, e, wasSaved)
	if err != nil {
		return agent.Edited{}, err
	}
	s.diagnostics.edited(d)
	done := agent.Edited{URI: d.spelled, Text: e.After}
	if s.sameText(d.text, e.After) {
		done.Text = d.text // else a person typed meanwhile
	}
	if wasSaved {
		s.save(ctx, d, &done)
	}
	return done, nil
}

func (s *Server) sendReplacement(ctx context.Context, d document, e agent.Edit, wasSaved bool) (document, error) {
	asks := !e.Asked && s.annotates()
	if asks {
		limited, cancel := context.WithTimeoutCause(ctx, questionTimeout, errUnconfirmed)
		defer cancel()
		ctx = limited
	} else {
		unhurried, cancel := s.unhurried(ctx, answerWithin)
		defer cancel()
		ctx = unhurried
	}
	for {
		switch {
		case d.text != e.Before:
			return document{}, agent.ErrStale
		case e.Before == e.After:
			return d, nil
		}
		now, again, err := s.change(ctx, change{
			of: d, edits: s.docs.minimalEdits(e.Before, e.After), label: clean(e.Label), asks: asks, saves: wasSaved && !s.peer.features.save,
			holds: func(text string) bool {
				return s.sameText(text, e.After) || follows(e.After, e.Before, text)
			},
			lacks: func(text string) bool { return follows(e.Before, e.After, text) },
		})
		switch {
		case errors.Is(err, errClosed), errors.Is(err, errUnconfirmed), err != nil && ctx.Err() != nil:
			return document{}, fmt.Errorf("%w: %w", agent.ErrUnconfirmed, err)
		case !again:
			return now, err
		}
		var open bool
		if d, open = s.docs.current(d); !open {
			return document{}, agent.ErrStale
		}
	}
}

// unhurried is a context that ends with the connection, after d, or some time
// after ctx: what was sent to the editor happens there, cancelled or not.
func (s *Server) unhurried(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	apart, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), d, errUnconfirmed)
	late, end := context.WithCancelCause(apart)
	gone := context.AfterFunc(s.alive, cancel)
	cancelled := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(confirmWithin, func() { end(errUnconfirmed) })
		context.AfterFunc(late, func() { timer.Stop() })
	})
	return late, func() { gone(); cancelled(); end(nil); cancel() }
}

// sameText reports whether a document has a text. Neovim ends each text with a
// newline.
func (s *Server) sameText(text, want string) bool {
	return text == want || s.isNeovim() && strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r") == want
}

// follows reports whether now is want, but for one stretch that lies apart
// from all that makes want another text than other, and that explains it
// better than a stretch that makes it of other.
func follows(want, other, now string) bool {
	if now == want {
		return true
	}
	head, tail := prefix(want, other), suffix(want, other)
	lo, hi := min(head, len(want)-tail), max(head, len(want)-tail)
	start, end, size := stretch(want, now)
	_, _, otherwise := stretch(other, now)
	return (start > hi || end < lo) && size < otherwise
}

// stretch gives the part of a, [start, end), that another text stands for in
// b, and how much changed in both.
func stretch(a, b string) (start, end, size int) {
	start = prefix(a, b)
	tail := suffix(a[start:], b[start:])
	return start, len(a) - tail, len(a) + len(b) - 2*(start+tail)
}

func prefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func suffix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
