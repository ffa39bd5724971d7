package lsp

import (
	"context"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// turnTitleMax is how many code points of a turn's first words name it.
const turnTitleMax = 60

// serveDocumentSymbol lists the turns of a prompt buffer (LSP 3.18
// textDocument/documentSymbol): answers stand below the prompt that they are
// to, or in one list for clients that know no tree.
func serveDocumentSymbol(s *Server, _ context.Context, m promptModel, _ promptParams) (any, error) {
	var spans []textSpan
	for _, b := range m.blocks {
		head := b.heading
		if b.role == "" { // the first line that says something
			text := m.doc.text
			head.start = len(text) - len(strings.TrimLeft(text, " \t\r\n"))
			head.end = head.start + len(lineOf(text[head.start:]))
		}
		spans = append(spans, b.whole(), head)
	}
	ranges := s.rangesOf(m.doc.text, spans)
	list := []protocol.DocumentSymbol{}
	for i, b := range m.blocks {
		symbol := protocol.DocumentSymbol{Name: m.title(b), Kind: protocol.SymbolKindEvent, Range: ranges[2*i], SelectionRange: ranges[2*i+1]}
		if symbol.Name == "" { // clients refuse it, and there is nothing to find yet
			continue
		}
		if b.role == "agent" {
			symbol.Kind = protocol.SymbolKindString
		}
		if b.role == "agent" && len(list) > 0 {
			parent := &list[len(list)-1]
			parent.Children = append(parent.Children, symbol)
			parent.Range.End = symbol.Range.End
			continue
		}
		list = append(list, symbol)
	}
	if doc := s.peer.caps.TextDocument; doc == nil || doc.DocumentSymbol == nil || !deref(doc.DocumentSymbol.HierarchicalDocumentSymbolSupport) {
		return flatSymbols(m.doc, list), nil
	}
	return list, nil
}

// flatSymbols is the list for clients that know no tree.
func flatSymbols(doc document, tree []protocol.DocumentSymbol) []protocol.SymbolInformation {
	flat := []protocol.SymbolInformation{}
	var add func(list []protocol.DocumentSymbol, in *string)
	add = func(list []protocol.DocumentSymbol, in *string) {
		for _, d := range list {
			flat = append(flat, protocol.SymbolInformation{
				BaseSymbolInformation: protocol.BaseSymbolInformation{Name: d.Name, Kind: d.Kind, ContainerName: in},
				Location:              protocol.Location{URI: uri.URI(doc.spelled), Range: d.Range},
			})
			add(d.Children, &d.Name)
		}
	}
	add(tree, nil)
	return flat
}

// title names a turn: whose it is, and its first words outside of fences, else
// those inside of one. "" for a buffer that says nothing.
func (m promptModel) title(b promptBlock) string {
	words := firstWords(m.doc.text, b)
	switch {
	case b.role == "":
		return words
	case b.role == "you" && words == "":
		return "You"
	case b.role == "you":
		return "You: " + words
	case words == "":
		return "Agent"
	}
	return "Agent: " + words
}

// firstWords are the first words of a block outside of fences, else inside of
// the first one.
func firstWords(text string, b promptBlock) string {
	at := b.start
	for _, f := range slices.Concat(b.fences, []textSpan{{b.end, b.end}}) {
		if words := strings.TrimLeft(text[at:f.start], " \t\r\n"); words != "" {
			return cleanTo(lineOf(words), turnTitleMax)
		}
		at = f.end
	}
	for _, f := range b.fences {
		_, inside, _ := strings.Cut(f.of(text), "\n")
		if words := cleanTo(lineOf(strings.TrimLeft(inside, " \t\r\n")), turnTitleMax); words != "" {
			return words
		}
	}
	return ""
}

// lineOf is the line that a text begins with.
func lineOf(text string) string {
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		return text[:i]
	}
	return text
}
