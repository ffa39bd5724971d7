package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"
)

// foldMax is how many folds a client gets that names no limit.
const foldMax = 5000

// serveFoldingRange folds the turns of a prompt buffer, and the fenced blocks
// in them, such as a quoted selection (LSP 3.18 textDocument/foldingRange).
func serveFoldingRange(s *Server, _ context.Context, m promptModel, _ promptParams) (any, error) {
	limit, titles := s.peer.folding()
	var spans []textSpan
	var folds []protocol.FoldingRange
	fold := func(sp textSpan, title string) {
		spans = append(spans, sp)
		f := protocol.FoldingRange{}
		if titles && title != "" {
			f.CollapsedText = &title
		}
		folds = append(folds, f)
	}
	for _, b := range m.blocks {
		if b.role != "" {
			whole := b.whole()
			fold(textSpan{whole.start, whole.start + len(strings.TrimRight(whole.of(m.doc.text), " \t\r\n"))}, m.title(b))
		}
	}
	for _, b := range m.blocks { // behind the turns: they are what matters where not all can be had
		for _, f := range b.fences {
			fold(f, "")
		}
	}
	list := make([]protocol.FoldingRange, 0, len(folds))
	for i, r := range s.rangesOf(m.doc.text, spans) {
		if r.Start.Line < r.End.Line && len(list) < limit {
			folds[i].StartLine, folds[i].EndLine = r.Start.Line, r.End.Line
			list = append(list, folds[i])
		}
	}
	return list, nil
}

// folding is how many folds the client takes, and whether it shows a text for
// one that is closed.
func (p peer) folding() (limit int, titles bool) {
	limit = foldMax
	doc := p.caps.TextDocument
	if doc == nil || doc.FoldingRange == nil {
		return limit, false
	}
	if n := doc.FoldingRange.RangeLimit; n != nil && *n > 0 {
		limit = int(min(*n, foldMax))
	}
	text := doc.FoldingRange.FoldingRange
	return limit, text != nil && deref(text.CollapsedText)
}
