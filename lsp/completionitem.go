package lsp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"go.lsp.dev/protocol"

	"agentls/mcp"
)

// mentionEdit is how candidates take the place of what is typed.
type mentionEdit struct {
	kept   string // what stays of the typed text, from '@' on
	whole  bool   // the edit covers the whole mention
	quoted bool   // the typed URI begins with a quote
	labels bool   // the client shows labelDetails
	spans  []byte // the encoded range
}

// mentionEdit replaces the mention from '@' on. Clients that filter by a word
// at point of their own get only the part of it that they take for one.
func (s *Server) mentionEdit(text string, at, cursor int) mentionEdit {
	start := at
	if part := s.peer.wordAtPoint(); part != nil {
		start = at + 1 + len(strings.TrimRightFunc(text[at+1:cursor], part))
	}
	_, uri, _ := strings.Cut(text[at:cursor], ":")
	spans, _ := json.Marshal(protocol.Range{Start: s.docs.position(text, start), End: s.docs.position(text, cursor)}) // numbers: cannot fail
	return mentionEdit{
		kept: text[at:start], whole: start == at, labels: s.peer.labelDetails(), spans: spans,
		quoted: strings.HasPrefix(uri, "<") || strings.HasPrefix(uri, `"`),
	}
}

// list encodes a CompletionList. It is written by hand: protocol's types take
// several times as long, and completion is what a user waits for at each key.
func (e mentionEdit) list(candidates []mcp.Candidate, incomplete bool) json.RawMessage {
	dst := make([]byte, 0, 64+400*len(candidates))
	dst = append(dst, `{"isIncomplete":`...)
	dst = strconv.AppendBool(dst, incomplete)
	dst = append(dst, `,"items":[`...)
	n := 0
	for _, c := range candidates {
		if n > 0 {
			dst = append(dst, ',')
		}
		var ok bool
		if dst, ok = e.item(dst, c, n); ok {
			n++
		} else if n > 0 {
			dst = dst[:len(dst)-1]
		}
	}
	return append(dst, "]}"...)
}

// item appends the nth item. Candidates that would not continue what is typed
// are no use to a client that keeps that.
func (e mentionEdit) item(dst []byte, c mcp.Candidate, n int) (_ []byte, ok bool) {
	text, ok := strings.CutPrefix(c.Insert, e.kept)
	if e.whole {
		text, ok = c.Insert, true
	}
	if !ok || strings.ContainsFunc(c.Insert, unicode.IsControl) {
		return dst, false
	}
	filter := text
	if !e.quoted {
		// Clients match from the left: a quote that was not typed must not count.
		filter = unquote(text)
	}
	kind, source, about := protocol.CompletionItemKindModule, c.Mention, ""
	switch {
	case c.Resource != nil:
		kind, about = protocol.CompletionItemKindFile, clean(c.Resource.Description)
		source = join(source, clean(c.Resource.MIMEType))
	case c.Template != nil:
		kind, about = protocol.CompletionItemKindInterface, clean(c.Template.Description)
		source = join(source, clean(c.Template.MIMEType))
	}
	dst = appendString(append(dst, `{"label":`...), clean(c.Label))
	dst = strconv.AppendInt(append(dst, `,"kind":`...), int64(kind), 10)
	if e.labels {
		dst = append(appendString(append(dst, `,"labelDetails":{"description":`...), source), '}')
	} else {
		about = join(source, about)
	}
	if about != "" {
		dst = appendString(append(dst, `,"detail":`...), about)
	}
	dst = fmt.Appendf(dst, `,"sortText":"%04d"`, n) // keeps the server's ranking
	dst = appendString(append(dst, `,"filterText":`...), filter)
	dst = append(append(dst, `,"textEdit":{"range":`...), e.spans...)
	dst = append(appendString(append(dst, `,"newText":`...), text), '}')
	if c.Resource != nil {
		dst = appendString(append(dst, `,"data":{"server":`...), c.Server)
		dst = append(appendString(append(dst, `,"uri":`...), c.Resource.URI), '}')
	}
	return append(dst, '}'), true
}

// resolvable is the data of an item that has more to tell, see prepareResolve.
type resolvable struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
}

// join puts what there is of two texts on one line.
func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + " · " + b
}

// unquote takes the quotes of a URI away, which stands at the end of a mention
// or of the rest of one.
func unquote(mention string) string {
	i := strings.IndexAny(mention, "<\"")
	if i < 0 || i > 0 && mention[i-1] != ':' || len(mention) < i+2 {
		return mention
	}
	return mention[:i] + mention[i+1:len(mention)-1]
}

// appendString appends a JSON string. Nearly every one is plain.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := protocol.AppendMarshal(dst, protocol.String(s)) // a string: cannot fail
			return quoted
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
