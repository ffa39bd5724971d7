package lsp

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"agentls/agent"
)

// A change that is as short as this is shown in the question itself: lines
// that go or come, and code points of all of them.
const (
	shortLines = 6
	shortChars = 240
)

// counted names what a change is of, and how much it is.
func (s *Server) counted(p agent.Preview) string {
	return fmt.Sprintf("%s (+%d −%d lines)", s.tell(p.Path), p.Added, p.Removed)
}

// inWords gives a short change as `- old → + new`, one behind the other. ok is
// false for a longer one, and where a secret would be seen. Nothing in it stays
// unseen: what is not printed and what blanks a line has are visible.
func (s *Server) inWords(p agent.Preview) (words string, ok bool) {
	if p.Added+p.Removed > shortLines || len(p.Diff) > 64*shortChars || s.o.Secrets.Redact(p.Diff) != p.Diff {
		return "", false
	}
	var all []string
	gone, come := []string(nil), []string(nil)
	flush := func() {
		if len(gone)+len(come) > 0 {
			all = append(all, replaced(gone, come))
		}
		gone, come = nil, nil
	}
	for i, line := range strings.Split(strings.TrimSuffix(p.Diff, "\n"), "\n") {
		switch {
		case i < 2: // the names
		case line == "":
			return "", false // it is cut, or of none that we know
		case line[0] == '-' && len(come) > 0:
			flush()
			gone = append(gone, line[1:])
		case line[0] == '-':
			gone = append(gone, line[1:])
		case line[0] == '+':
			come = append(come, line[1:])
		case line[0] == ' ', strings.HasPrefix(line, "@@"):
			flush()
		default: // a line without its end
			return "", false
		}
	}
	flush()
	words = breakLinks(strings.Join(all, " ; "))
	return words, len(all) > 0 && utf8.RuneCountInString(words) <= shortChars
}

// replaced words lines that take the place of others.
func replaced(gone, come []string) string {
	both := slices.Concat(gone, come)
	ending := "\r" // of a file with such lines
	if slices.ContainsFunc(both, func(line string) bool { return !strings.HasSuffix(line, "\r") }) {
		ending = ""
	}
	indent := sharedIndent(both)
	var parts []string
	for _, side := range []struct {
		sign  string
		lines []string
	}{{"- ", gone}, {"+ ", come}} {
		if len(side.lines) == 0 {
			continue
		}
		shown := make([]string, len(side.lines))
		for i, line := range side.lines {
			if shown[i] = strings.TrimSuffix(line[min(len(indent), len(line)):], ending); clean(shown[i]) != shown[i] || shown[i] == "" {
				shown[i] = quoteVisible(shown[i])
			}
		}
		parts = append(parts, side.sign+strings.Join(shown, " ⏎ "))
	}
	return strings.Join(parts, " → ")
}

// sharedIndent is the blank beginning that all lines have that are not blank.
func sharedIndent(lines []string) (indent string) {
	first := true
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		own := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if first {
			indent, first = own, false
		}
		indent = indent[:prefix(indent, own)]
	}
	return indent
}

// tellChanges tells a person what a code action changed that nobody was asked
// about, because a rule of theirs allows it: what is different, and how it is
// taken back. A client with run events, and an editor that asks about edits
// itself, have shown it.
func (x *run) tellChanges() {
	s := x.s
	list := slices.DeleteFunc(x.changes, func(c agent.Change) bool { return c.Open && s.annotates() })
	if x.action == "" || s.peer.features.runEvents || len(list) == 0 {
		return
	}
	var names, words []string
	var previews []agent.Preview
	for _, c := range list {
		names, previews = append(names, s.counted(c.Preview)), append(previews, c.Preview)
		if short, ok := s.inWords(c.Preview); ok {
			words = append(words, short)
		}
	}
	text := "agentls: " + string(x.action) + " changed " + strings.Join(names[:min(len(names), handful)], ", ")
	if more := len(names) - handful; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if short := strings.Join(words, " ; "); len(words) == len(list) && utf8.RuneCountInString(short) <= shortChars {
		text += ": " + short
	} else {
		text += ". " + s.previews.show(s.alive, x.session, previews...)
	}
	s.showMessage(protocol.MessageTypeInfo, text+`. “Undo the changes of: …” among the document's code actions takes it back, or agentls.undo with {"runId":"`+clean(x.id)+`"}.`)
}
