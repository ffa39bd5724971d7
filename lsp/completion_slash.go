package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/mcp"
)

// valuesWait is how long a server may take for the values of an argument
// (CONTRACT §6).
const valuesWait = 200 * time.Millisecond

// completeSlash completes the `/` line that a cursor is in. ok is false where
// it is in none: a line counts where it would be run, at the beginning of a
// prompt.
func (s *Server) completeSlash(ctx context.Context, text string, cursor int) (list json.RawMessage, ok bool) {
	start, ok := slashLineAt(text, cursor)
	if !ok {
		return nil, false
	}
	typed := text[start:cursor]
	l, isLine := agent.ParseSlash(typed)
	switch {
	case typed == "":
		return nil, false // the cursor is before the slash
	case !isLine && typed != "/":
		return nil, false // a path
	case len(typed) <= max(l.End, 1):
		return s.itemEdit(text, start, cursor, strings.Contains(typed, `:"`)).suggestions(s.slashCandidates(typed)), true
	}
	if cmd, _ := agent.SlashCommandNamed(l.Name); cmd.Mode != "" {
		return nil, false // what follows is a prompt
	}
	c := slashCompletion{s: s, line: l}
	c.current = agent.SlashArg{Start: len(typed), At: len(typed), End: len(typed)}
	c.before = l.Args
	if n := len(l.Args); n > 0 && l.Args[n-1].End == len(typed) {
		c.current, c.before = l.Args[n-1], l.Args[:n-1]
	}
	suggestions, more := c.argument(ctx)
	if c.line.Server != "" {
		c.typedName(typed, suggestions)
	}
	quoted := c.current.At < len(typed) && typed[c.current.At] == '"'
	return s.itemEdit(text, start+c.current.Start, cursor, quoted).suggestions(suggestions, more), true
}

// slashLineAt finds the `/` line that a cursor is in: the first line of a prompt
// that says something.
func slashLineAt(text string, cursor int) (start int, ok bool) {
	start = strings.LastIndexAny(text[:cursor], "\r\n") + 1
	if !strings.HasPrefix(text[start:], "/") {
		return 0, false // as nearly always
	}
	for _, b := range turns(text) {
		if b.start > start || start >= b.end {
			continue
		}
		l, isSlash := b.command(start)
		return start, isSlash && l.leads
	}
	return 0, false
}

// slashCandidates are the commands and the prompts of the servers that a beginning
// may become: first those that begin with it, then those that hold it.
func (s *Server) slashCandidates(typed string) (list []suggestion, more bool) {
	for _, c := range agent.SlashCommands() {
		list = append(list, suggestion{label: "/" + c.Name, kind: protocol.CompletionItemKindFunction, about: c.About, insert: "/" + c.Name})
	}
	for _, p := range s.o.Manager.PromptList() {
		insert, ok := agent.SlashPromptName(p.Name, p.Prompt.Name)
		if !ok {
			continue
		}
		bare := "/" + p.Name + ":" + p.Prompt.Name
		about := cmp.Or(p.Prompt.Title, p.Prompt.Description)
		if p.Prompt.Description != "" && about != p.Prompt.Description {
			about += ": " + p.Prompt.Description
		}
		g := suggestion{label: bare, kind: protocol.CompletionItemKindEvent, about: about, insert: insert, unquoted: bare}
		if about == "" {
			g.from = p.Name
		}
		list = append(list, g)
	}
	return ranked(list, typed, strings.TrimPrefix(typed, "/"))
}

// ranked keeps what fits a beginning, or holds it anywhere, in any case; of
// three letters and more, also in the words about it.
func ranked(list []suggestion, beginning, part string) (out []suggestion, more bool) {
	beginning, part = strings.ToLower(beginning), strings.ToLower(part)
	var rest []suggestion
	for _, g := range list {
		text := strings.ToLower(cmp.Or(g.unquoted, g.insert))
		switch {
		case g.insert == "": // no line can hold it
		case strings.HasPrefix(text, beginning), strings.HasPrefix(strings.ToLower(g.insert), beginning):
			out = append(out, g)
		case strings.Contains(text, part), len(part) >= 3 && strings.Contains(strings.ToLower(g.about), part):
			rest = append(rest, g)
		}
	}
	out = append(out, rest...)
	if len(out) > maxItems {
		return out[:maxItems], true
	}
	return out, false
}

// slashCompletion is an argument of a `/` line that is being typed.
type slashCompletion struct {
	s       *Server
	line    agent.SlashLine
	before  []agent.SlashArg
	current agent.SlashArg
}

func (c *slashCompletion) argument(ctx context.Context) (list []suggestion, more bool) {
	if c.line.Server != "" {
		return c.ofPrompt(ctx)
	}
	cmd, ok := agent.SlashCommandNamed(c.line.Name)
	if !ok || len(c.before) >= len(cmd.Params) || c.current.Name != "" {
		return nil, false
	}
	p := cmd.Params[len(c.before)]
	if p.After != nil && !slices.Contains(p.After, c.before[0].Value) {
		return nil, false
	}
	switch p.Kind {
	case agent.SlashWord:
		for _, w := range p.Words {
			list = append(list, slashWord(w, protocol.CompletionItemKindKeyword, ""))
		}
	case agent.SlashServer:
		for _, info := range c.s.o.Manager.Servers() {
			list = append(list, slashWord(info.Mention, protocol.CompletionItemKindModule, string(info.Status)))
		}
	case agent.SlashProvider:
		cfg := c.s.cfg.Load()
		for _, name := range cfg.ProviderNames() {
			p, _ := cfg.Use(name, "")
			list = append(list, slashWord(name, protocol.CompletionItemKindModule, p.Model))
		}
	case agent.SlashModel:
		if p, ok := c.s.cfg.Load().Use(c.before[0].Value, ""); ok {
			names, asked := c.s.models.known(p)
			for _, name := range names {
				list = append(list, slashWord(name, protocol.CompletionItemKindValue, ""))
			}
			list, more = ranked(list, c.current.Value, c.current.Value)
			return list, more || asked
		}
	}
	return ranked(list, c.current.Value, c.current.Value)
}

// slashWord is an argument without a name.
func slashWord(value string, kind protocol.CompletionItemKind, about string) suggestion {
	insert, _ := agent.QuoteSlash(value) // "" for what no line can hold: see ranked
	g := suggestion{label: value, kind: kind, about: about, insert: insert}
	if insert != value {
		g.unquoted = value
	}
	return g
}

// ofPrompt gives the names of a prompt's arguments that are not given yet, and
// the values of the one that is being typed.
func (c *slashCompletion) ofPrompt(ctx context.Context) (list []suggestion, more bool) {
	all := c.s.o.Manager.PromptList()
	i := slices.IndexFunc(all, func(p mcp.PromptCandidate) bool { return p.Name == c.line.Server && p.Prompt.Name == c.line.Prompt })
	if i < 0 {
		return nil, false
	}
	p := all[i]
	free, given := c.free(p.Prompt)
	target := c.current.Name
	if target == "" {
		if !c.current.Open {
			list = argumentNames(p.Prompt, free)
		}
		if len(free) > 0 {
			target = free[0]
		}
	}
	list, more = ranked(list, c.current.Value, c.current.Value)
	if target == "" {
		return list, more
	}
	ctx, cancel := context.WithTimeout(ctx, valuesWait)
	defer cancel()
	values, partial, err := c.s.o.Manager.CompleteArgument(ctx, p.Server, mcp.CompletionRef{Prompt: p.Prompt.Name}, target, c.current.Value, given)
	if err != nil {
		c.s.o.Log.Debug("no values for an argument", "server", p.Server, "prompt", p.Prompt.Name, "argument", target, "error", err)
	}
	for _, v := range values {
		list = append(list, slashWord(v, protocol.CompletionItemKindValue, ""))
	}
	return list, more || partial
}

// free are the arguments of a prompt that are not given, in its order, and the
// values of those that are.
func (c *slashCompletion) free(p mcp.Prompt) (free []string, given map[string]string) {
	given = map[string]string{}
	for _, a := range c.before {
		if a.Name != "" {
			given[a.Name] = a.Value
		}
	}
	for _, a := range p.Arguments {
		if _, ok := given[a.Name]; !ok {
			free = append(free, a.Name)
		}
	}
	for _, a := range c.before {
		if a.Name == "" && len(free) > 0 {
			given[free[0]] = a.Value
			free = free[1:]
		}
	}
	return free, given
}

// argumentNames are the names of arguments, those that must be given first.
func argumentNames(p mcp.Prompt, free []string) (list []suggestion) {
	for _, required := range []bool{true, false} {
		for _, a := range p.Arguments {
			insert, ok := agent.SlashArgName(a.Name)
			if !ok || a.Required != required || !slices.Contains(free, a.Name) {
				continue
			}
			about := a.Description
			if required {
				about = strings.TrimSpace("required " + about)
			}
			g := suggestion{label: a.Name + "=", kind: protocol.CompletionItemKindProperty, about: about, insert: insert}
			if insert != g.label {
				g.unquoted = g.label
			}
			list = append(list, g)
		}
	}
	return list
}

// typedName puts the name of the argument before the values, as it is typed:
// the edit begins there.
func (c *slashCompletion) typedName(typed string, list []suggestion) {
	name := typed[c.current.Start:c.current.At]
	if name == "" {
		return
	}
	for i := range list {
		g := &list[i]
		if g.unquoted != "" {
			g.unquoted = name + g.unquoted
		}
		g.insert = name + g.insert
	}
}
