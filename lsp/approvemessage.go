package lsp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"agentls/agent"
)

// toolMessage words the question about a tool call for a stock client: what is
// asked, why, and what a yes that is remembered would cover.
func toolMessage(s *Server, a agent.Question) string {
	var b strings.Builder
	if in := commandOf(a.Server, a.Tool, a.Arguments); in.Command != "" {
		b.WriteString("agentls: run the command " + commandShown(s.o.Secrets.Redact(in.Command), cleanLimit))
		if in.Cwd != "" {
			b.WriteString(" in " + s.tell(in.Cwd))
		}
		b.WriteString("?")
		if n := utf8.RuneCountInString(in.Command); n > cleanLimit {
			fmt.Fprintf(&b, " (It has %d characters, and %s; agentls.approvals shows the whole.)", n, programsOf(s, in.Command))
		} else if s.o.Secrets.Redact(in.Command) != in.Command {
			b.WriteString(" (That is not all: agentls.approvals shows the whole.)")
		}
	} else if p := a.Preview; p != nil {
		b.WriteString("agentls: change " + s.counted(*p))
		if words, ok := s.inWords(*p); ok {
			b.WriteString(": " + words)
		}
		b.WriteString("?")
	} else {
		whole := string(orEmpty(a.Arguments))
		arguments := s.tell(whole)
		fmt.Fprintf(&b, "%s: allow the tool %s with %s?", s.tell(cmp.Or(a.Server, "agentls")), s.toolShown(a.Tool, a.Title), arguments)
		if strings.HasSuffix(arguments, "…") || s.o.Secrets.Redact(whole) != whole {
			b.WriteString(" (That is not all: agentls.approvals shows the whole.)")
		}
	}
	if a.Part != "" {
		b.WriteString(" (" + s.tell(a.Part) + ")")
	}
	if a.Destructive {
		b.WriteString(" " + destructive + ".")
	}
	if a.DefinitionChanged {
		b.WriteString(" Its definition is not the one that was allowed before.")
	}
	if a.Reason != "" && a.Covers == "" {
		b.WriteString(" It is asked about each time: " + s.tell(a.Reason) + ".")
	} else if a.Covers != "" {
		b.WriteString(" For the session or always: " + s.tell(a.Covers) + ".")
	}
	return b.String()
}

// destructive is what a server says of its tool. It is never said that one is
// harmless: a server's word does not make it so.
const destructive = "Its server says that it may delete or overwrite something"

// toolShown names a tool, and what its server calls it for people.
func (s *Server) toolShown(name, title string) string {
	shown := s.tell(name)
	if t := s.tell(cleanTo(title, 80)); t != "" && t != shown {
		shown += " (" + t + ")"
	}
	return shown
}

// commandLine are the arguments of run_command that a person has to see.
type commandLine struct {
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
}

// commandOf is the command that a call would run; empty for another call. A
// server's tool of the same name is another.
func commandOf(server, tool string, arguments json.RawMessage) (c commandLine) {
	if server != "" || tool != "run_command" || json.Unmarshal(arguments, &c) != nil {
		return commandLine{}
	}
	return c
}

// programsOf names the programs of a command that is not shown whole.
func programsOf(s *Server, command string) string {
	names, all := agent.Programs(command)
	for i, name := range names {
		names[i] = cleanTo(name, 40) // none crowds out the others
	}
	text := "runs " + s.tell(strings.Join(names, ", "))
	if len(names) == 0 {
		text = "it cannot be told what it runs"
	} else if !all {
		text += " and more that cannot be told"
	}
	return text
}

// commandShown gives a command so that nothing in it stays unseen: lines,
// blanks and what is not printed are visible. Of one that is longer than limit,
// in code points, it shows the start, which says what it is, and the end, where
// danger likes to stand, with how much is between them.
func commandShown(command string, limit int) string {
	shown := func(text string) string {
		if clean(text) == text && !strings.Contains(text, "  ") {
			return text
		}
		return quoteVisible(text)
	}
	text := []rune(strings.TrimRight(command, "\n"))
	if len(text) <= limit {
		return breakLinks(shown(string(text)))
	}
	head, tail := limit*3/5, limit/3
	return breakLinks(fmt.Sprintf("%s … %d characters that are not shown … %s", shown(string(text[:head])), len(text)-head-tail, shown(string(text[len(text)-tail:]))))
}
