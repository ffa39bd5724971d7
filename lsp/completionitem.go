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
	typed  string // what the edit replaces, and clients filter by
	whole  bool   // the edit covers the whole mention
	quoted bool   // the typed URI begins with a quote
	bare   bool   // the client filters by the new text, or keeps what stands before the edit
	labels bool   // the client shows labelDetails
	spans  []byte // the encoded range
}

// mentionEdit replaces the mention from '@' on. Clients that filter by a word
// at point of their own get only the part of it that they take for one.
func (s *Server) mentionEdit(text string, at, cursor int) mentionEdit {
	start := at
	if word := s.peer.wordAtPoint(); word != nil {
		start = cursor - word(text[at+1:cursor])
	}
	_, uri, _ := strings.Cut(text[at:cursor], ":")
	spans, _ := json.Marshal(protocol.Range{Start: s.docs.position(text, start), End: s.docs.position(text, cursor)}) // numbers: cannot fail
	return mentionEdit{
		kept: text[at:start], typed: text[start:cursor], whole: start == at, bare: start != at || s.peer.filtersByText(), labels: s.peer.labelDetails(), spans: spans,
		quoted: strings.HasPrefix(uri, "<") || strings.HasPrefix(uri, `"`),
	}
}

// list encodes a CompletionList. It is written by hand: protocol's types take
// several times as long, and completion is what a user waits for at each key.
// It is incomplete whenever it holds something: what fits the next key, by a
// title or in another order, is ours to say, and clients that filter on by
// themselves would lose it.
func (e mentionEdit) list(candidates []mcp.Candidate, incomplete bool) json.RawMessage {
	dst := make([]byte, 0, 64+512*len(candidates))
	dst = append(dst, `{"items":[`...)
	labels := make(map[string]bool, len(candidates))
	n := 0
	for _, c := range candidates {
		item, ok := e.item(c)
		if !ok {
			continue
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		if item.label = clean(c.Label); labels[item.label] {
			item.label += separator + clean(c.Insert) // some clients find an item by its label
		}
		labels[item.label] = true
		dst = e.encode(dst, item, n)
		n++
	}
	dst = append(dst, `],"isIncomplete":`...)
	return append(strconv.AppendBool(dst, incomplete || n > 0), '}')
}

// mentionItem is one candidate as an item.
type mentionItem struct {
	mcp.Candidate
	label  string
	text   string // to be inserted
	filter string // what the client filters by
}

// item makes an item. Candidates that would not continue what is typed are no
// use to a client that keeps that.
func (e mentionEdit) item(c mcp.Candidate) (item mentionItem, ok bool) {
	insert := c.Insert
	if !isPlainJSON(insert) && strings.ContainsFunc(insert, unicode.IsControl) {
		return item, false
	}
	if bare := unquote(insert); e.bare && c.Resource != nil && !strings.HasPrefix(insert, e.kept+e.typed) && strings.HasPrefix(bare, e.kept+e.typed) {
		insert = bare // it is listed: it is read back also without quotes
	}
	text, ok := strings.CutPrefix(insert, e.kept)
	if e.whole {
		text, ok = insert, true
	}
	item = mentionItem{Candidate: c, text: text, filter: text}
	if !e.quoted && !strings.HasPrefix(text, e.typed) {
		// Clients match from the left: a quote that was not typed must not count.
		item.filter = unquote(text)
	}
	return item, ok
}

// encode appends the nth item.
func (e mentionEdit) encode(dst []byte, item mentionItem, n int) []byte {
	kind, mime, about := protocol.CompletionItemKindModule, "", ""
	switch {
	case item.Resource != nil:
		kind, mime, about = protocol.CompletionItemKindFile, item.Resource.MIMEType, item.Resource.Description
	case item.Template != nil:
		kind, mime, about = protocol.CompletionItemKindInterface, item.Template.MIMEType, item.Template.Description
	}
	mime, about = clean(mime), clean(about)
	dst = appendString(append(dst, `{"label":`...), item.label)
	dst = strconv.AppendInt(append(dst, `,"kind":`...), int64(kind), 10)
	if e.labels {
		dst = append(appendString(append(dst, `,"labelDetails":{"description":`...), item.Mention, dot(mime), mime), '}')
		if about != "" {
			dst = appendString(append(dst, `,"detail":`...), about)
		}
	} else {
		dst = appendString(append(dst, `,"detail":`...), item.Mention, dot(mime), mime, dot(about), about)
	}
	rank := strconv.Itoa(n) // keeps the server's order; of less than a hundred no memory is taken
	dst = appendString(append(dst, `,"sortText":`...), "0000"[len(rank):], rank)
	// A prefix is looked for, or letters in order, by VS Code in 128 characters.
	if strings.HasPrefix(item.filter, e.typed) {
		dst = appendString(append(dst, `,"filterText":`...), item.filter)
	} else {
		dst = appendString(append(dst, `,"filterText":`...), e.typed, " ", item.label, " ", item.filter)
	}
	// Neovim 0.10 takes what does not say that it is plain for a snippet.
	dst = append(append(dst, `,"insertTextFormat":1,"textEdit":{"range":`...), e.spans...)
	dst = append(appendString(append(dst, `,"newText":`...), item.text), '}')
	if item.Resource != nil {
		dst = appendString(append(dst, `,"data":{"server":`...), item.Server)
		dst = append(appendString(append(dst, `,"uri":`...), item.Resource.URI), '}')
	}
	return append(dst, '}')
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
