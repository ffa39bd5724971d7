package mcp

import (
	"strings"
	"unicode"
)

// Mention is an `@server:uri` found in user input.
type Mention struct {
	Start, End int    // byte offsets in the text, End exclusive, '@' included
	Server     string // the configured name; empty for an unknown server
	Name       string // the mention name as written
	URI        string // byte for byte as the server listed it, or as written
	Known      bool   // the URI is in the server's cached list
	// Expands: it is not, and is what a template of the server can stand for.
	Expands bool
	// Quoted: stands inside quotes, backticks or a fence and is left alone;
	// reported so that the front end can say so.
	Quoted bool
}

// mentionable tells which server a mention name stands for, "" for an unknown
// one, and which URIs it lists.
type mentionable func(name string) (server string, known *knownURIs)

// findMentions reads text by the grammar of CONTRACT §6 "Mentions". It takes
// time linear in the text.
func findMentions(text string, servers mentionable) []Mention {
	m := mentionReader{text: text, servers: servers}
	var fence string // the opening fence while inside a fenced block
	for pos := 0; pos < len(text); {
		end := len(text)
		if i := strings.IndexAny(text[pos:], "\r\n"); i >= 0 {
			end = pos + i
		}
		line := text[pos:end]
		switch run := fenceRun(line); {
		case fence == "" && run != "" && opensFence(line, run):
			fence = run
			m.span(pos, end, true)
		case fence != "":
			if strings.HasPrefix(run, fence) && strings.TrimSpace(line) == run {
				fence = ""
			} else {
				m.span(pos, end, true)
			}
		default:
			m.line(pos, end)
		}
		pos = end + 1
	}
	return m.found
}

// fenceRun returns the run of three and more '`' or '~' that a line starts
// with, indented by three spaces at most.
func fenceRun(line string) string {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return ""
	}
	if n := len(rest) - len(strings.TrimLeft(rest, rest[:1])); n >= 3 {
		return rest[:n]
	}
	return ""
}

// opensFence: after backticks no backtick may follow, that is a code span.
func opensFence(line, run string) bool {
	return run[0] == '~' || strings.Count(line, "`") == len(run)
}

// mentionReader collects the mentions of a text.
type mentionReader struct {
	text    string
	servers mentionable
	found   []Mention
	// Where the next '>' and '"' stand; see next.
	angle, quote int
}

// line reads a line outside fences: quoted parts are told from the rest.
func (m *mentionReader) line(pos, end int) {
	if strings.IndexByte(m.text[pos:end], '@') < 0 {
		return
	}
	last := lastClosers(m.text, pos, end)
	for i := pos; i < end; {
		switch c := m.text[i]; c {
		case '@':
			i = m.mention(pos, i, end, false)
		case '"', '`':
			run := runLength(m.text[i:end])
			to := i + run
			if opens(m.text, pos, i) && last[quoteKind{c, run}] >= to {
				to = closer(m.text, to, end, c, run)
				m.span(i+run, to, true)
				to += run
			}
			i = to
		default:
			i++
		}
	}
}

// span reads text[pos:end) without looking for quotes.
func (m *mentionReader) span(pos, end int, quoted bool) {
	for i := pos; i < end; {
		at := strings.IndexByte(m.text[i:end], '@')
		if at < 0 {
			return
		}
		i = m.mention(pos, i+at, end, quoted)
	}
}

// mention reads the mention whose '@' stands at i, if it is one, and returns
// where to go on. No mention begins before from or goes beyond end.
func (m *mentionReader) mention(from, i, end int, quoted bool) int {
	name := i + 1
	for name < end && isNameByte(m.text[name]) {
		name++
	}
	if name == i+1 || name == end || m.text[name] != ':' || !boundary(m.text[from:i]) {
		return name
	}
	server, known := m.servers(m.text[i+1 : name])
	if quoted && server == "" {
		return name
	}
	uri, stop, ok := m.uri(name+1, end, known)
	if !ok {
		return name
	}
	_, listed := known.find(uri)
	m.found = append(m.found, Mention{Start: i, End: stop, Server: server, Name: m.text[i+1 : name], URI: uri, Known: listed, Expands: !listed && known.expands(uri), Quoted: quoted})
	return stop
}

// uri reads what follows `@server:`: a quoted URI, else the longest known one,
// else as much as looks like one.
func (m *mentionReader) uri(i, end int, known *knownURIs) (uri string, stop int, ok bool) {
	rest := m.text[i:end]
	if rest == "" {
		return "", 0, false
	}
	if c := rest[0]; c == '<' || c == '"' {
		last := byte('"')
		if c == '<' {
			last = '>'
		}
		// A known URI may hold the closing character.
		n := known.longest(rest[1:], func(n int) bool { return n+1 < len(rest) && rest[n+1] == last })
		if n == 0 {
			if n = m.next(last, i+1, end) - i - 1; n < 0 || scheme(rest[1:n+1]) == 0 {
				return "", 0, false
			}
		}
		return rest[1 : n+1], i + n + 2, true
	}
	if n := known.longest(rest, func(n int) bool { return !goesOn(rest[n:]) }); n > 0 {
		return rest[:n], i + n, true
	}
	uri = bareURI(rest)
	return uri, i + len(uri), uri != ""
}

// next finds the next closing character in text[i:end), -1 if there is none.
// What was found is kept, so that a line full of openers is read once.
func (m *mentionReader) next(c byte, i, end int) int {
	at := &m.angle
	if c == '"' {
		at = &m.quote
	}
	if *at < i {
		*at = len(m.text)
		if n := strings.IndexByte(m.text[i:], c); n >= 0 {
			*at = i + n
		}
	}
	if *at >= end {
		return -1
	}
	return *at
}

// bareURI returns the URI that rest starts with when none is known: up to
// white space, less the punctuation of the sentence. "" if there is none.
func bareURI(rest string) string {
	n := scheme(rest)
	if n == 0 {
		return ""
	}
	if i := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }); i >= 0 {
		rest = rest[:i]
	}
	uri := trimSentence(rest)
	if len(uri) <= n {
		return "" // a scheme alone
	}
	return uri
}

// scheme returns the length of the RFC 3986 scheme that s starts with, the
// colon included; 0 if there is none.
func scheme(s string) int {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// needsQuote reports whether a URI must be written as `@server:<uri>` to be
// read back whole wherever it is put in a sentence, known or not.
func needsQuote(uri string) bool {
	n := scheme(uri)
	if n > 0 && n < len(uri) && plainURI(uri[n:]) {
		return false // most are, and a list has many
	}
	for _, after := range []string{"", ".", ")", "]", "}", "）"} {
		if bareURI(uri+after) != uri {
			return true
		}
	}
	return strings.ContainsAny(uri, "<>\"`")
}

// plainURI reports whether nothing in what follows a scheme means anything to a
// sentence.
func plainURI(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isNameByte(c) && c != '/' && c != '%' {
			return false
		}
	}
	return s[len(s)-1] != '.'
}

// MentionText writes a mention so that [Manager.Mentions] reads it back. name is
// the mention name of the server.
func MentionText(name, uri string) string {
	switch {
	case !needsQuote(uri):
		return "@" + name + ":" + uri
	case strings.Contains(uri, ">") && !strings.Contains(uri, `"`):
		return "@" + name + `:"` + uri + `"`
	default:
		return "@" + name + ":<" + uri + ">"
	}
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}
