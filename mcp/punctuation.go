package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What the grammar of mentions needs to know of sentences around them.

// openers and closers are the brackets that a sentence puts around a mention;
// each opener stands where its closer does.
const (
	openers = "([{<（［｛「『【《〈〔"
	closers = ")]}>）］｝」』】》〉〕"
	// The full-width pairs come after the ASCII ones and take three bytes each.
	asciiBrackets = 4
	bracketKinds  = asciiBrackets + (len(openers)-asciiBrackets)/3
)

// bracketKind tells which of a list of brackets r is; -1 for none.
func bracketKind(list string, r rune) int {
	i := strings.IndexRune(list, r)
	if i >= asciiBrackets {
		i = asciiBrackets + (i-asciiBrackets)/3
	}
	return i
}

// boundary reports whether a mention may begin behind before, the line so far:
// at its start, after white space, an opening bracket or a quote.
func boundary(before string) bool {
	r, n := utf8.DecodeLastRuneInString(before)
	return n == 0 || unicode.IsSpace(r) || strings.ContainsRune("<\"'`", r) || unicode.In(r, unicode.Ps, unicode.Pi)
}

// goesOn reports whether the text behind a known URI makes it another one:
// `file://a.md` is not meant by `file://a.md.bak` or `file://a.md/x`.
func goesOn(rest string) bool {
	if rest == "" {
		return false
	}
	c := rest[0]
	if c == '.' && len(rest) > 1 {
		c = rest[1]
		return isNameByte(c) && c != '.' && c != '-'
	}
	return isNameByte(c) && c != '.' || c == '/' || c == '%' || c == '~'
}

// trimSentence drops trailing punctuation, closing quotes and closing brackets
// without an opener.
func trimSentence(s string) string {
	var extra *[bracketKinds]int // closers less openers, counted when needed
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		if kind := bracketKind(closers, r); kind >= 0 {
			if extra == nil {
				extra = countBrackets(s)
			}
			if extra[kind] <= 0 {
				return s
			}
			extra[kind]--
		} else if !strings.ContainsRune(".,;:!?\"'`…。，；：！？、．｡､”’»", r) {
			return s
		}
		s = s[:len(s)-n]
	}
	return s
}

func countBrackets(s string) *[bracketKinds]int {
	var extra [bracketKinds]int
	for _, r := range s {
		if 'a' <= r && r <= 'z' {
			continue
		}
		if kind := bracketKind(closers, r); kind >= 0 {
			extra[kind]++
		} else if kind := bracketKind(openers, r); kind >= 0 {
			extra[kind]--
		}
	}
	return &extra
}

// quoteKind is a quote character and how many of it stand together: `"` stands
// for itself, backticks pair by the length of their run.
type quoteKind struct {
	c byte
	n int
}

// runLength is how many quote characters a quote starting s is made of.
func runLength(s string) int {
	if s[0] == '"' {
		return 1
	}
	return len(s) - len(strings.TrimLeft(s, "`"))
}

// opens reports whether the quote at i may open: at the line's start or after
// white space.
func opens(text string, lineStart, i int) bool {
	r, n := utf8.DecodeLastRuneInString(text[lineStart:i])
	return n == 0 || unicode.IsSpace(r)
}

// closes reports whether a quote that ends at i may close: before white space,
// punctuation or the line's end.
func closes(text string, i, end int) bool {
	r, n := utf8.DecodeRuneInString(text[i:end])
	return n == 0 || unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r)
}

// lastClosers finds where the last quote of each kind stands in a line that
// may close one, so that an opener without a closer costs nothing.
func lastClosers(text string, pos, end int) map[quoteKind]int {
	last := map[quoteKind]int{}
	for i := pos; i < end; {
		if c := text[i]; c == '"' || c == '`' {
			n := runLength(text[i:end])
			if closes(text, i+n, end) {
				last[quoteKind{c, n}] = i
			}
			i += n
			continue
		}
		next := strings.IndexAny(text[i:end], "\"`")
		if next < 0 {
			break
		}
		i += next
	}
	return last
}

// closer finds the quote that closes one of its kind; there is one.
func closer(text string, i, end int, c byte, run int) int {
	for {
		i += strings.IndexByte(text[i:end], c)
		n := runLength(text[i:end])
		if n == run && closes(text, i+n, end) {
			return i
		}
		i += n
	}
}
