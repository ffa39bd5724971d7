package agent

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxHTMLToken bounds a tag or a run of text, in bytes.
const maxHTMLToken = 1 << 20

// htmlText returns a page's title and its text as simple Markdown. It works on
// the tokens: the tree that HTML's rules make of hostile ones, and Markdown
// nested as deep, can be a thousand times as large as the page.
func htmlText(text string, at *url.URL) (title, markdown string) {
	z := html.NewTokenizer(strings.NewReader(text))
	z.SetMaxBuf(maxHTMLToken)
	w := htmlWriter{at: at}
	for {
		switch z.Next() {
		case html.ErrorToken:
			w.closeLink()
			return oneLine(w.title.String(), 300), strings.TrimSpace(w.out.String())
		case html.TextToken:
			w.text(z.Token().Data)
		case html.StartTagToken:
			w.start(z.Token())
		case html.SelfClosingTagToken:
			t := z.Token()
			w.start(t)
			if t.DataAtom == atom.A || t.DataAtom == atom.Svg {
				w.end(t)
			}
		case html.EndTagToken:
			w.end(z.Token())
		}
	}
}

// htmlWriter writes Markdown.
type htmlWriter struct {
	at      *url.URL
	out     bytes.Buffer
	title   strings.Builder
	inTitle bool

	skip   atom.Atom // inside of this element nothing is text
	nested int       // how often it is open
	breaks int       // newlines that come before the next text
	space  bool      // likewise a space
	mark   string    // likewise the mark of a heading or of a list's item
	pre    int       // open <pre>
	lists  []int     // open lists: the next number, or -1 for one without
	cells  int       // of the row so far
	link   string    // the open link's address
	begins int       // where its text begins
}

func (w *htmlWriter) text(s string) {
	switch {
	case w.skip != 0:
		return
	case w.inTitle:
		if w.title.Len() < 1000 {
			w.title.WriteString(s)
		}
		return
	case w.pre > 0:
		if s != "" {
			w.flush()
			w.out.WriteString(s)
		}
		return
	}
	for i, word := range strings.FieldsFunc(s, isHTMLSpace) {
		if i > 0 || isHTMLSpace(rune(s[0])) {
			w.space = true
		}
		w.flush()
		w.out.WriteString(word)
	}
	if s != "" && isHTMLSpace(rune(s[len(s)-1])) {
		w.space = true
	}
}

func isHTMLSpace(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f' }

// flush writes what comes before the next text.
func (w *htmlWriter) flush() {
	if w.breaks > 0 && w.out.Len() > 0 {
		w.out.WriteString("\n\n"[:w.breaks])
	} else if w.space && w.out.Len() > 0 {
		w.out.WriteByte(' ')
	}
	w.out.WriteString(w.mark)
	w.breaks, w.space, w.mark = 0, false, ""
}

// line makes what follows begin n lines further down.
func (w *htmlWriter) line(n int) { w.breaks = max(w.breaks, n) }

func (w *htmlWriter) start(t html.Token) {
	if w.skip != 0 {
		if t.DataAtom == w.skip {
			w.nested++
		}
		return
	}
	switch t.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Svg, atom.Noscript, atom.Iframe, atom.Object, atom.Noembed, atom.Noframes:
		w.skip, w.nested = t.DataAtom, 1
	case atom.Title:
		w.inTitle = w.title.Len() == 0
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.line(2)
		w.mark = strings.Repeat("#", int(t.Data[1]-'0')) + " "
	case atom.Br:
		w.line(1)
	case atom.Pre:
		w.line(2)
		w.flush()
		w.out.WriteString("```\n")
		w.pre++
	case atom.Ul, atom.Ol:
		w.line(1)
		next := -1
		if t.DataAtom == atom.Ol {
			next = 1
		}
		if len(w.lists) < 10 {
			w.lists = append(w.lists, next)
		}
	case atom.Li:
		w.item()
	case atom.Tr:
		w.line(1)
		w.cells = 0
	case atom.Td, atom.Th:
		if w.cells++; w.cells > 1 {
			w.space, w.mark = true, "| "
		}
	case atom.A:
		w.openLink(attribute(t, "href"))
	case atom.Img:
		if alt := oneLine(attribute(t, "alt"), 200); alt != "" {
			w.text("[image: " + alt + "]")
		}
	case atom.Code:
		w.code()
	default:
		w.line(blockLines(t.DataAtom))
	}
}

func (w *htmlWriter) end(t html.Token) {
	if w.skip != 0 {
		if t.DataAtom == w.skip {
			if w.nested--; w.nested == 0 {
				w.skip = 0
			}
		}
		return
	}
	switch t.DataAtom {
	case atom.Title:
		w.inTitle = false
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.line(2)
		w.mark = ""
	case atom.Pre:
		if w.pre > 0 {
			w.pre--
			w.line(1)
			w.flush()
			w.out.WriteString("```")
		}
		w.line(2)
	case atom.Ul, atom.Ol:
		w.lists = w.lists[:max(len(w.lists)-1, 0)]
		w.line(1)
		if len(w.lists) == 0 {
			w.line(2)
		}
	case atom.A:
		w.closeLink()
	case atom.Code:
		w.code()
	default:
		w.line(blockLines(t.DataAtom))
	}
}

// code marks code inside of a line.
func (w *htmlWriter) code() {
	if w.pre == 0 {
		if w.breaks > 0 || w.space {
			w.flush()
		}
		w.out.WriteByte('`')
	}
}

func (w *htmlWriter) item() {
	w.line(1)
	if len(w.lists) == 0 {
		w.mark = "- "
		return
	}
	last := len(w.lists) - 1
	w.mark = strings.Repeat("  ", last) + "- "
	if n := w.lists[last]; n > 0 {
		w.mark = fmt.Sprintf("%s%d. ", strings.Repeat("  ", last), n)
		w.lists[last]++
	}
}

// openLink notes where a link begins; one does not stand in another.
func (w *htmlWriter) openLink(href string) {
	w.closeLink()
	to, err := w.at.Parse(strings.TrimSpace(href))
	if href == "" || err != nil || to.Scheme != "http" && to.Scheme != "https" || strings.HasPrefix(href, "#") {
		return
	}
	w.flush()
	w.link, w.begins = to.String(), w.out.Len()
}

// closeLink writes the link, now that it is known to have a text.
func (w *htmlWriter) closeLink() {
	if w.link == "" {
		return
	}
	text := string(w.out.Bytes()[w.begins:])
	// One that was never closed holds half the page.
	if strings.TrimSpace(text) != "" && len(text) <= 500 && !strings.Contains(text, "\n") && len(w.link) <= 2000 {
		w.out.Truncate(w.begins)
		w.out.WriteString("[" + text + "](" + w.link + ")")
	}
	w.link = ""
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// blockLines is how many lines an element keeps from its neighbours.
func blockLines(a atom.Atom) int {
	switch a {
	case atom.P, atom.Table, atom.Blockquote, atom.Figure, atom.Hr, atom.Dl, atom.Article, atom.Section:
		return 2
	case atom.Div, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside, atom.Form, atom.Fieldset, atom.Dt, atom.Dd, atom.Figcaption,
		atom.Address, atom.Details, atom.Summary, atom.Option, atom.Body, atom.Caption, atom.Textarea, atom.Legend, atom.Thead, atom.Tbody:
		return 1
	}
	return 0
}
