package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agentls/agent"
)

// ownCommand is a `/` line that is about the dialogue, and not for the server.
type ownCommand struct {
	name, usage, about string
}

// ownCommands lists them.
func ownCommands() []ownCommand {
	return []ownCommand{
		{"sessions", "", "list the sessions of this folder"},
		{"resume", "[N | SESSION]", "go on with a session of that list (1, the last one used)"},
		{"new", "", "begin a new session"},
		{"exit", "", "leave; /quit and Ctrl-D do as well"},
		{"quit", "", ""},
	}
}

// line does what a line says. leave: the person wants to. It never waits.
func (d *dialogue) line(text string) (leave bool) {
	text = strings.TrimRight(text, " \t\r\n")
	if strings.TrimSpace(text) == "" {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	slash, isSlash := agent.ParseSlash(first)
	own := isSlash && slices.ContainsFunc(ownCommands(), func(c ownCommand) bool { return c.name == slash.Name })
	switch x := d.steered(); {
	case own:
		return d.own(slash)
	case !isSlash && x != nil:
		d.steer(x, text)
	default:
		d.ask(text)
	}
	return false
}

// own does what is about the dialogue.
func (d *dialogue) own(l agent.SlashLine) (leave bool) {
	if l.Rest != "" && l.Name != "resume" {
		d.face.note(noteError, "/"+l.Name+" takes nothing behind its name")
		return false
	}
	if (l.Name == "new" || l.Name == "resume") && len(d.live()) > 0 {
		d.face.note(noteError, "/"+l.Name+" must wait: a run works on this session; end it with /cancel, or wait")
		return false
	}
	switch l.Name {
	case "exit", "quit":
		return true
	case "new":
		d.setSession(newSession())
		d.face.note(noteDone, "a new session begins")
	case "sessions":
		d.beside(d.showSessions)
	case "resume":
		d.beside(func(ctx context.Context) {
			if err := d.resume(ctx, l.Rest); err != nil {
				d.fail(err)
			}
		})
	}
	return false
}

// isHelp reports whether a line asks for the commands.
func isHelp(text string) bool {
	l, ok := agent.ParseSlash(text)
	return ok && l.Name == "help"
}

// ownHelp tells of the commands that the server does not know.
func (d *dialogue) ownHelp() {
	var b strings.Builder
	b.WriteString("\nOf this dialogue:\n\n")
	for _, c := range ownCommands() {
		if c.about != "" {
			fmt.Fprintf(&b, "- `%s` — %s\n", strings.TrimSpace("/"+c.name+" "+c.usage), c.about)
		}
	}
	b.WriteString("\nEnter sends, Alt+Enter begins a new line, Tab completes, Ctrl-G opens your editor, Ctrl-C ends the run.\n")
	d.face.answer(b.String())
	d.face.answer("")
}
