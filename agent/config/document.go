package config

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// layer says who wrote a document, and so what may be in it.
type layer int

const (
	userLayer    layer = iota // the user's own files
	editorLayer               // the editor's settings
	projectLayer              // files that came with a folder
)

// document is one parsed file or settings object.
type document struct {
	layer   layer
	file    string // absolute; empty for the editor
	folder  string // of project files
	foreign bool   // a format of others: unknown keys are theirs
	text    []byte // what is parsed
	units   func(string) int
	inputs  map[string]input // that its servers may name
	told    int
	problem func(Problem)
}

// node is one value in a document, with the path that leads to it.
type node struct {
	doc   *document
	path  string
	value *hujson.Value
}

// maxDepth bounds nesting: the parser is recursive, and files are foreign.
const maxDepth = 100

// parse reads JSON with comments and trailing commas. ok is false when the
// text is no JSON, which is told.
func (d *document) parse(text []byte) (root node, ok bool) {
	text = bytes.TrimPrefix(text, bom)
	d.text = bytes.Clone(text) // hujson keeps parts of what it is given
	if tooDeep(text) {
		d.problem(Problem{File: d.file, Message: fmt.Sprintf("nested deeper than %d levels", maxDepth), Disables: true})
		return node{}, false
	}
	v, err := hujson.Parse(d.text)
	if err != nil {
		at := d.at(d.offsetOf(err), len(d.text))
		at.Message, at.Disables = "is no JSON: "+strings.TrimPrefix(err.Error(), "hujson: "), true
		d.problem(at)
		return node{}, false
	}
	return node{doc: d, value: &v}, true
}

// tooDeep counts brackets outside strings and comments. A quote in a comment
// opens no string, or what follows it would go uncounted.
func tooDeep(text []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case c == '/':
			i += commentLen(text[i:]) - 1
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// commentLen is how long the comment at the start of text is; 1 for a slash
// that begins none.
func commentLen(text []byte) int {
	end := ""
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		end = "\n"
	case bytes.HasPrefix(text, []byte("/*")):
		end = "*/"
	default:
		return 1
	}
	if i := bytes.Index(text[2:], []byte(end)); i >= 0 {
		return 2 + i + len(end)
	}
	return len(text)
}

// offsetOf finds the place in hujson's "hujson: line 3, column 5: …".
func (d *document) offsetOf(err error) int {
	var line, column int
	if _, e := fmt.Sscanf(err.Error(), "hujson: line %d, column %d", &line, &column); e != nil {
		return 0
	}
	at := 0
	for ; line > 1; line-- {
		at += bytes.IndexByte(d.text[at:], '\n') + 1
	}
	return min(at+column-1, len(d.text))
}

// at makes a problem of a part of the text, as far as it stands on its first
// line.
func (d *document) at(from, to int) Problem {
	if d.file == "" {
		return Problem{}
	}
	units := d.units
	if units == nil {
		units = func(s string) int { return len(s) }
	}
	start := bytes.LastIndexByte(d.text[:from], '\n') + 1
	if end := bytes.IndexAny(d.text[from:], "\r\n"); end >= 0 {
		to = min(to, from+end)
	}
	return Problem{
		File: d.file, Line: 1 + bytes.Count(d.text[:from], []byte("\n")),
		From: units(string(d.text[start:from])), To: units(string(d.text[start:to])),
	}
}

// fault makes a problem of the node.
func (n node) fault(format string, args ...any) Problem {
	p := n.doc.at(n.value.StartOffset, n.value.EndOffset)
	p.Path, p.Message = n.path, fmt.Sprintf(format, args...)
	return p
}

// wrong tells that the node is passed over.
func (n node) wrong(format string, args ...any) {
	if n.doc.tells() {
		n.doc.problem(n.fault(format, args...))
	}
}

// disables tells that what the node stands for does not work.
func (n node) disables(format string, args ...any) {
	if !n.doc.tells() {
		return
	}
	p := n.fault(format, args...)
	p.Disables = true
	n.doc.problem(p)
}

// tells counts what is told of a document. Beyond what one Load tells the
// places are not worth their time: there may be as many as bytes.
func (d *document) tells() bool {
	if d.told++; d.told > maxProblems {
		d.problem(Problem{File: d.file})
	}
	return d.told <= maxProblems
}

// find gives the node at a path below, or the last one on the way to it.
func (n node) find(path string) node {
	below := func(p string) bool {
		rest, ok := strings.CutPrefix(path, p)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	for _, child := range n.children() {
		if below(child.path) {
			return child.find(path)
		}
	}
	return n
}

// children gives the nodes in an object or a list.
func (n node) children() []node {
	var out []node
	switch n.value.Value.Kind() {
	case '{':
		for _, m := range n.members() {
			out = append(out, m.node)
		}
	case '[':
		out = n.items()
	}
	return out
}

// is reports whether the value is of the kind, null counting as unset, and
// tells a wrong type.
func (n node) is(kind hujson.Kind, want string) bool {
	switch got := n.value.Value.Kind(); {
	case got == kind:
		return true
	case got == 'n':
	default:
		n.wrong("must be %s, not %s", want, kindName(got))
	}
	return false
}

func kindName(k hujson.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	default:
		return "null"
	}
}

// member is a key of an object with its value.
type member struct {
	key  string
	name *hujson.Value
	node
}

// wrongKey is wrong about the key.
func (m member) wrongKey(format string, args ...any) {
	node{m.doc, m.path, m.name}.wrong(format, args...)
}

// members gives an object's members in order, a repeated key once with its
// last value; nil for anything else, which is told.
func (n node) members() []member {
	if !n.is('{', "an object") {
		return nil
	}
	obj := n.value.Value.(*hujson.Object)
	at := map[string]int{}
	var out []member
	for i := range obj.Members {
		key := obj.Members[i].Name.Value.(hujson.Literal).String()
		m := member{key, &obj.Members[i].Name, node{n.doc, join(n.path, key), &obj.Members[i].Value}}
		if j, again := at[key]; again {
			out[j] = m
			continue
		}
		at[key] = len(out)
		out = append(out, m)
	}
	return out
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// text gives a string; ok is false when it is unset or of another type.
func (n node) text() (s string, ok bool) {
	if !n.is('"', "a text") {
		return "", false
	}
	return n.value.Value.(hujson.Literal).String(), true
}

// choice is text that must be one of the words.
func (n node) choice(words ...string) (string, bool) {
	s, ok := n.text()
	if !ok {
		return "", false
	}
	if slices.Contains(words, s) {
		return s, true
	}
	n.wrong("must be one of %s, not %q", list(words), s)
	return "", false
}

// truth gives a boolean.
func (n node) truth() (v, ok bool) {
	k := n.value.Value.Kind()
	if k == 't' || k == 'f' {
		return k == 't', true
	}
	return false, n.is('t', "true or false")
}

// count gives a whole number from least up.
func (n node) count(least int) (int, bool) {
	if !n.is('0', "a whole number") {
		return 0, false
	}
	f := n.value.Value.(hujson.Literal).Float()
	if f != math.Trunc(f) || f < float64(least) || f > math.MaxInt32 {
		n.wrong("must be a whole number of %d or more", least)
		return 0, false
	}
	return int(f), true
}

// seconds gives a positive number of seconds, fractions allowed.
func (n node) seconds() (float64, bool) {
	if !n.is('0', "a number of seconds") {
		return 0, false
	}
	f := n.value.Value.(hujson.Literal).Float()
	if !(f > 0) || f > 1e6 {
		n.wrong("must be a number of seconds above 0")
		return 0, false
	}
	return f, true
}

// items gives a list's elements.
func (n node) items() []node {
	if !n.is('[', "a list") {
		return nil
	}
	arr := n.value.Value.(*hujson.Array)
	out := make([]node, len(arr.Elements))
	for i := range arr.Elements {
		out[i] = node{n.doc, fmt.Sprintf("%s[%d]", n.path, i), &arr.Elements[i]}
	}
	return out
}

// texts gives a list of strings; a wrong element is told and left out.
func (n node) texts() []string {
	var out []string
	for _, e := range n.items() {
		if s, ok := e.text(); ok {
			out = append(out, s)
		}
	}
	return out
}

// textMap gives an object of strings; numbers and booleans are taken as they
// are written, as people do in env.
func (n node) textMap() map[string]string {
	out := map[string]string{}
	for _, m := range n.members() {
		switch m.value.Value.Kind() {
		case '0', 't', 'f':
			out[m.key] = string(m.value.Value.(hujson.Literal))
		default:
			if s, ok := m.text(); ok {
				out[m.key] = s
			}
		}
	}
	return out
}
