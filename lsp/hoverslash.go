package lsp

import (
	"fmt"
	"strings"

	"agentls/agent"
	"agentls/mcp"
)

// maxArguments is how many arguments of a prompt are described.
const maxArguments = 30

// hoverSlash tells what a `/` line does, and where its name stands. A line that
// is no command is text, of which there is nothing to tell.
func (s *Server) hoverSlash(m *markup, text string, l slashLine) (at textSpan) {
	line, ok := agent.ParseSlash(l.line.of(text))
	if !ok {
		return textSpan{}
	}
	at = textSpan{l.line.start, l.line.start + line.End}
	if !l.leads {
		m.text("Only the first line of a prompt can be a command: with this one here the prompt is not sent; " + asText + ".")
		return at
	}
	if line.Server != "" {
		s.hoverPrompt(m, line)
		return at
	}
	c, known := agent.SlashCommandNamed(line.Name)
	if !known {
		m.text("There is no command ")
		m.code("/" + s.tell(line.Name))
		m.text(", so the prompt is not sent" + s.tell(suggest(line.Name, slashCommandNames())))
		return at
	}
	m.code(strings.TrimSpace("/" + c.Name + " " + c.Usage))
	m.paragraph()
	m.text(c.About)
	return at
}

func slashCommandNames() (names []string) {
	for _, c := range agent.SlashCommands() {
		names = append(names, c.Name)
	}
	return names
}

// hoverPrompt tells what a prompt of a server is.
func (s *Server) hoverPrompt(m *markup, line agent.SlashLine) {
	var names []string
	for _, p := range s.o.Manager.PromptList() {
		if p.Name == line.Server {
			names = append(names, p.Prompt.Name)
			if p.Prompt.Name == line.Prompt {
				s.describePrompt(m, p)
				return
			}
		}
	}
	info, ok := s.o.Manager.ServerNamed(line.Server)
	switch {
	case !ok:
		m.text("No MCP server is named ")
		m.code(s.tell(line.Server))
		m.text(s.tell(suggest(line.Server, s.mentionNames())))
	case info.Status != mcp.StatusReady:
		m.text(s.tell(info.Mention) + separator + s.notReady(info))
	default:
		m.code(s.tell(line.Server))
		m.text(" has no prompt ")
		m.code(s.tell(line.Prompt))
		m.text(s.tell(suggest(line.Prompt, names)))
	}
}

// describePrompt says what is known of a prompt: how it is written, what it
// does, and what its arguments are.
func (s *Server) describePrompt(m *markup, p mcp.PromptCandidate) {
	if title := s.tell(p.Prompt.Title); title != "" {
		m.strong(title)
		m.line()
	}
	usage, ok := agent.SlashPromptName(p.Name, p.Prompt.Name)
	for _, a := range p.Prompt.Arguments {
		name, fits := agent.SlashArgName(a.Name)
		ok = ok && fits
		if !a.Required {
			name = "[" + name + "…]"
		} else {
			name += "…"
		}
		usage += " " + name
	}
	if ok {
		m.code(s.tell(usage))
	}
	if p.Stale {
		m.line()
		m.text("changed since it was listed")
	}
	if about := s.tell(p.Prompt.Description); about != "" {
		m.paragraph()
		m.text(about)
	}
	for i, a := range p.Prompt.Arguments {
		if i == maxArguments {
			m.line()
			m.text(fmt.Sprintf("and %d more", len(p.Prompt.Arguments)-i))
			break
		}
		if i == 0 {
			m.paragraph()
		} else {
			m.line()
		}
		m.code(s.tell(a.Name))
		if a.Required {
			m.text(" (required)")
		}
		if about := s.tell(a.Description); about != "" {
			m.text(": " + about)
		}
	}
}
