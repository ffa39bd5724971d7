package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"agentls/agent"
	"agentls/mcp"
)

// terminal is the agent's host in a shell: the answer goes to out, everything
// else to notes, questions to the terminal.
type terminal struct {
	out, notes io.Writer
	tty        console // nil: nobody to ask
	secrets    *mcp.Secrets
	about      string // the server that alone is told of; empty: all
	quiet      bool   // the command itself tells what became of servers
	editor     string // what $VISUAL or $EDITOR names; empty: nothing

	mu  sync.Mutex // one question at a time, and no note inside it
	mid bool       // out stands in the middle of a line
	// begun are the steps that were told of, with their last notes: by plan, and
	// place in it.
	begun map[[2]int]string
}

// hasTerminal reports whether a person is there, who may have piped the prompt in.
func hasTerminal(p program) bool { return isTerminal(p.stdin) || isTerminal(p.stderr) }

// openTerminal finds the person, who may have piped the prompt in.
func openTerminal(p program, secrets *mcp.Secrets) *terminal {
	t := &terminal{out: p.stdout, notes: p.stderr, secrets: secrets, editor: editorOf(p.getenv)}
	if hasTerminal(p) {
		if f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
			t.tty = &tty{file: f}
		} else if f, ok := p.stdin.(*os.File); ok && isTerminal(f) {
			t.tty = &tty{file: f}
		}
	}
	return t
}

// Document implements [agent.Host]: a shell has no unsaved text.
func (t *terminal) Document(string) (string, bool) { return "", false }

// Edit implements [agent.Host]: a shell has no file open.
func (t *terminal) Edit(context.Context, agent.Edit) (agent.Edited, error) {
	return agent.Edited{}, agent.ErrNotOpen
}

// Diagnostics implements [agent.Host]: a shell knows none.
func (t *terminal) Diagnostics(context.Context, string) []string { return nil }

// Emit implements [agent.Host].
func (t *terminal) Emit(e agent.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case agent.EventText:
		fmt.Fprint(t.out, printable(e.Delta))
		if e.Delta != "" {
			t.mid = !strings.HasSuffix(e.Delta, "\n")
		}
	case agent.EventToolCall:
		name := e.ToolCall.Tool
		if e.ToolCall.Server != "" {
			name = e.ToolCall.Server + "/" + name
		}
		if e.ToolCall.Part != "" {
			name = e.ToolCall.Part + ": " + name
		}
		t.note("· %s %s %s", name, e.ToolCall.State, e.ToolCall.Message)
	case agent.EventPlan:
		t.planNote(e.Plan)
	case agent.EventWaits:
		t.note("· %s", e.Delta)
	case agent.EventNotice, agent.EventAway, agent.EventHint:
		t.note("agentls: %s", e.Delta)
	case agent.EventMention:
		t.note("· @%s:%s %s %s", e.Mention.Server, e.Mention.URI, e.Mention.Status, e.Mention.Error)
	}
}

// note prints a line beside the answer. The caller holds mu.
func (t *terminal) note(format string, args ...any) {
	if t.mid {
		fmt.Fprintln(t.out)
		t.mid = false
	}
	line := strings.TrimSpace(fmt.Sprintf(format, args...))
	fmt.Fprintln(t.notes, oneLine(t.secrets.Redact(line), 300))
}

// Ask implements [agent.Host]. Without a terminal everything is denied.
func (t *terminal) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	if t.tty == nil {
		reason := "there is no terminal to ask on; allow it in the configuration"
		if q.Plan != nil {
			reason += `, by the rule submit_plan: "approval": {"allow": ["submit_plan"]}`
		}
		return agent.Answer{Decision: agent.DecisionDeny, By: "policy", Reason: reason}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil { // while another question was open
		return agent.Answer{}, context.Cause(ctx)
	}
	if q.Recheck != nil {
		if a, decided := q.Recheck(); decided {
			return a, nil
		}
	}
	if q.Plan != nil {
		return t.askPlan(ctx, q)
	}
	choices := t.put(q)
	for range misreadMost {
		fmt.Fprint(t.tty, "  "+choices)
		line, err := t.tty.readLine(ctx)
		if err != nil {
			return agent.Answer{}, err
		}
		a, ok, err := t.read(ctx, q, line)
		switch {
		case ok:
			return a, nil
		case ctx.Err() != nil:
			return agent.Answer{}, context.Cause(ctx)
		case err != nil:
			fmt.Fprintf(t.tty, "  %s\n", oneLine(t.secrets.Redact(err.Error()), 1000))
		}
		choices = choices[strings.LastIndex(choices, "\n")+1:]
		choices = strings.TrimLeft(choices, " ")
	}
	return agent.Answer{Decision: agent.DecisionDeny}, nil
}

// misreadMost is how often a question is put that gets no answer it knows; then
// it is denied.
const misreadMost = 5

var errMisread = errors.New("That is no answer: give one of the letters in brackets, or n and your reason.")

// put says what is asked, and gives the choices that end the question.
func (t *terminal) put(q agent.Question) (choices string) {
	switch {
	case q.Sample != nil:
		note, shown, choices := t.sampleQuestion(q)
		t.note("%s", note)
		fmt.Fprintf(t.tty, "  %s\n", shown)
		return choices
	case q.Kind == "trust":
		return t.trustQuestion(q)
	}
	t.toolQuestion(q)
	return t.choices(q)
}

// read reads the answer to a question; ok is false for what is none. Only a
// word that stands alone allows something: "yes, but" does not.
func (t *terminal) read(ctx context.Context, q agent.Question, line string) (a agent.Answer, ok bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	word, rest = strings.ToLower(word), strings.TrimSpace(rest)
	if a, ok := sampleAnswer(word); ok && rest == "" && q.Sample != nil && q.Sample.Answer == nil {
		return a, true, nil
	}
	switch {
	case word == "" || word == "n" || word == "no":
		return agent.Answer{Decision: agent.DecisionDeny, Reason: rest}, true, nil
	case rest != "":
	case word == "y" || word == "yes":
		return agent.Answer{Decision: agent.DecisionOnce}, true, nil
	case word == "s" || word == "session":
		return agent.Answer{Decision: agent.DecisionSession}, true, nil
	case word == "a" || word == "always":
		return agent.Answer{Decision: agent.DecisionAlways}, true, nil
	case (word == "e" || word == "edit") && t.editable(q):
		return t.editArguments(ctx, q)
	}
	return agent.Answer{}, false, errMisread
}

// toolQuestion says what the agent wants to call.
func (t *terminal) toolQuestion(q agent.Question) {
	name := q.Tool
	if q.Server != "" {
		name = q.Server + "/" + name
	}
	who := "The agent"
	if q.Part != "" {
		who = q.Part // of a plan
	}
	t.note("%s wants to call %s: %s", who, name, q.Reason)
	if q.DefinitionChanged {
		t.note("Its definition has changed since it was allowed.")
	}
	fmt.Fprintf(t.tty, "  %s\n", t.shown(q))
}

// shown is what a call would do: the change of a file, else its arguments.
func (t *terminal) shown(q agent.Question) string {
	if p := q.Preview; p != nil {
		diff := strings.TrimRight(printable(t.secrets.Redact(p.Diff)), "\n")
		return fmt.Sprintf("%s: +%d −%d lines\n  %s", oneLine(p.Path, 300), p.Added, p.Removed, strings.ReplaceAll(diff, "\n", "\n  "))
	}
	arguments := oneLine(t.secrets.Redact(string(q.Arguments)), 20000)
	if strings.HasSuffix(arguments, "…") {
		arguments += "\n  (That is not all of it.)"
	}
	return arguments
}

// choices asks for one of the answers that count.
func (t *terminal) choices(q agent.Question) string {
	edit := ""
	if t.editable(q) {
		edit = ", [e]dit it"
	}
	if q.Covers == "" {
		return "[N]o, [y]es once" + edit + ": "
	}
	return fmt.Sprintf("(For the session or always: %s.)\n  [N]o, [y]es once, for this [s]ession, [a]lways%s: ", oneLine(q.Covers, 300), edit)
}

// printable takes out what would command a terminal or change the order of
// what it shows; line breaks and tabs stay.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s)
}

// oneLine is printable text on one line without what is not seen, cut at a
// number of code points.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if agent.Unseen(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, printable(s))), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

// word is a foreign word of which nothing is left out: as it is where that is
// seen whole, else quoted with escapes.
func word(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == '\\' }) {
		return strconv.QuoteToASCII(s)
	}
	return s
}

func words(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = word(s)
	}
	return strings.Join(quoted, " ")
}

// endLine ends a line of the answer that the model left open.
func (t *terminal) endLine() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mid {
		fmt.Fprintln(t.out)
		t.mid = false
	}
}

// declined answers every question of a server in a shell command.
//
//nolint:gochecknoglobals // a constant
var declined = mcp.RequestAnswer{}

// event prints what a person at a shell should know of a server.
func (t *terminal) event(e mcp.Event) {
	if t.quiet || t.about != "" && t.about != e.Server {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case mcp.EventFailed, mcp.EventLost:
		t.note("! %s: %s: %s", e.Server, e.Kind, e.Err)
	case mcp.EventUntrusted:
		t.note("! %s: comes with this folder and is not trusted; see `agentls mcp trust %s`", e.Server, e.Server)
	}
}
