package lsp

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"go.lsp.dev/protocol"
)

// maxItems bounds a completion list (CONTRACT §6).
const maxItems = 100

// prepareCompletion completes mentions and `/` lines in prompt buffers, from the
// cache; in anything else, and outside of both, the answer is null.
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
		if list, ok := s.completeSlash(ctx, doc.text, cursor); ok {
			return list, nil
		}
		at, ok := mentionAt(doc.text, cursor)
		if !ok {
			return nil, nil
		}
		typed := doc.text[at:cursor]
		candidates, incomplete := s.o.Manager.Complete(ctx, typed[1:], maxItems)
		return s.mentionEdit(doc.text, at, cursor).mentions(candidates, incomplete), nil
	}, nil
}

// wordAtPoint tells how many bytes at the end of a text the client takes for
// the word that it completes, where it does not look at the edit's range; nil:
// it does, or it looks for the word's letters anywhere in the filterText.
func (p peer) wordAtPoint() func(string) int {
	name := strings.ToLower(p.name)
	switch isEglot := strings.Contains(name, "eglot"); {
	case isEglot && p.version != "" && !olderThan(p.version, 1, 17):
		return nil
	case isEglot, strings.Contains(name, "emacs"), name == "" && deref(p.completion().ContextSupport):
		return emacsSymbol // eglot had no name until 1.10
	case name == "":
		return aleWord
	case name == "neovim" && olderThan(p.version, 0, 10):
		return func(text string) int { return trailing(text, isWord) }
	}
	return nil
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// trailing is how many bytes at the end of a text are such characters.
func trailing(text string, part func(rune) bool) int {
	return len(text) - len(strings.TrimRightFunc(text, part))
}

// emacsSymbol is a symbol of text modes: by Emacs' standard syntax table.
func emacsSymbol(text string) int {
	return trailing(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-+*/&|<>=$%", r)
	})
}

// aleWord is what ALE, which does not say its name, completes: a word of ASCII
// that does not begin with a digit.
func aleWord(text string) int {
	n := trailing(text, func(r rune) bool { return r <= unicode.MaxASCII && (isWord(r) || r == '$') })
	return len(strings.TrimLeft(text[len(text)-n:], "0123456789"))
}

// filtersByText reports a client that looks at the new text alone, whatever
// filterText says.
func (p peer) filtersByText() bool {
	return strings.EqualFold(p.name, "neovim") && olderThan(p.version, 0, 11)
}

// completionTriggers are the characters at which clients ask. With @ alone
// popups close at the colon in Neovim, and at times in VS Code. Those of Neovim
// and Helix close at each character that is in no word, and URIs are full of
// dots and hyphens. Arguments of `/` lines follow a space or an =, which only
// clients are told of that do not wait for an answer while a person types.
func (p peer) completionTriggers() []string {
	all := []string{"@", ":", "/"}
	words := strings.EqualFold(p.name, "neovim") || strings.EqualFold(p.name, "helix")
	if words {
		all = append(all, ".", "-")
	}
	if words || strings.Contains(strings.ToLower(p.name), "code") { // VS Code and what is made of it
		all = append(all, " ", "=")
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
	item := p.completion().CompletionItem
	return item != nil && deref(item.LabelDetailsSupport)
}

// completion are the client's capabilities of it.
func (p peer) completion() protocol.CompletionClientCapabilities {
	if doc := p.caps.TextDocument; doc != nil {
		return deref(doc.Completion)
	}
	return protocol.CompletionClientCapabilities{}
}
