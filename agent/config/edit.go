package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// edited sets the text at a path of keys in a document of JSON with comments,
// and makes the objects on the way that are not there. Every other byte stays:
// what is added is added behind the last member, in the style of the document.
// An error is a [*FileError].
func edited(file string, text []byte, path []string, value string) ([]byte, error) {
	body := bytes.TrimPrefix(text, bom)
	head := text[:len(text)-len(body)]
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}\n")
	}
	var fault *FileError
	d := &document{file: file, problem: func(p Problem) { fault = faultOf(p) }}
	root, ok := d.parse(body)
	if !ok {
		return nil, fault
	}
	n, missing := root, path
	for len(missing) > 0 && n.value.Value.Kind() == '{' {
		below, found := n.member(missing[0])
		if !found {
			break
		}
		n, missing = below, missing[1:]
	}
	switch kind := n.value.Value.Kind(); {
	case len(missing) == 0 && kind != '{' && kind != '[':
		return splice(head, body, change{n.value.StartOffset, n.value.EndOffset, quoted(value)}), nil
	case len(missing) == 0:
		return nil, faultOf(n.fault("must be a text, not %s; nothing was changed", kindName(kind)))
	case kind == '{':
		return splice(head, body, n.added(missing, value)...), nil
	case kind == 'n': // null is unset
		s := styleOf(body, root)
		return splice(head, body, change{n.value.StartOffset, n.value.EndOffset, s.object(s.indentAt(body, n.value.StartOffset), missing, value)}), nil
	default:
		return nil, faultOf(n.fault("must be an object, not %s; nothing was changed", kindName(kind)))
	}
}

//nolint:gochecknoglobals // a constant
var bom = []byte("\xef\xbb\xbf")

// FileError is a file of the user's that cannot be changed as it is.
type FileError struct{ Problem Problem }

// Error is the problem with its line and column.
func (e *FileError) Error() string {
	p := e.Problem
	if p.Line > 0 {
		p.File += fmt.Sprintf(":%d:%d", p.Line, p.From+1)
	}
	return p.String()
}

func faultOf(p Problem) *FileError { return &FileError{p} }

// member gives the last member of a key, which is the one that counts.
func (n node) member(key string) (below node, found bool) {
	object := n.value.Value.(*hujson.Object)
	for i := range object.Members {
		if m := &object.Members[i]; m.Name.Value.(hujson.Literal).String() == key {
			below, found = node{n.doc, join(n.path, key), &m.Value}, true
		}
	}
	return below, found
}

// change puts a text in the place of [from, to).
type change struct {
	from, to int
	text     string
}

// splice makes the changes, which are in order and do not overlap.
func splice(head, body []byte, changes ...change) []byte {
	out := bytes.Clone(head)
	at := 0
	for _, c := range changes {
		out = append(append(out, body[at:c.from]...), c.text...)
		at = c.to
	}
	return append(out, body[at:]...)
}

// added are the changes that add a member to the object n. It comes behind all
// comments, or it would part one from what it is about.
func (n node) added(path []string, value string) []change {
	text := n.doc.text
	object := n.value.Value.(*hujson.Object)
	open, end := n.value.StartOffset, n.value.EndOffset-1 // the braces
	s := styleOf(text, n.root())
	indent := s.indentAt(text, open)
	begin, comma, trailing := open+1, []change(nil), ""
	if k := len(object.Members); k > 0 {
		last := &object.Members[k-1]
		begin = last.Value.EndOffset
		if last.Value.AfterExtra != nil {
			begin += len(last.Value.AfterExtra) + 1
			trailing = ","
		} else {
			comma = []change{{begin, begin, ","}}
		}
		if in, alone := s.ownLine(text, last.Name.StartOffset); alone {
			indent = strings.TrimSuffix(in, s.unit)
		}
	}
	at := begin + len(bytes.TrimRight(text[begin:end], " \t\r\n"))
	member := func(indent string) string { return s.member(indent, path, value) + trailing }
	if len(object.Members) > 0 && !bytes.Contains(text[open:end], []byte("\n")) {
		return append(comma, change{at, at, " " + s.inline(path, value) + trailing})
	}
	out := append(comma, change{at, at, s.newline + indent + s.unit + member(indent+s.unit)})
	if !bytes.Contains(text[at:end], []byte("\n")) {
		out = append(out, change{end, end, s.newline + indent})
	}
	return out
}

// root is the whole document again.
func (n node) root() node {
	v, _ := hujson.Parse(n.doc.text) // it was parsed before
	return node{doc: n.doc, value: &v}
}

// style is how a document is laid out.
type style struct{ newline, unit string }

func styleOf(text []byte, root node) style {
	s := style{"\n", "  "}
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		s.newline = "\r\n"
	}
	if object, ok := root.value.Value.(*hujson.Object); ok && len(object.Members) > 0 {
		base := s.indentAt(text, root.value.StartOffset)
		if in, alone := s.ownLine(text, object.Members[0].Name.StartOffset); alone && len(in) > len(base) && strings.HasPrefix(in, base) {
			s.unit = in[len(base):]
		}
	}
	return s
}

// indentAt is the white space that the line of an offset begins with.
func (style) indentAt(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// ownLine is indentAt, and whether nothing else stands before the offset.
func (s style) ownLine(text []byte, offset int) (indent string, alone bool) {
	start := bytes.LastIndexByte(text[:offset], '\n') + 1
	indent = s.indentAt(text, offset)
	return indent, start > 0 && start+len(indent) == offset
}

// member writes a member whose line has the indent.
func (s style) member(indent string, path []string, value string) string {
	if len(path) == 1 {
		return quoted(path[0]) + ": " + quoted(value)
	}
	return quoted(path[0]) + ": " + s.object(indent, path[1:], value)
}

func (s style) object(indent string, path []string, value string) string {
	return "{" + s.newline + indent + s.unit + s.member(indent+s.unit, path, value) + s.newline + indent + "}"
}

func (s style) inline(path []string, value string) string {
	if len(path) == 1 {
		return quoted(path[0]) + ": " + quoted(value)
	}
	return quoted(path[0]) + ": {" + s.inline(path[1:], value) + "}"
}

// quoted is a text in JSON, as a person would write it.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // strings always encode
	return strings.TrimSuffix(b.String(), "\n")
}
