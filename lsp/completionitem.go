package lsp

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"go.lsp.dev/protocol"

	"agentls/mcp"
)

// itemEdit is how candidates take the place of what is typed.
type itemEdit struct {
	kept   string // what stays of the typed text, from where the candidates begin
	typed  string // what the edit replaces, and clients filter by
	whole  bool   // the edit covers all from there
	quoted bool   // what is typed has a quote
	bare   bool   // the client filters by the new text, or keeps what stands before the edit
	labels bool   // the client shows labelDetails
	spans  []byte // the encoded range
}

// itemEdit replaces what is typed from at on. Clients that filter by a word at
// point of their own get only the part of it that they take for one.
func (s *Server) itemEdit(text string, at, cursor int, quoted bool) itemEdit {
	start := at
	if word := s.peer.wordAtPoint(); word != nil {
		start = cursor - word(text[at:cursor])
	}
	spans, _ := json.Marshal(protocol.Range{Start: s.docs.position(text, start), End: s.docs.position(text, cursor)}) // numbers: cannot fail
	return itemEdit{
		kept: text[at:start], typed: text[start:cursor], whole: start == at, bare: start != at || s.peer.filtersByText(), labels: s.peer.labelDetails(), spans: spans,
		quoted: quoted,
	}
}

// mentionEdit is itemEdit for the mention that begins at an '@'.
func (s *Server) mentionEdit(text string, at, cursor int) itemEdit {
	_, uri, _ := strings.Cut(text[at:cursor], ":")
	return s.itemEdit(text, at, cursor, strings.HasPrefix(uri, "<") || strings.HasPrefix(uri, `"`))
}

// suggestion is what can be put in the place of what is typed.
type suggestion struct {
	label    string // for a person; foreign text
	kind     protocol.CompletionItemKind
	from     string // whose it is
	mime     string // of what type; foreign text
	about    string // more of it; foreign text
	insert   string
	unquoted string // insert without its quotes, where it has some
	loose    bool   // that is read back as well
	resource *mcp.Resource
	server   string // of the resource
}

// ofMention is the suggestion of a mention's candidate.
func ofMention(c mcp.Candidate) suggestion {
	g := suggestion{label: c.Label, kind: protocol.CompletionItemKindModule, from: c.Mention, insert: c.Insert, unquoted: unquote(c.Insert), server: c.Server}
	switch {
	case c.Resource != nil:
		g.kind, g.mime, g.about, g.resource = protocol.CompletionItemKindFile, c.Resource.MIMEType, c.Resource.Description, c.Resource
		g.loose = true // it is listed
	case c.Template != nil:
		g.kind, g.mime, g.about = protocol.CompletionItemKindInterface, c.Template.MIMEType, c.Template.Description
	}
	return g
}

// mentions is list for the candidates of a mention.
func (e itemEdit) mentions(candidates []mcp.Candidate, incomplete bool) json.RawMessage {
	return e.list(len(candidates), func(i int) suggestion { return ofMention(candidates[i]) }, incomplete)
}

// suggestions is list for suggestions that are at hand.
func (e itemEdit) suggestions(list []suggestion, incomplete bool) json.RawMessage {
	return e.list(len(list), func(i int) suggestion { return list[i] }, incomplete)
}

// list encodes a CompletionList of n suggestions, made one by one. It is written
// by hand: protocol's types take several times as long, and completion is what a
// user waits for at each key.
// It is incomplete whenever it holds something: what fits the next key, by a
// title or in another order, is ours to say, and clients that filter on by
// themselves would lose it.
func (e itemEdit) list(n int, at func(i int) suggestion, incomplete bool) json.RawMessage {
	dst := make([]byte, 0, 64+512*n)
	dst = append(dst, `{"items":[`...)
	labels := make(map[string]bool, n)
	kept := 0
	for i := range n {
		item := listItem{suggestion: at(i)}
		if !e.item(&item) {
			continue
		}
		if kept > 0 {
			dst = append(dst, ',')
		}
		if item.label = clean(item.label); item.label == "" {
			item.label = clean(item.insert)
		} else if labels[item.label] {
			item.label += separator + clean(item.insert) // some clients find an item by its label
		}
		labels[item.label] = true
		dst = e.encode(dst, &item, kept)
		kept++
	}
	dst = append(dst, `],"isIncomplete":`...)
	return append(strconv.AppendBool(dst, incomplete || kept > 0), '}')
}

// listItem is a suggestion as an item.
type listItem struct {
	suggestion
	text   string // to be inserted
	filter string // what the client filters by
	plain  bool   // what is inserted stands in JSON as it is
}

// item fills in what a suggestion inserts, and by what it is found. Those that
// would not continue what is typed are no use to a client that keeps that.
func (e *itemEdit) item(g *listItem) (ok bool) {
	insert := g.insert
	g.plain = isPlainJSON(insert) // then so are its parts
	if !g.plain && strings.ContainsFunc(insert, unicode.IsControl) {
		return false
	}
	if e.bare && g.loose && !strings.HasPrefix(insert, e.kept+e.typed) && strings.HasPrefix(g.unquoted, e.kept+e.typed) {
		insert = g.unquoted
	}
	text, ok := strings.CutPrefix(insert, e.kept)
	if e.whole {
		text, ok = insert, true
	}
	g.text, g.filter = text, text
	if !e.quoted && g.unquoted != "" && !strings.HasPrefix(text, e.typed) {
		// Clients match from the left: a quote that was not typed must not count.
		g.filter = strings.TrimPrefix(g.unquoted, e.kept)
	}
	return ok
}

// encode appends the nth item.
func (e *itemEdit) encode(dst []byte, item *listItem, n int) []byte {
	about, mime := clean(item.about), clean(item.mime) // parts by themselves: nearly all are plain
	dst = appendString(append(dst, `{"label":`...), item.label)
	dst = strconv.AppendInt(append(dst, `,"kind":`...), int64(item.kind), 10)
	if e.labels {
		if item.from != "" {
			dst = append(appendString(append(dst, `,"labelDetails":{"description":`...), item.from, dot(mime), mime), '}')
		}
		if about != "" {
			dst = appendString(append(dst, `,"detail":`...), about)
		}
	} else if item.from != "" || about != "" {
		between := ""
		if item.from != "" {
			between = dot(about)
		}
		dst = appendString(append(dst, `,"detail":`...), item.from, dot(mime), mime, between, about)
	}
	rank := strconv.Itoa(n) // keeps the server's order; of less than a hundred no memory is taken
	dst = appendString(append(dst, `,"sortText":`...), "0000"[len(rank):], rank)
	// A prefix is looked for, or letters in order, by VS Code in 128 characters.
	if strings.HasPrefix(item.filter, e.typed) {
		dst = item.append(append(dst, `,"filterText":`...), item.filter)
	} else {
		dst = appendString(append(dst, `,"filterText":`...), e.typed, " ", item.label, " ", item.filter)
	}
	// Neovim 0.10 takes what does not say that it is plain for a snippet.
	dst = append(append(dst, `,"insertTextFormat":1,"textEdit":{"range":`...), e.spans...)
	dst = append(item.append(append(dst, `,"newText":`...), item.text), '}')
	if item.resource != nil {
		dst = appendString(append(dst, `,"data":{"server":`...), item.server)
		dst = append(appendString(append(dst, `,"uri":`...), item.resource.URI), '}')
	}
	return append(dst, '}')
}

// append appends a part of what is inserted as a JSON string.
func (g *listItem) append(dst []byte, part string) []byte {
	if !g.plain {
		return appendString(dst, part)
	}
	return append(append(append(dst, '"'), part...), '"')
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
	if !strings.HasSuffix(mention, ">") && !strings.HasSuffix(mention, `"`) {
		return mention // nearly all; looking for the opening quote takes longer
	}
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
