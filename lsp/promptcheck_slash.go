package lsp

import (
	"strings"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/mcp"
)

// The problems of `/` lines. Each keeps its block from being sent.
const (
	codeUnknownCommand   problemCode = "agentls.unknownCommand"
	codeMisplacedCommand problemCode = "agentls.misplacedCommand"
	codeCommandArguments problemCode = "agentls.commandArguments"
	codeUnknownPrompt    problemCode = "agentls.unknownPrompt"
	codePromptArguments  problemCode = "agentls.promptArguments"
)

// checkedSlash is a `/` line that is looked at.
type checkedSlash struct {
	*slashRequest
	line textSpan
	name textSpan // from the '/' on
}

// slashes looks at the `/` lines of a block, by the rules of agentls.send, and
// returns where the one that it begins with stands.
func (c *promptCheck) slashes(b *blockState) (command textSpan) {
	for _, l := range b.slash {
		line, ok := agent.ParseSlash(l.line.of(c.state.text))
		if !ok {
			continue
		}
		if l.takesNoMention(c.state.text) {
			command = l.line
		}
		if !c.touches(l.line) {
			continue
		}
		q := checkedSlash{
			&slashRequest{line, "agentls.send", strings.TrimSpace(l.line.of(c.state.text)), c.state.text[l.line.end:b.end], c.state.session},
			l.line,
			textSpan{l.line.start, l.line.start + line.End},
		}
		switch {
		case !l.leads:
			c.misplaced(b, q)
		case q.isPrompt():
			c.prompt(q)
		default:
			c.command(q)
		}
	}
	return command
}

// refuse takes a problem of a line, in the words with which it would not be
// sent.
func (c *promptCheck) refuse(q checkedSlash, at textSpan, code problemCode, err error, fixes ...promptFix) {
	if c.full() {
		return
	}
	message := strings.TrimPrefix(err.Error(), q.command+": ")
	c.problems = append(c.problems, promptProblem{
		at, q.line, protocol.DiagnosticSeverityError, code, c.s.settings.words(message), append(fixes, c.inBackticks(q)...),
	})
}

// misplaced is a line that is not the first of its block.
func (c *promptCheck) misplaced(b *blockState, q checkedSlash) {
	_, err := slashOf(q.command, "x\n"+q.typed, q.session, true)
	if err == nil {
		return
	}
	var fixes []promptFix
	if b.heading.end > b.heading.start { // text above the first heading would be no prompt
		fixes = append(fixes, promptFix{title: "Put it below a heading of its own", edits: []promptEdit{{textSpan{q.line.start, q.line.start}, "## You\n\n"}}})
	}
	c.refuse(q, q.name, codeMisplacedCommand, err, fixes...)
}

// command looks at a command of ours.
func (c *promptCheck) command(q checkedSlash) {
	err := q.check(c.s)
	if err == nil && (q.Name == "mcp" || q.Name == "audit") { // made, these have read their line and no more
		_, err = slashCommands()[q.Name](c.s, q.slashRequest)
	}
	switch _, known := agent.SlashCommandNamed(q.Name); {
	case err == nil:
	case known:
		c.refuse(q, q.arguments(), codeCommandArguments, err)
	default:
		c.refuse(q, q.name, codeUnknownCommand, err, c.changes(q.name, c.s.nearSlashes(q.Name))...)
	}
}

// prompt looks at a prompt of a server.
func (c *promptCheck) prompt(q checkedSlash) {
	info, err := c.s.serverOf(q.command, q.Server)
	if err != nil {
		at := textSpan{q.name.start + 1, q.name.start + 1 + len(q.Server)}
		c.refuse(q, at, codeUnknownServer, err, c.changes(at, nearest(q.Server, c.names))...)
		return
	}
	if info.Status != mcp.StatusReady {
		severity, code, message, fixes := c.notReady(info)
		c.problems = append(c.problems, promptProblem{q.name, q.line, severity, code, message, fixes})
		return
	}
	p := &promptRequest{command: q.command, server: info, name: q.Prompt, typed: q.typed, args: q.Args}
	if err = p.bindKnown(c.s); err == nil {
		return
	}
	var written []string // the server's prompts, as they are written
	for _, one := range c.s.o.Manager.PromptList() {
		if one.Server != info.Name {
			continue
		}
		if one.Prompt.Name == q.Prompt {
			c.refuse(q, q.arguments(), codePromptArguments, err)
			return
		}
		if text, ok := agent.SlashPromptName(one.Name, one.Prompt.Name); ok {
			written = append(written, text)
		}
	}
	c.refuse(q, q.name, codeUnknownPrompt, err, c.changes(q.name, nearest("/"+q.Name, written))...)
}

// arguments is where those of a line stand; without any it is the name.
func (q checkedSlash) arguments() textSpan {
	if len(q.Args) == 0 {
		return q.name
	}
	return textSpan{q.line.start + q.Args[0].Start, q.line.start + q.Args[len(q.Args)-1].End}
}

// changes offers to write something else.
func (c *promptCheck) changes(at textSpan, to []string) (fixes []promptFix) {
	for _, text := range to {
		if clean(text) == text { // else it could not be seen what is written
			fixes = append(fixes, promptFix{title: "Change to " + cleanTo(text, actionMax), exact: len(to) == 1, edits: []promptEdit{{at, text}}})
		}
	}
	return fixes
}

// inBackticks offers to send a line as text.
func (c *promptCheck) inBackticks(q checkedSlash) []promptFix {
	run := strings.Repeat("`", longestRun(q.name.of(c.state.text))+1)
	return []promptFix{{title: "Send it as text, in backticks", edits: []promptEdit{{textSpan{q.name.start, q.name.start}, run}, {textSpan{q.name.end, q.name.end}, run}}}}
}
