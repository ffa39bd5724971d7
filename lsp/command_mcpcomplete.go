package lsp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"agentls/mcp"
)

// completeWait bounds how long agentls.mcp.complete waits for a server's values.
const completeWait = 5 * time.Second

// completeArg is the argument of agentls.mcp.complete: an argument of a prompt,
// or a variable of a template, and what was typed of its value.
type completeArg struct {
	Server    *string            `json:"server"`
	Prompt    *string            `json:"prompt"`
	Template  *string            `json:"template"` // uriTemplate, as listed
	Argument  *string            `json:"argument"`
	Value     *string            `json:"value"`
	Arguments *map[string]string `json:"arguments"` // the others that are given
}

// completeResult is the result of agentls.mcp.complete.
type completeResult struct {
	Values []string `json:"values"` // best first, at most 100
	More   bool     `json:"more"`   // there are more, or the server did not answer in time
	Error  string   `json:"error,omitzero"`
	// URI and Mention are what a template says with these values; none while
	// one is missing.
	URI     string `json:"uri,omitzero"`
	Mention string `json:"mention,omitzero"`
}

func prepareComplete(s *Server, ctx context.Context, arg completeArg, in invocation) (serveFunc, error) {
	if err := s.server(in.command, arg.Server); err != nil {
		return nil, err
	}
	prompt, template := deref(arg.Prompt), deref(arg.Template)
	if (prompt == "") == (template == "") {
		return nil, badf("%s: give a prompt, or a template, as the server lists it", in.command)
	}
	if err := required(in.command, "argument", arg.Argument); err != nil {
		return nil, err
	}
	info, _ := s.serverInfo(*arg.Server)
	result := completeResult{}
	if template != "" {
		names, err := s.templateVariables(in.command, info, template)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, *arg.Argument) {
			return nil, badf("%s: %s has no variable %q%s", in.command, clip(template, 100), clip(*arg.Argument, 60), suggest(*arg.Argument, names))
		}
		given := maps.Clone(deref(arg.Arguments))
		if given == nil {
			given = map[string]string{}
		}
		given[*arg.Argument] = deref(arg.Value)
		if uri, ok := (mcp.Template{URITemplate: template}).Expand(given); ok {
			result.URI, result.Mention = uri, mcp.MentionText(info.Mention, uri)
		}
	} else if err := s.promptArgument(ctx, in.command, info, prompt, *arg.Argument); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		limited, cancel := context.WithTimeout(ctx, completeWait)
		defer cancel()
		ref := mcp.CompletionRef{Prompt: prompt, Template: template}
		values, more, err := s.o.Manager.CompleteArgument(limited, info.Name, ref, *arg.Argument, deref(arg.Value), deref(arg.Arguments))
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, mcp.ErrSuperseded):
			more = true
		case errors.Is(err, mcp.ErrNotReady), errors.Is(err, mcp.ErrUnknownServer):
			return nil, s.mcpError(ctx, in.command, info.Name, err)
		case errors.Is(err, context.DeadlineExceeded):
			result.Error = clip(info.Name, 100) + ": gave no values in time; type the value"
		case err != nil: // a value can be typed all the same
			result.Error = s.tell(info.Name + ": " + err.Error())
		}
		result.Values, result.More = append([]string{}, values...), more
		return result, nil
	}, nil
}

// templateVariables names the variables of a template that a server lists.
func (s *Server) templateVariables(command string, info mcp.ServerInfo, template string) (names []string, err error) {
	list, _ := s.o.Manager.Resources(info.Name) // an unknown server lists none
	known := make([]string, len(list.Templates))
	for i, t := range list.Templates {
		if t.URITemplate == template {
			for _, v := range t.Variables() {
				names = append(names, v.Name)
			}
			return names, nil
		}
		known[i] = t.URITemplate
	}
	return nil, badf("%s: the MCP server %s lists no template %q%s", command, info.Mention, clip(template, 100), suggest(template, known))
}

// promptArgument checks that a prompt has an argument, as far as it is known.
func (s *Server) promptArgument(ctx context.Context, command string, info mcp.ServerInfo, prompt, argument string) error {
	list, _, err := s.o.Manager.Prompts(info.Name)
	if err != nil {
		return s.mcpError(ctx, command, info.Name, err)
	}
	i := slices.IndexFunc(list, func(p mcp.Prompt) bool { return p.Name == prompt })
	if i < 0 {
		return (&promptRequest{command: command, server: info, name: prompt}).unknown(list)
	}
	names := make([]string, len(list[i].Arguments))
	for j, a := range list[i].Arguments {
		names[j] = a.Name
	}
	if !slices.Contains(names, argument) {
		return badf("%s: /%s:%s has no argument %q%s", command, info.Mention, clip(prompt, 100), clip(argument, 60), suggest(argument, names))
	}
	return nil
}
