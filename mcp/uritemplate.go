package mcp

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// uriTemplate is an RFC 6570 template, in the order in which its expansions are
// read.
type uriTemplate struct{ steps []templateStep }

// templateStep is a literal, or a variable of an expression.
type templateStep struct {
	literal string

	name string
	op   byte // of its expression; 0: none
	expr int  // which expression
	// What stands before the value: first where no variable of the expression
	// stands before it, else sep.
	first, sep string
	optional   bool // may be left out, with what stands before it
	shares     bool // its expression has more variables
	explode    bool // the value may have several parts
	most       int  // code points of the value; 0: any number
}

const (
	// maxTemplateSteps bounds a template, maxTemplateTries what is tried to
	// read a text by all of a server's.
	maxTemplateSteps = 64
	maxTemplateTries = 20_000
)

// parseURITemplate reads a template; false for one that is none. What servers
// write beyond the RFC, as {path*} for many segments, is taken as they mean it.
func parseURITemplate(text string) (t uriTemplate, ok bool) {
	for expr := 1; text != ""; expr++ {
		literal, rest, more := strings.Cut(text, "{")
		if strings.Contains(literal, "}") {
			return uriTemplate{}, false
		}
		if literal != "" {
			t.steps = append(t.steps, templateStep{literal: literal})
		}
		if !more {
			break
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed || inner == "" || strings.Contains(inner, "{") {
			return uriTemplate{}, false
		}
		vars, ok := parseExpression(inner, expr)
		if !ok {
			return uriTemplate{}, false
		}
		t.steps, text = append(t.steps, vars...), after
	}
	if len(t.steps) == 0 || len(t.steps) > maxTemplateSteps {
		return uriTemplate{}, false
	}
	return t, true
}

// literal is what stands before the first variable.
func (t *uriTemplate) literal() string {
	if len(t.steps) == 0 {
		return ""
	}
	return t.steps[0].literal
}

func parseExpression(inner string, expr int) (vars []templateStep, ok bool) {
	v := templateStep{expr: expr, sep: ","}
	if strings.IndexByte("+#./;?&", inner[0]) >= 0 {
		v.op, inner = inner[0], inner[1:]
	}
	switch v.op {
	case '#':
		v.first, v.optional = "#", true
	case '.', '/', ';', '&':
		v.first, v.sep, v.optional = string(v.op), string(v.op), true
	case '?':
		v.first, v.sep, v.optional = "?", "&", true
	}
	names := strings.Split(inner, ",")
	v.shares = len(names) > 1
	for _, name := range names {
		w := v
		name, w.explode = strings.CutSuffix(name, "*")
		name, most, prefixed := strings.Cut(name, ":")
		if prefixed {
			for _, c := range []byte(most) {
				if c < '0' || c > '9' || len(most) > 4 {
					return nil, false
				}
				w.most = 10*w.most + int(c-'0')
			}
		}
		if name == "" || prefixed && w.most == 0 || strings.ContainsAny(name, "{}/?# ") {
			return nil, false
		}
		w.name = name
		// A list of parts names each: which, nobody knows before.
		if strings.IndexByte(";?&", v.op) >= 0 && v.op != 0 && !w.explode {
			w.first, w.sep = w.first+name+"=", w.sep+name+"="
		}
		vars = append(vars, w)
	}
	return vars, true
}

// run returns how much of text a value may take at most.
func (v *templateStep) run(text string) int {
	stop := ""
	switch v.op {
	case '+', '#':
	case ';':
		stop = "/;"
	case '?', '&':
		stop = "&#"
	default:
		stop = "/"
		if v.shares {
			stop = "/,"
		}
	}
	if stop == "" || v.explode && v.op != '?' && v.op != '&' {
		return len(text)
	}
	if i := strings.IndexAny(text, stop); i >= 0 {
		return i
	}
	return len(text)
}

// encode writes a value as the expression does (RFC 6570 §3.2.1). The slashes
// of a value of several parts part them.
func (v *templateStep) encode(value string) string {
	if v.most > 0 {
		n := 0
		for i := range value {
			if n++; n > v.most {
				value = value[:i]
				break
			}
		}
	}
	keep, reserved := "", v.op == '+' || v.op == '#'
	switch {
	case reserved:
		keep = ":/?#[]@!$&'()*+,;="
	case v.explode:
		keep = "/,"
	}
	var b strings.Builder
	for i := range len(value) {
		c := value[i]
		switch {
		case isUnreserved(c), strings.IndexByte(keep, c) >= 0, reserved && c == '%' && isTriplet(value[i:]):
			b.WriteByte(c)
		default:
			const hex = "0123456789ABCDEF"
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func isTriplet(s string) bool { return len(s) >= 3 && isHex(s[1]) && isHex(s[2]) }

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

// decodeValue reads what was typed of a value; one that is not encoded as it
// should be is taken as it is.
func decodeValue(typed string) string {
	if value, err := url.PathUnescape(typed); err == nil && utf8.ValidString(value) {
		return value
	}
	return typed
}
