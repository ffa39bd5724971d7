package mcp

import (
	"strings"
	"unicode"
)

// MentionStart finds the mention that is being typed in a line outside of
// fences, up to the byte offset cursor: the place of its '@'. What would be
// left alone in a prompt is not found either.
func MentionStart(line string, cursor int) (at int, ok bool) {
	head := line[:cursor]
	for i := strings.LastIndexByte(head, '@'); i >= 0; i = strings.LastIndexByte(head[:i], '@') {
		if boundary(head[:i]) { // else it is part of an address, or of a URI
			return i, unfinished(head[i+1:]) && !leftAlone(line[:i], line[cursor:])
		}
	}
	return 0, false
}

// unfinished reports whether what follows an '@' may still be part of its
// mention.
func unfinished(mention string) bool {
	_, uri, _ := strings.Cut(mention, ":")
	switch {
	case strings.HasPrefix(uri, "<"):
		return !strings.Contains(uri, ">")
	case strings.HasPrefix(uri, `"`):
		return !strings.Contains(uri[1:], `"`)
	}
	return !strings.ContainsFunc(mention, unicode.IsSpace)
}

// leftAlone reports whether a mention between the two parts of a line would be
// inside quotes.
func leftAlone(before, after string) bool {
	text := before + "@a:b:c" + after
	m := mentionReader{text: text, servers: func(name string) (string, *knownURIs) { return name, nil }}
	m.line(0, len(text))
	for _, found := range m.found {
		if found.Start == len(before) {
			return found.Quoted
		}
	}
	return true
}
