package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// replacement is one edit of edit_file.
type replacement struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// replaceAll applies edits, each to the text as it is after those before it.
// Each old text must occur exactly once; \n in it stands for the file's own
// line endings, which new text gets. An error says to the model what to mend;
// with hints it shows the text that may be meant.
func replaceAll(text string, edits []replacement, hints bool) (after string, err error) {
	ending, view := lineEnding(text), viewOf
	if n := strings.Count(text, "\n"); n > 0 && strings.Count(text, "\r\n") == n { // as its lines are all alike, once is enough
		text, ending, view = lf(text), "\n", func(text string) lineView { return lineView{text: text} }
		defer func() { after = strings.ReplaceAll(after, "\n", "\r\n") }()
	}
	for i, e := range edits {
		which := "edit 1"
		if len(edits) > 1 {
			which = fmt.Sprintf("edit %d of %d", i+1, len(edits))
		}
		if e.Old == "" {
			return "", fmt.Errorf("%s: its old text is empty; give the text that it replaces, or use write_file for a whole file", which)
		}
		if lf(e.Old) == lf(e.New) {
			return "", fmt.Errorf("%s: its old and its new text are equal", which)
		}
		v := view(text)
		switch at := occurrences(v.text, lf(e.Old)); len(at) {
		case 1:
			text = text[:v.offset(at[0])] + withEnding(e.New, ending) + text[v.offset(at[0]+len(lf(e.Old))):]
		case 0:
			hint := "Read it again"
			if hints {
				hint = nearLinesOf(v.text, lf(e.Old))
			}
			return "", fmt.Errorf("%s: its old text does not occur in the file. %s", which, hint)
		default:
			return "", fmt.Errorf("%s: its old text occurs %s times in the file, %s. Give more of the text around the place that is meant", which, atMost(len(at)), lineNumbers(v.text, at))
		}
	}
	return text, nil
}

func lf(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// lineEnding is what most lines of a text end in; "" when none ends.
func lineEnding(text string) string {
	all := strings.Count(text, "\n")
	switch crlf := strings.Count(text, "\r\n"); {
	case all == 0:
		return ""
	case 2*crlf > all:
		return "\r\n"
	}
	return "\n"
}

// withEnding gives a text's lines an ending; "" leaves them as they are.
func withEnding(text, ending string) string {
	switch ending {
	case "\n":
		return lf(text)
	case "\r\n":
		return strings.ReplaceAll(lf(text), "\n", "\r\n")
	}
	return text
}

// lineView is a text whose lines all end in \n.
type lineView struct {
	text string
	cut  []int // where in text a \r is missing: before these, in order
}

func viewOf(text string) lineView {
	v := lineView{text: lf(text)}
	if len(v.text) == len(text) {
		return v
	}
	for i, gone := 0, 0; ; {
		k := strings.Index(text[i:], "\r\n")
		if k < 0 {
			return v
		}
		v.cut = append(v.cut, i+k-gone)
		i += k + 2
		gone++
	}
}

// offset leads an offset of the view back to the text that it is of. A place
// at a line's end is before its \r.
func (v lineView) offset(at int) int {
	before, _ := slices.BinarySearch(v.cut, at)
	return at + before
}

// maxOccurrences is how many places of a text are counted.
const maxOccurrences = 1000

// occurrences gives where part occurs in text, overlapping ones too.
func occurrences(text, part string) (at []int) {
	for from := 0; len(at) < maxOccurrences; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + 1
	}
	return at
}

func atMost(n int) string {
	if n == maxOccurrences {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}

// lineNumbers names the lines of the first offsets.
func lineNumbers(text string, at []int) string {
	var names []string
	for _, offset := range at[:min(len(at), 5)] {
		names = append(names, fmt.Sprint(1+strings.Count(text[:offset], "\n")))
	}
	if len(at) > len(names) {
		names = append(names, "…")
	}
	return "at lines " + strings.Join(names, ", ")
}

// How much of a file is shown where it may be meant.
const (
	nearLines = 10
	nearChars = 200
)

// nearLinesOf shows the lines of a text that are most like what was looked for.
func nearLinesOf(text, part string) string {
	wanted := strings.Split(strings.Trim(part, "\n"), "\n")
	key := slices.IndexFunc(wanted, func(line string) bool { return strings.TrimSpace(line) != "" })
	if key < 0 {
		return "It holds nothing but white space"
	}
	pairs := pairsOf(wanted[key])
	all := strings.Split(text, "\n")
	best, score := -1, 0.5
	for i, line := range all {
		switch s := likeness(pairs, line); {
		case strings.TrimSpace(line) == strings.TrimSpace(wanted[key]) && score < 2:
			best, score = i, 2
		case s > score:
			best, score = i, s
		}
	}
	if best < 0 {
		return "No line is like it: read the file again"
	}
	first := max(best-key, 0)
	last := min(first+min(len(wanted), nearLines), len(all))
	var b strings.Builder
	b.WriteString("The nearest lines are:")
	for i := first; i < last; i++ {
		fmt.Fprintf(&b, "\n%6d\t%s", i+1, ellipsis(all[i], nearChars))
	}
	return b.String()
}

// pairsOf are the pairs of bytes that follow each other in a line.
func pairsOf(line string) map[string]bool {
	line = compared(line)
	pairs := make(map[string]bool, len(line))
	for i := range max(len(line)-1, 0) {
		pairs[line[i:i+2]] = true
	}
	return pairs
}

// likeness is 1 for a line of the same pairs and 0 for one that shares none.
func likeness(pairs map[string]bool, line string) float64 {
	line = compared(line)
	if len(pairs) == 0 || len(line) < 2 || len(line) > 4*len(pairs)+8 {
		return 0
	}
	shared := 0
	for i := range len(line) - 1 {
		if pairs[line[i:i+2]] {
			shared++
		}
	}
	return 2 * float64(shared) / float64(max(len(pairs), len(line)-1)+shared)
}

// compared is what of a line is compared.
func compared(line string) string {
	line = strings.TrimSpace(line)
	return line[:min(len(line), 2*nearChars)]
}

// difference counts the lines that an edit adds and takes away, and says where
// the first one is.
type difference struct{ added, removed, line int }

func differ(before, after string) (d difference) {
	for i, e := range udiff.Lines(before, after) {
		if i == 0 {
			d.line = 1 + strings.Count(before[:e.Start], "\n")
		}
		d.removed += lineCount(before[e.Start:e.End])
		d.added += lineCount(e.New)
	}
	return d
}

func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func (d difference) String() string { return fmt.Sprintf("+%d −%d lines", d.added, d.removed) }

// unified is the difference as a person reads it.
func unified(name, before, after string) string {
	text, err := udiff.ToUnified(name, name, before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		return "" // edits that it made itself are consistent
	}
	return text
}
