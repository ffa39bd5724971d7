package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"go.lsp.dev/protocol"

	"agentls/mcp"
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
	return func(context.Context) (any, error) {
		cursor := s.docs.offset(doc.text, p.Position.position())
		at, ok := mentionAt(doc.text, cursor)
		if !ok {
			return nil, nil
		}
		typed := doc.text[at:cursor]
		candidates, incomplete := s.o.Manager.Complete(typed[1:], maxItems)
		edit := s.mentionEdit(doc.text, at, cursor)
		list := &protocol.CompletionList{IsIncomplete: incomplete, Items: make([]protocol.CompletionItem, 0, len(candidates))}
		for _, c := range candidates {
			if item, ok := edit.item(c, len(list.Items)); ok {
				list.Items = append(list.Items, item)
			}
		}
		return list, nil
	}, nil
}

// mentionEdit is how candidates take the place of what is typed.
type mentionEdit struct {
	kept   string // what stays of the typed text, from '@' on
	quoted bool   // the typed URI begins with a quote
	whole  bool   // the edit covers the whole mention
	spans  protocol.Range
	labels bool // the client shows labelDetails
}

// mentionEdit replaces the mention from '@' on. Clients that filter by a word
// at point of their own get only the part of it that they take for one.
func (s *Server) mentionEdit(text string, at, cursor int) mentionEdit {
	start := at
	if part := s.peer.wordAtPoint(); part != nil {
		start = at + 1 + len(strings.TrimRightFunc(text[at+1:cursor], part))
	}
	_, uri, _ := strings.Cut(text[at:cursor], ":")
	return mentionEdit{
		kept: text[at:start], whole: start == at, labels: s.peer.labelDetails(),
		quoted: strings.HasPrefix(uri, "<") || strings.HasPrefix(uri, `"`),
		spans:  protocol.Range{Start: s.docs.position(text, start), End: s.docs.position(text, cursor)},
	}
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

// item is the nth item. Candidates that would not continue what is typed are
// no use to a client that keeps that.
func (e mentionEdit) item(c mcp.Candidate, n int) (item protocol.CompletionItem, ok bool) {
	text, ok := strings.CutPrefix(c.Insert, e.kept)
	if !ok && !e.whole || strings.ContainsFunc(c.Insert, unicode.IsControl) {
		return item, false
	}
	if e.whole {
		text = c.Insert
	}
	filter := text
	if !e.quoted {
		// Clients match from the left: a quote that was not typed must not count.
		filter = unquote(c.Insert)[len(e.kept):]
	}
	item = protocol.CompletionItem{
		Label: clean(c.Label), Kind: protocol.CompletionItemKindReference,
		SortText:   protocol.NewOptional(sortText(n)),
		FilterText: protocol.NewOptional(filter),
		TextEdit:   &protocol.TextEdit{Range: e.spans, NewText: text},
	}
	server, description := c.Mention, ""
	switch {
	case c.Resource != nil:
		item.Kind, description = protocol.CompletionItemKindFile, c.Resource.Description
		item.Data = itemData(c.Server, c.Resource.URI)
	case c.Template != nil:
		item.Kind, description = protocol.CompletionItemKindInterface, c.Template.Description
	default:
		item.Kind = protocol.CompletionItemKindModule
	}
	if mime := mimeOf(c); mime != "" {
		server += " · " + clean(mime)
	}
	if e.labels {
		item.LabelDetails = &protocol.CompletionItemLabelDetails{Description: &server}
	} else {
		description = strings.TrimSuffix(server+" · "+description, " · ")
	}
	if description != "" {
		item.Detail = protocol.NewOptional(clean(description))
	}
	return item, true
}

func mimeOf(c mcp.Candidate) string {
	switch {
	case c.Resource != nil:
		return c.Resource.MIMEType
	case c.Template != nil:
		return c.Template.MIMEType
	}
	return ""
}

// unquote takes the quotes of a mention's URI away.
func unquote(mention string) string {
	name, uri, ok := strings.Cut(mention, ":")
	if !ok || len(uri) < 2 || uri[0] != '<' && uri[0] != '"' {
		return mention
	}
	return name + ":" + uri[1:len(uri)-1]
}

// sortText keeps the order of the list, which is the server's ranking.
func sortText(n int) string {
	s := strconv.Itoa(n)
	return "0000"[len(s):] + s
}

// resolvable is the data of an item that has more to tell.
type resolvable struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
}

func itemData(server, uri string) protocol.LSPAny {
	raw, _ := json.Marshal(resolvable{server, uri}) // strings: cannot fail
	return raw
}
