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
// completes, where it does not look at the edit's range; nil: it does, or it
// looks for the word's letters anywhere in the filterText.
func (p peer) wordAtPoint() func(rune) bool {
	name := strings.ToLower(p.name)
	switch isEglot := strings.Contains(name, "eglot"); {
	case isEglot && p.version != "" && !olderThan(p.version, 1, 17):
	case isEglot, strings.Contains(name, "emacs"):
		// A symbol in text modes: Emacs' standard syntax table.
		return func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-+*/&|<>=$%", r)
		}
	case name == "neovim" && olderThan(p.version, 0, 10):
		return func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	}
	return nil
}

// filtersByText reports a client that looks at the new text alone, whatever
// filterText says.
func (p peer) filtersByText() bool {
	return strings.EqualFold(p.name, "neovim") && olderThan(p.version, 0, 11)
}

// completionTriggers are the characters at which clients ask. With @ alone
// popups close at the colon in Neovim, and at times in VS Code. Those of Neovim
// and Helix close at each character that is in no word, and URIs are full of
// dots and hyphens.
func (p peer) completionTriggers() []string {
	all := []string{"@", ":", "/"}
	if strings.EqualFold(p.name, "neovim") || strings.EqualFold(p.name, "helix") {
		all = append(all, ".", "-")
	}
	return all
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
