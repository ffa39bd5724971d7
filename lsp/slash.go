package lsp

import (
	"context"
	"slices"
	"strings"

	"agentls/agent"
)

// asText says how a line that begins with '/' reaches the model.
const asText = "to send the line as text, indent it by a space or put it into backticks"

// slashRequest is what a prompt asks for that begins with a `/` line (CONTRACT
// §6).
type slashRequest struct {
	agent.SlashLine
	command string // the command that brought it
	typed   string // the line
	own     string // what stands below it
	session string
}

// slashOf reads a prompt; nil: it begins with no `/` line. In a prompt buffer,
// and below such a line, no later line may be one either: it would reach the
// model.
func slashOf(command, text, session string, buffer bool) (*slashRequest, error) {
	var q *slashRequest
	first := true
	for m := walkMarkdown(text); m.next(); {
		if strings.TrimSpace(m.line) == "" {
			continue
		}
		l, ok := agent.ParseSlash(m.line)
		ok = ok && !m.fenced
		switch {
		case ok && first:
			q = &slashRequest{l, command, strings.TrimSpace(m.line), text[min(m.pos(), len(text)):], session}
		case ok && (buffer || q != nil):
			return nil, badf("%s: the line %q begins like a command, which only the first line of a prompt can be; put it below a heading \"## You\" of its own, or %s",
				command, clip(m.line, 100), asText)
		}
		first = false
	}
	return q, nil
}

// local is the half of a `/` line that runs beside others. It answers in
// Markdown, for a person.
type local = func(context.Context) (string, error)

// slashCommands are the commands of [agent.SlashCommands]: each takes its line
// in wire order, and refuses what is wrong with it.
func slashCommands() map[string]func(*Server, *slashRequest) (local, error) {
	return map[string]func(*Server, *slashRequest) (local, error){
		"help": slashHelp, "cancel": slashCancel, "clear": slashClear, "compact": slashCompact, "context": slashContext, "model": slashModel, "mcp": slashMCP, "audit": slashAudit, "undo": slashUndo,
	}
}

// slashRun makes the run of a `/` line. What it asks for at once is done.
func (s *Server) slashRun(q *slashRequest, id string) (*run, error) {
	if q.isPrompt() {
		return s.promptRun(q, id)
	}
	if err := q.check(s); err != nil {
		return nil, err
	}
	if mode := q.mode(); mode != "" {
		x := s.newRun(q.task(), q.typed, q.session, id)
		x.mode = mode
		return x, nil
	}
	work, err := slashCommands()[q.Name](s, q)
	if err != nil {
		return nil, err
	}
	x := s.newRun("", q.typed, q.session, id)
	x.local, x.steer = work, nil // nothing can be added to it
	return x, nil
}

// check tells what is wrong with the line of a command of ours, as far as that
// can be seen without acting on it.
func (q *slashRequest) check(s *Server) error {
	c, ok := agent.SlashCommandNamed(q.Name)
	switch {
	case !ok:
		return q.unknown(s)
	case c.Mode != "" && strings.TrimSpace(q.task()) == "":
		return q.badf("needs a task; write it behind /%s, or below", q.Name)
	case c.Mode != "":
		return nil
	case strings.TrimSpace(q.own) != "":
		return badf("%s: /%s takes nothing below its line; put the rest below a heading \"## You\" of its own", q.command, q.Name)
	case len(q.Args) > len(c.Params):
		return q.badf("takes %s", usageOr(c.Usage))
	}
	for _, a := range q.Args {
		if a.Open {
			return q.badf("has a quote that is not closed; close it, or leave it out")
		}
		if a.Name != "" {
			return q.badf("takes %s, and nothing by name: put %s into quotes", usageOr(c.Usage), clip(q.typed[min(a.Start, len(q.typed)):min(a.End, len(q.typed))], 60))
		}
	}
	if q.session == "" && slices.Contains([]string{"cancel", "clear", "compact", "context", "undo"}, c.Name) {
		return q.badf("needs a session: give {\"session\": …}, or write it in a prompt buffer")
	}
	return nil
}

func usageOr(usage string) string {
	if usage == "" {
		return "nothing behind its name"
	}
	return usage
}

func (q *slashRequest) isPrompt() bool { return q.Server != "" }

// mode is the way of working that the line starts a run in; "": it starts none.
func (q *slashRequest) mode() agent.Mode {
	if q.isPrompt() {
		return ""
	}
	c, _ := agent.SlashCommandNamed(q.Name)
	return c.Mode
}

// isLocal reports whether no model is asked.
func (q *slashRequest) isLocal() bool { return !q.isPrompt() && q.mode() == "" }

// task is the prompt of a line that starts a run: what follows the name, and
// what stands below. Mentions in it are read as in any other.
func (q *slashRequest) task() string {
	return strings.TrimSpace(q.Rest + "\n" + q.own)
}

// badf is what is wrong with the arguments of a line.
func (q *slashRequest) badf(format string, args ...any) error {
	return badf("%s: /%s "+format, slices.Concat([]any{q.command, q.Name}, args)...)
}

// unknown says that there is no such command, and what there is.
func (q *slashRequest) unknown(s *Server) error {
	return badf("%s: there is no command /%s%s; /help lists all; %s", q.command, clip(q.Name, 60), nearestSlash(q.Name, s), asText)
}

// nearestSlash names what was perhaps meant by a name, or nothing.
func nearestSlash(name string, s *Server) string {
	near := s.nearSlashes(name)
	for i := range near {
		near[i] = clean(near[i])
	}
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// nearSlashes gives what was perhaps meant by a name, as it is written at the
// beginning of a line, the best first.
func (s *Server) nearSlashes(name string) []string {
	known := slashCommandNames()
	for i := range known {
		known[i] = "/" + known[i]
	}
	for _, p := range s.o.Manager.PromptList() {
		if text, ok := agent.SlashPromptName(p.Name, p.Prompt.Name); ok {
			if p.Prompt.Name == name {
				return []string{text}
			}
			known = append(known, text)
		}
	}
	return nearest("/"+name, known)
}

// guarded names the command that a line stands for, which a link in a popup
// must not be able to run (CONTRACT §3); "": it stands for none such.
func (q *slashRequest) guarded() string {
	switch {
	case q.isPrompt():
	case q.Name == "model" && len(q.Args) > 0, q.Name == "undo":
		return "agentls." + q.Name
	case q.Name == "mcp" && len(q.Args) > 0 && q.Args[0].Value == agent.MCPEnable:
		return "agentls.mcp.enable"
	}
	return ""
}

// answer is the run of a `/` line that asks no model.
func (x *run) answer() (agent.Result, error) {
	if err := x.s.runs.begin(x); err != nil {
		return agent.Result{}, err
	}
	x.box.put(pending{Event: agent.Event{Kind: eventStarted}})
	text, err := x.local(x.ctx)
	if err != nil {
		return agent.Result{}, err
	}
	text = strings.TrimSpace(text)
	host{editor{x.s}, x}.Emit(agent.Event{Kind: agent.EventText, Delta: text})
	return agent.Result{
		Status: agent.StatusCompleted, StopReason: "end_turn", Text: text,
		Mentions: []agent.MentionResult{}, ToolCalls: []agent.ToolCallResult{}, Changed: []agent.ChangedFile{}, Untracked: []string{},
	}, nil
}
