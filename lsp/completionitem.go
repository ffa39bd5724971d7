package lsp

import (
	"encoding/json"
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
	dst := make([]byte, 0, 64+512*len(candidates))
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
	plain := isPlainJSON(c.Insert)
	if !ok || !plain && strings.ContainsFunc(c.Insert, unicode.IsControl) {
		return dst, false
	}
	filter := text
	if !e.quoted {
		// Clients match from the left: a quote that was not typed must not count.
		filter = unquote(text)
	}
	kind, mime, about := protocol.CompletionItemKindModule, "", ""
	switch {
	case c.Resource != nil:
		kind, mime, about = protocol.CompletionItemKindFile, c.Resource.MIMEType, c.Resource.Description
	case c.Template != nil:
		kind, mime, about = protocol.CompletionItemKindInterface, c.Template.MIMEType, c.Template.Description
	}
	mime, about = clean(mime), clean(about)
	dst = appendString(append(dst, `{"label":`...), clean(c.Label))
	dst = strconv.AppendInt(append(dst, `,"kind":`...), int64(kind), 10)
	if e.labels {
		dst = append(appendString(append(dst, `,"labelDetails":{"description":`...), c.Mention, dot(mime), mime), '}')
		if about != "" {
			dst = appendString(append(dst, `,"detail":`...), about)
		}
	} else {
		dst = appendString(append(dst, `,"detail":`...), c.Mention, dot(mime), mime, dot(about), about)
	}
	rank := strconv.Itoa(n) // keeps the server's order; of less than a hundred no memory is taken
	dst = appendString(append(dst, `,"sortText":`...), "0000"[len(rank):], rank)
	if plain { // then its parts are
		dst = append(append(append(dst, `,"filterText":"`...), filter...), '"')
		dst = append(append(dst, `,"textEdit":{"range":`...), e.spans...)
		dst = append(append(append(dst, `,"newText":"`...), text...), `"}`...)
	} else {
		dst = appendString(append(dst, `,"filterText":`...), filter)
		dst = append(append(dst, `,"textEdit":{"range":`...), e.spans...)
		dst = append(appendString(append(dst, `,"newText":`...), text), '}')
	}
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

const separator = " · "

// dot parts what comes next, if there is something.
func dot(next string) string {
	if next == "" {
		return ""
	}
	return separator
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

// appendString appends a JSON string, made of parts. Nearly every one is plain.
func appendString(dst []byte, parts ...string) []byte {
	dst = append(dst, '"')
	for _, s := range parts {
		if s == separator || isPlainJSON(s) {
			dst = append(dst, s...)
			continue
		}
		quoted, _ := protocol.Marshal(protocol.String(s)) // a string: cannot fail
		dst = append(dst, quoted[1:len(quoted)-1]...)
	}
	return append(dst, '"')
}

// isPlainJSON reports whether a string is of ASCII and stands in JSON as it is.
func isPlainJSON(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
