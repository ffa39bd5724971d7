package lsp

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// maxItems bounds a completion list (CONTRACT §6).
const maxItems = 100

// prepareCompletion completes mentions in prompt buffers, from the cache; in
// anything else, and outside a mention, the answer is null.
func prepareCompletion(s *Server, _ context.Context, params []byte) (func(context.Context) (any, error), error) {
	p, err := decodePosition(params)
	if err != nil {
		return nil, err
	}
	doc, ok := s.docs.prompt(p.TextDocument.URI)
	if !ok {
		return func(context.Context) (any, error) { return nil, nil }, nil
	}
	return func(ctx context.Context) (any, error) {
		cursor := s.docs.offset(doc.text, p.Position.position())
		at, ok := mentionAt(doc.text, cursor)
		if !ok {
			return nil, nil
		}
		typed := doc.text[at:cursor]
		candidates, incomplete := s.o.Manager.Complete(ctx, typed[1:], maxItems)
		return s.mentionEdit(doc.text, at, cursor).list(candidates, incomplete), nil
	}, nil
}

// wordAtPoint says which characters the client takes for the word that it
// completes, where it does not look at the edit's range; nil: it does.
func (p peer) wordAtPoint() func(rune) bool {
	switch name := strings.ToLower(p.name); {
	case strings.Contains(name, "emacs"), strings.Contains(name, "eglot"):
		// A symbol in text modes: Emacs' standard syntax table.
		return func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-+*/&|<>=$%", r)
		}
	case name == "neovim" && olderThan(p.version, 0, 10):
		return func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	}
	return nil
}

func olderThan(version string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a < major || a == major && b < minor
}

func (p peer) labelDetails() bool {
	doc := p.caps.TextDocument
	return doc != nil && doc.Completion != nil && doc.Completion.CompletionItem.LabelDetailsSupport != nil && *doc.Completion.CompletionItem.LabelDetailsSupport
}
