package lsp

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"agentls/agent"
	"agentls/mcp"
)

// promptRequest is a prompt of an MCP server as a person asked for it.
type promptRequest struct {
	command   string // that brought it
	server    mcp.ServerInfo
	name      string
	typed     string
	args      []agent.SlashArg
	arguments map[string]string // args by their names; nil: the prompt was not known yet
}

// promptRun makes the run of a `/server:prompt` line. What is known to be wrong
// with it is told at once.
func (s *Server) promptRun(q *slashRequest, id string) (*run, error) {
	server, err := s.serverOf(q.command, q.Server)
	if err != nil {
		return nil, err
	}
	p := &promptRequest{command: q.command, server: server, name: q.Prompt, typed: q.typed, args: q.Args}
	if err := p.bindKnown(s); err != nil {
		return nil, err
	}
	own := strings.TrimSpace(q.own)
	asked := q.typed
	if own != "" {
		asked += "\n" + own
	}
	x := s.newRun(own, asked, q.session, id)
	x.mcp = p
	return x, nil
}

// bindKnown binds the arguments where the prompt is in the cache.
func (p *promptRequest) bindKnown(s *Server) error {
	list, stale, err := s.o.Manager.Prompts(p.server.Name)
	whole := err == nil && !stale && s.isReady(p.server.Name) && p.server.Prompts != nil
	i := slices.IndexFunc(list, func(one mcp.Prompt) bool { return one.Name == p.name })
	switch {
	case i >= 0:
		p.arguments, err = p.bind(list[i])
		return err
	case whole || p.name == "":
		return p.unknown(list)
	}
	return nil // it is looked for when its turn comes
}

// use gives the prompt for the agent. One that was not known is looked for.
func (p *promptRequest) use(ctx context.Context, s *Server) (*agent.PromptUse, error) {
	if p.arguments == nil {
		started, cancel := context.WithTimeout(ctx, promptWait)
		s.o.Manager.WaitStarted(started)
		cancel()
		list, err := s.o.Manager.ListPrompts(ctx, p.server.Name)
		i := slices.IndexFunc(list, func(one mcp.Prompt) bool { return one.Name == p.name })
		switch {
		case i >= 0:
			if p.arguments, err = p.bind(list[i]); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, s.mcpError(ctx, p.command, p.server.Name, err)
		default:
			return nil, p.unknown(list)
		}
	}
	return &agent.PromptUse{Server: p.server.Name, Name: p.name, Arguments: p.arguments, Typed: p.typed}, nil
}

// promptWait is how long a server that is starting is waited for.
const promptWait = 2 * time.Second

func (p *promptRequest) unknown(list []mcp.Prompt) error {
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = one.Name
	}
	if len(list) == 0 {
		return badf("%s: the MCP server %s offers no prompts; see in /mcp list what its server does", p.command, p.server.Mention)
	}
	if p.name == "" {
		return badf("%s: /%s: needs the name of a prompt%s", p.command, p.server.Mention, suggest("", names))
	}
	return badf("%s: the MCP server %s has no prompt %q%s", p.command, p.server.Mention, clip(p.name, 100), suggest(p.name, names))
}

// bind gives each argument its name: those without one take the prompt's in
// their order.
func (p *promptRequest) bind(prompt mcp.Prompt) (map[string]string, error) {
	bad := func(format string, args ...any) error {
		return badf("%s: /%s:%s "+format, slices.Concat([]any{p.command, p.server.Mention, clip(prompt.Name, 100)}, args)...)
	}
	usage := strings.TrimSpace(clean(promptUsage(prompt)))
	takes := cmp.Or(usage, "nothing")
	var names []string
	for _, a := range prompt.Arguments {
		names = append(names, a.Name)
	}
	out := map[string]string{}
	for _, a := range p.args {
		_, twice := out[a.Name]
		switch {
		case a.Open:
			return nil, bad("has a quote that is not closed")
		case a.Name == "":
			continue
		case !slices.Contains(names, a.Name):
			return nil, bad("has no argument %q%s; it takes %s; put a value that holds \"=\" into quotes", clip(a.Name, 60), suggest(a.Name, names), takes)
		case twice:
			return nil, bad("gets %s twice", clip(a.Name, 60))
		}
		out[a.Name] = a.Value
	}
	free := slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, given := out[n]; return given })
	for _, a := range p.args {
		if a.Name != "" {
			continue
		}
		if len(free) == 0 {
			return nil, bad("has no place for %q: it takes %s; put a value of several words into quotes", clip(a.Value, 60), takes)
		}
		out[free[0]] = a.Value
		free = free[1:]
	}
	var missing []string
	for _, a := range prompt.Arguments {
		if _, given := out[a.Name]; a.Required && !given {
			missing = append(missing, clean(a.Name))
		}
	}
	if len(missing) > 0 {
		return nil, bad("needs %s: write /%s:%s %s", strings.Join(missing, ", "), p.server.Mention, clean(prompt.Name), usage)
	}
	return out, nil
}

// usePromptArg is the argument of agentls.mcp.usePrompt.
type usePromptArg struct {
	Server    *string            `json:"server"`
	Name      *string            `json:"name"`
	Arguments *map[string]string `json:"arguments"`
	Session   *string            `json:"session"`
	Run       *bool              `json:"run"`
	RunID     *string            `json:"runId"` // of the run
}

// promptInfo is the result of agentls.mcp.usePrompt without a run.
type promptInfo struct {
	Description string              `json:"description,omitzero"`
	Messages    []promptMessageInfo `json:"messages"`
}

// promptMessageInfo is one message, as the server gave it.
type promptMessageInfo struct {
	Role     string              `json:"role"` // user, assistant
	Contents []promptContentInfo `json:"contents"`
}

// promptContentInfo is one content of a message: its MCP type, and what it has.
type promptContentInfo struct {
	Type     string `json:"type"`
	Name     string `json:"name,omitzero"`
	URI      string `json:"uri,omitzero"`
	MIMEType string `json:"mimeType,omitzero"`
	Text     string `json:"text,omitzero"`
	Blob     string `json:"blob,omitzero"` // base64
	// Title, Description and Size, in bytes, are those of a resource link.
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Size        *int64 `json:"size,omitzero"`
}

func prepareUsePrompt(s *Server, _ context.Context, arg usePromptArg, in invocation) (serveFunc, error) {
	if err := s.server(in.command, arg.Server); err != nil {
		return nil, err
	}
	if err := required(in.command, "name", arg.Name); err != nil {
		return nil, err
	}
	if err := label(in.command, "session", arg.Session); err != nil {
		return nil, err
	}
	if err := label(in.command, "runId", arg.RunID); err != nil {
		return nil, err
	}
	p := &promptRequest{command: in.command, name: *arg.Name}
	for _, info := range s.o.Manager.Servers() {
		if info.Name == *arg.Server {
			p.server = info
		}
	}
	given := deref(arg.Arguments)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p.args = append(p.args, agent.SlashArg{Name: name, Value: given[name]})
	}
	p.typed = p.line()
	if err := p.bindKnown(s); err != nil {
		return nil, err
	}
	if deref(arg.Run) {
		x := s.newRun("", p.typed, deref(arg.Session), deref(arg.RunID))
		x.mcp = p
		return s.queue(x, in, nil)
	}
	return func(ctx context.Context) (any, error) {
		use, err := p.use(ctx, s)
		if err != nil {
			return nil, err
		}
		res, err := s.o.Agent.GetPrompt(ctx, *use)
		if err != nil {
			return nil, s.mcpError(ctx, in.command, p.server.Name, err)
		}
		return promptInfoOf(res), nil
	}, nil
}

func promptInfoOf(res mcp.PromptResult) promptInfo {
	out := promptInfo{Description: res.Description, Messages: make([]promptMessageInfo, len(res.Messages))}
	for i, m := range res.Messages {
		out.Messages[i] = promptMessageInfo{Role: m.Role, Contents: make([]promptContentInfo, len(m.Contents))}
		for j, c := range m.Contents {
			out.Messages[i].Contents[j] = promptContentInfo{cmp.Or(c.Type, "text"), c.Name, c.URI, c.MIMEType, c.Text, c.Blob, c.Title, c.Description, c.Size}
		}
	}
	return out
}

// line is the `/` line that asks for the prompt.
func (p *promptRequest) line() string {
	text, ok := agent.SlashPromptName(p.server.Mention, p.name)
	if !ok {
		text = "/" + p.server.Mention + ":" + clean(p.name)
	}
	for _, a := range p.args {
		name, ok1 := agent.SlashArgName(a.Name)
		value, ok2 := agent.QuoteSlash(a.Value)
		if !ok1 || !ok2 { // it can be sent, and not be typed
			name, value = clean(a.Name)+"=", "…"
		}
		text += " " + name + value
	}
	return text
}
