package config

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
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
	lines   []int  // offsets of line starts
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
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	d.lines = []int{0}
	for i, c := range text {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	if tooDeep(text) {
		d.problem(Problem{File: d.file, Message: fmt.Sprintf("nested deeper than %d levels", maxDepth)})
		return node{}, false
	}
	v, err := hujson.Parse(text)
	if err != nil {
		d.problem(Problem{File: d.file, Line: lineOf(err), Message: "is no JSON: " + strings.TrimPrefix(err.Error(), "hujson: ")})
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

// lineOf finds the line in hujson's "hujson: line 3, column 5: …".
func lineOf(err error) int {
	_, after, ok := bytes.Cut([]byte(err.Error()), []byte("line "))
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(string(after[:max(0, bytes.IndexByte(after, ','))]))
	return n
}

// wrong tells a problem at the node.
func (n node) wrong(format string, args ...any) {
	line := 0
	for line < len(n.doc.lines) && n.doc.lines[line] <= n.value.StartOffset {
		line++
	}
	if n.doc.file == "" {
		line = 0
	}
	n.doc.problem(Problem{File: n.doc.file, Line: line, Path: n.path, Message: fmt.Sprintf(format, args...)})
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
	key string
	node
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
		m := member{key, node{n.doc, join(n.path, key), &obj.Members[i].Value}}
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
