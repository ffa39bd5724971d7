package agent

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// unseen is white space and what is not seen, as [Unseen] has it.
const unseen = `[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}\x{2800}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFF8}\x{E0000}-\x{E0FFF}]*`

// blockTags are the tags of our blocks.
//
//nolint:gochecknoglobals // a constant table
var blockTags = []string{"resource", "document", "diagnostics", saidTag, guidanceTag, summaryTag, compactTag, requestTag, taskTag, resultTag, changesTag, callsTag, notesTag}

// closing matches what could end a block of ours, as a model reads it: in any
// case, with white space or invisible characters anywhere between. It is large,
// and not needed before the first block.
//
//nolint:gochecknoglobals // compiled once, at its first use
var closing = sync.OnceValue(func() *regexp.Regexp {
	var tags []string
	for _, tag := range blockTags {
		tags = append(tags, spread(tag))
	}
	return regexp.MustCompile(`(?i)<(` + unseen + `/` + unseen + `(?:` + strings.Join(tags, "|") + `))`)
})

// spread is a pattern for a word with unseen characters between its letters.
func spread(word string) string { return strings.Join(strings.Split(word, ""), unseen) }

// block wraps untrusted text for the model, so that the text cannot end it
// (CONTRACT §6). attributes are name and value in turn.
func block(tag, body string, attributes ...string) string {
	var b strings.Builder
	b.Grow(len(body) + 200)
	openTag(&b, tag, attributes)
	b.WriteString("\n")
	b.WriteString(escapeBody(body))
	if !strings.HasSuffix(body, "\n") {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "</%s>", tag)
	return b.String()
}

// errorBlock tells why there is no block.
func errorBlock(reason string, attributes ...string) string {
	var b strings.Builder
	openTag(&b, "resource_error", attributes)
	b.WriteString(html.EscapeString(reason))
	b.WriteString("</resource_error>")
	return b.String()
}

func openTag(b *strings.Builder, tag string, attributes []string) {
	b.WriteString("<" + tag)
	for i := 0; i+1 < len(attributes); i += 2 {
		fmt.Fprintf(b, ` %s="%s"`, attributes[i], escapeAttribute(attributes[i+1]))
	}
	b.WriteString(">")
}

// escapeBody breaks each closing tag in a body by its first character.
func escapeBody(body string) string {
	return closing().ReplaceAllString(strings.ToValidUTF8(body, "\uFFFD"), "&lt;$1")
}

// escapeAttribute makes a value that stays inside its quotes and on its line.
func escapeAttribute(v string) string {
	var b strings.Builder
	for _, r := range html.EscapeString(v) {
		if unicode.Is(unicode.C, r) || Unseen(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
