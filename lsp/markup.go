package lsp

import (
	"slices"
	"strings"
	"unicode"

	"go.lsp.dev/protocol"
)

// markup builds what a popup shows, as Markdown or as plain text. The texts
// that it takes stay texts: none can become a link, a heading or HTML, or leave
// the block that it stands in. Foreign ones are cleaned before, see clean.
type markup struct {
	markdown bool
	b        strings.Builder
}

// newMarkup is in the first format that the client takes and we know; plain
// text if it names none (LSP 3.18, MarkupContent).
func newMarkup(formats []protocol.MarkupKind) *markup {
	i := slices.IndexFunc(formats, func(k protocol.MarkupKind) bool {
		return k == protocol.MarkupKindMarkdown || k == protocol.MarkupKindPlainText
	})
	return &markup{markdown: i >= 0 && formats[i] == protocol.MarkupKindMarkdown}
}

// content is what was built.
func (m *markup) content() *protocol.MarkupContent {
	kind := protocol.MarkupKindPlainText
	if m.markdown {
		kind = protocol.MarkupKindMarkdown
	}
	return &protocol.MarkupContent{Kind: kind, Value: m.b.String()}
}

func (m *markup) empty() bool { return m.b.Len() == 0 }

// paragraph begins one.
func (m *markup) paragraph() {
	if !m.empty() {
		m.b.WriteString("\n\n")
	}
}

// line begins a line of the same paragraph.
func (m *markup) line() {
	switch {
	case m.empty():
	case m.markdown:
		m.b.WriteString("  \n")
	default:
		m.b.WriteByte('\n')
	}
}

// text writes words.
func (m *markup) text(text string) {
	if !m.markdown {
		m.b.WriteString(text)
		return
	}
	before := m.b.String()
	m.b.WriteString(literal(text, before == "" || before[len(before)-1] == '\n'))
}

// strong writes a name that stands out.
func (m *markup) strong(text string) {
	if !m.markdown || strings.TrimSpace(text) == "" {
		m.text(text)
		return
	}
	m.b.WriteString("**" + literal(text, false) + "**")
}

// code writes what is to be read letter by letter, as a URI.
func (m *markup) code(text string) {
	if !m.markdown || strings.TrimSpace(text) == "" {
		m.text(text)
		return
	}
	// A span ends at a run as long as its own, and loses a space at each end
	// where both have one (CommonMark §6.1).
	run := strings.Repeat("`", longestRun(text)+1)
	if pad := strings.Trim(text, "` ") != text; pad {
		text = " " + text + " "
	}
	m.b.WriteString(run + text + run)
}

// block writes lines of their own. In Markdown they stand in a fence longer
// than any run in them, in plain text behind a rule.
func (m *markup) block(lines, language string) {
	m.paragraph()
	if !m.markdown {
		m.b.WriteString("│ " + strings.ReplaceAll(lines, "\n", "\n│ "))
		return
	}
	fence := strings.Repeat("`", max(3, longestRun(lines)+1))
	m.b.WriteString(fence + fenceLanguage(language) + "\n" + lines + "\n" + fence)
}

// literal escapes what Markdown would read in a text of one line (CommonMark
// §2.4) that was cleaned. As little as can be: some editors show the
// backslashes. begins: the text begins a line.
func literal(text string, begins bool) string {
	var b strings.Builder
	runes := []rune(text)
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	for i, r := range runes {
		escape := false
		switch r {
		case '\\', '`', '*', '<':
			escape = true
		case '_':
			escape = !isAlphanumeric(at(i-1)) || !isAlphanumeric(at(i+1))
		case '~':
			escape = at(i-1) == '~' || at(i+1) == '~'
		case '&': // of an entity
			escape = at(i+1) == '#' || isAlphanumeric(at(i+1))
		default:
			escape = begins && startsBlock(runes, i)
		}
		if escape {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// startsBlock reports whether the character would make of the line a heading,
// a list, a quote, a rule or the definition of a link.
func startsBlock(line []rune, i int) bool {
	switch line[i] {
	case '#', '-', '+', '=', '>', '[':
		return i == 0
	case '.', ')': // of "1."
		return i > 0 && i < 10 && !slices.ContainsFunc(line[:i], func(r rune) bool { return r < '0' || r > '9' })
	}
	return false
}

func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
