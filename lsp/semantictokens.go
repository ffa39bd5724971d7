package lsp

import (
	"cmp"
	"context"
	"slices"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

// tokenType is a place in the legend.
type tokenType uint32

// The types of tokens. They are LSP's own, for which every theme has a colour.
const (
	tokenHeading  tokenType = iota // of a turn
	tokenServer                    // a server's name, with what parts it from what follows
	tokenKnown                     // a URI that the server lists
	tokenOther                     // one that it does not
	tokenCommand                   // the name of a `/` command, or of a prompt
	tokenArgument                  // the name of an argument
)

// tokenLegend names the types in their order.
func tokenLegend() protocol.SemanticTokensLegend {
	return protocol.SemanticTokensLegend{
		TokenTypes: []string{
			string(protocol.SemanticTokenTypesKeyword), string(protocol.SemanticTokenTypesNamespace), string(protocol.SemanticTokenTypesString),
			string(protocol.SemanticTokenTypesVariable), string(protocol.SemanticTokenTypesFunction), string(protocol.SemanticTokenTypesParameter),
		},
		TokenModifiers: []string{},
	}
}

// token is a part of one line.
type token struct {
	textSpan
	kind tokenType
}

// serveSemanticTokens tells what in a prompt buffer means something: textDocument/semanticTokens/full, and
// range with a range (LSP 3.18). What is left alone, as a mention in quotes or
// an unknown command, has no token.
func serveSemanticTokens(s *Server, _ context.Context, m promptModel, p promptParams) (any, error) {
	part := textSpan{0, len(m.doc.text)}
	if p.Range != nil {
		part = textSpan{s.docs.offset(m.doc.text, p.Range.Start.position()), s.docs.offset(m.doc.text, p.Range.End.position())}
	}
	var tokens []token
	names := s.slashNames()
	for _, b := range m.blocks {
		if whole := b.whole(); whole.start > part.end || whole.end < part.start {
			continue
		}
		for _, t := range blockTokens(m.doc.text, b, names) {
			if t.start < t.end && t.start < part.end && t.end > part.start {
				tokens = append(tokens, t)
			}
		}
	}
	return &protocol.SemanticTokens{Data: s.encodeTokens(m.doc.text, tokens)}, nil
}

// blockTokens are those of one block, in order.
func blockTokens(text string, b promptBlock, names map[string]bool) []token {
	tokens := []token{{b.heading, tokenHeading}}
	for _, l := range b.slash {
		tokens = append(tokens, slashTokens(text, l, names)...)
	}
	for _, m := range b.mentions {
		if m.Quoted || m.Server == "" {
			continue
		}
		colon := m.Start + len("@") + len(m.Name) + len(":")
		kind := tokenOther
		if m.Known || m.Expands {
			kind = tokenKnown
		}
		tokens = append(tokens, token{textSpan{m.Start, colon}, tokenServer}, token{textSpan{colon, m.End}, kind})
	}
	slices.SortStableFunc(tokens, func(a, b token) int { return cmp.Compare(a.start, b.start) })
	return tokens
}

// slashTokens are those of a `/` line that names a command or a prompt.
func slashTokens(text string, l slashLine, names map[string]bool) []token {
	line, ok := agent.ParseSlash(l.line.of(text))
	if !ok || !l.leads || !names[line.Name] {
		return nil
	}
	at := l.line.start
	tokens := []token{{textSpan{at, at + line.End}, tokenCommand}}
	if line.Server != "" {
		colon := at + len("/") + len(line.Server) + len(":")
		tokens = []token{{textSpan{at, colon}, tokenServer}, {textSpan{colon, at + line.End}, tokenCommand}}
		for _, a := range line.Args {
			if a.Name != "" {
				tokens = append(tokens, token{textSpan{at + a.Start, at + a.At}, tokenArgument})
			}
		}
	}
	return tokens
}

// slashNames are the names of the commands and of the prompts that are there.
func (s *Server) slashNames() map[string]bool {
	names := map[string]bool{}
	for _, c := range agent.SlashCommands() {
		names[c.Name] = true
	}
	for _, p := range s.o.Manager.PromptList() {
		names[p.Name+":"+p.Prompt.Name] = true
	}
	return names
}

// encodeTokens writes tokens in order as LSP has them: line and character
// relative to the one before, length, type, modifiers. Where two overlap, as a
// mention in an argument, the later one begins behind the first.
func (s *Server) encodeTokens(text string, tokens []token) []uint32 {
	spans := make([]textSpan, 0, len(tokens))
	end := 0
	for i, t := range tokens {
		tokens[i].start = max(t.start, end)
		end = max(end, t.end)
		spans = append(spans, textSpan{tokens[i].start, max(tokens[i].start, t.end)})
	}
	data := make([]uint32, 0, 5*len(tokens))
	var last protocol.Position
	for i, r := range s.rangesOf(text, spans) {
		if r.Start == r.End {
			continue
		}
		line, character := r.Start.Line-last.Line, r.Start.Character
		if line == 0 {
			character -= last.Character
		}
		data = append(data, line, character, r.End.Character-r.Start.Character, uint32(tokens[i].kind), 0)
		last = r.Start
	}
	return data
}
