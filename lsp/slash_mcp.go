package lsp

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"agentls/agent"
	"agentls/mcp"
)

// slashMCP shows the MCP servers, or acts on one: as the agentls.mcp commands
// do.
func slashMCP(s *Server, q *slashRequest) (local, error) {
	do, name := agent.MCPList, ""
	if len(q.Args) > 0 {
		do = q.Args[0].Value
	}
	if len(q.Args) > 1 {
		name = q.Args[1].Value
	}
	address := "" // that a browser elsewhere ended on
	if len(q.Args) > 2 {
		address = q.Args[2].Value
	}
	c, _ := agent.SlashCommandNamed("mcp")
	if words := c.Params[0].Words; do != agent.MCPList && oneOf(q.command, "/mcp", do, words...) != nil {
		return nil, q.badf("has no %q%s", clip(do, 40), suggest(do, words))
	}
	switch {
	case address != "" && do != agent.MCPLogin:
		return nil, q.badf("%s takes nothing behind the name; leave %q out", do, clip(address, 40))
	case do == agent.MCPList && name != "":
		return nil, q.badf("list takes no name; /mcp tools %s shows what it offers", clip(name, 60))
	case do == agent.MCPList:
		return func(context.Context) (string, error) { return s.serverList(), nil }, nil
	case name == "":
		return nil, q.badf("%s needs the name of a server; /mcp lists them", do)
	}
	info, err := s.serverOf(q.command, name)
	if err != nil {
		return nil, err
	}
	shows := map[string]func(string) (string, error){agent.MCPTools: s.toolList, agent.MCPResources: s.resourceList, agent.MCPPrompts: s.promptList, agent.MCPLogs: s.logList}
	if show := shows[do]; show != nil {
		return func(ctx context.Context) (string, error) {
			text, err := show(info.Name)
			return text, s.mcpError(ctx, q.command, info.Name, err)
		}, nil
	}
	signs := map[string]func(context.Context, mcp.ServerInfo) (loginResult, error){
		agent.MCPLogin: func(ctx context.Context, info mcp.ServerInfo) (loginResult, error) {
			return s.loginTo(ctx, q.command, info, address)
		},
		agent.MCPLogout: func(ctx context.Context, info mcp.ServerInfo) (loginResult, error) {
			return s.logout(ctx, q.command, info)
		},
	}
	if sign := signs[do]; sign != nil {
		return func(ctx context.Context) (string, error) {
			now, _ := s.serverInfo(info.Name)
			if note := s.noLogin(now); note != "" {
				return note + ".", nil
			}
			r, err := sign(ctx, s.told(now))
			return r.Note + ".", err
		}, nil
	}
	acts := map[string]func(string) (mcp.ServerInfo, error){agent.MCPRestart: s.restart, agent.MCPEnable: s.enable, agent.MCPDisable: s.o.Manager.Disable}
	return func(ctx context.Context) (string, error) {
		now, err := acts[do](info.Name)
		if err != nil {
			return "", s.mcpError(ctx, q.command, info.Name, err)
		}
		return s.serverLine(now), nil
	}, nil
}

// serverOf finds a server by its name or its mention name.
func (s *Server) serverOf(command, name string) (mcp.ServerInfo, error) {
	if info, ok := s.o.Manager.ServerNamed(name); ok {
		return info, nil
	}
	var names []string
	for _, info := range s.o.Manager.Servers() {
		if info.Name == name {
			return info, nil
		}
		names = append(names, info.Mention)
	}
	return mcp.ServerInfo{}, badf("%s: no MCP server is named %q%s", command, clip(name, 100), suggest(name, names))
}

// serverList tells of all servers.
func (s *Server) serverList() string {
	var lines []string
	for _, info := range s.o.Manager.Servers() {
		lines = append(lines, s.serverLine(info))
	}
	if len(lines) == 0 {
		return "No MCP server is configured."
	}
	return bounded(lines)
}

// serverLine tells of one: its state, what it offers, and what to do.
func (s *Server) serverLine(info mcp.ServerInfo) string {
	parts := []string{string(info.Status)}
	for _, n := range []struct {
		of        *int
		one, more string
	}{{info.Tools, "tool", "tools"}, {info.Resources, "resource", "resources"}, {info.Prompts, "prompt", "prompts"}} {
		if n.of != nil && info.Status == mcp.StatusReady {
			parts = append(parts, count(*n.of, n.one, n.more))
		}
	}
	about := strings.Join(parts, ", ")
	if info.Error != "" {
		about += ": " + s.tell(info.Error)
	}
	if info.Needs != "" {
		about += "; it needs " + s.tell(info.Needs)
	}
	return bullet(code(info.Mention), about+s.tell(s.remedy(info.Name)))
}

// capped cuts items before they are made; of what is not shown it is said.
func capped[T any](list []T, item func(T) string) string {
	var lines []string
	for _, v := range list[:min(len(list), bulletMost)] {
		lines = append(lines, item(v))
	}
	if n := len(list) - bulletMost; n > 0 {
		lines = append(lines, fmt.Sprintf("- … and %d more\n", n))
	}
	return strings.Join(lines, "")
}

func (s *Server) toolList(name string) (string, error) {
	names := s.o.Agent.ModelNames(name)
	var list []mcp.Tool
	for _, t := range s.o.Manager.Tools() {
		if t.Server == name {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return s.offersNone(name, "tools"), nil
	}
	return capped(list, func(t mcp.Tool) string {
		about := cleanTo(s.o.Secrets.Redact(cmp.Or(t.Description, t.Title)), 160)
		if names[t.Name] == "" {
			about = strings.TrimSpace("(not offered to the model) " + about)
		}
		return bullet(code(t.Name), about)
	}), nil
}

func (s *Server) resourceList(name string) (string, error) {
	list, err := s.o.Manager.Resources(name)
	if err != nil {
		return "", err
	}
	if len(list.Resources)+len(list.Templates) == 0 {
		return s.offersNone(name, "resources"), nil
	}
	mention := s.mentionName(name)
	text := capped(list.Resources, func(r mcp.Resource) string {
		return bullet(code(mcp.MentionText(mention, r.URI)), s.tell(cmp.Or(r.Title, r.Name)))
	})
	if len(list.Templates) > 0 {
		text += "\nTemplates of further ones:\n\n" + capped(list.Templates, func(t mcp.Template) string {
			return bullet(code(t.URITemplate), s.tell(cmp.Or(t.Title, t.Name)))
		})
	}
	return strings.TrimPrefix(text, "\n"), nil
}

func (s *Server) promptList(name string) (string, error) {
	list, _, err := s.o.Manager.Prompts(name)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return s.offersNone(name, "prompts"), nil
	}
	mention := s.mentionName(name)
	return capped(list, func(p mcp.Prompt) string {
		text, ok := agent.SlashPromptName(mention, p.Name)
		if !ok {
			text = p.Name
		}
		return bullet(code(text+promptUsage(p)), s.tell(cmp.Or(p.Description, p.Title)))
	}), nil
}

// logList shows the last lines of a server's, in a fence that they cannot end:
// each begins with its time.
func (s *Server) logList(name string) (string, error) {
	lines, err := s.o.Manager.Logs(name)
	if err != nil {
		return "", err
	}
	if len(lines) == 0 {
		return code(s.mentionName(name)) + " has said nothing.", nil
	}
	lines = lines[max(0, len(lines)-bulletMost):]
	var b strings.Builder
	b.WriteString("```text\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "%s %s %s: %s\n", l.Time.Local().Format("15:04:05"), clean(l.Source), clean(l.Level), s.tell(l.Text))
	}
	b.WriteString("```\n")
	return b.String(), nil
}

// offersNone says that a server offers nothing of a kind, or is not ready.
func (s *Server) offersNone(name, what string) string {
	if !s.isReady(name) {
		for _, info := range s.o.Manager.Servers() {
			if info.Name == name {
				return "The server is not ready:\n\n" + s.serverLine(info)
			}
		}
	}
	return code(s.mentionName(name)) + " offers no " + what + "."
}

// mentionName is the name by which a server is mentioned.
func (s *Server) mentionName(name string) string {
	for _, info := range s.o.Manager.Servers() {
		if info.Name == name {
			return info.Mention
		}
	}
	return name
}

// promptUsage is what may follow a prompt's name.
func promptUsage(p mcp.Prompt) string {
	var b strings.Builder
	for _, a := range p.Arguments {
		name, ok := agent.SlashArgName(a.Name)
		switch {
		case !ok:
		case a.Required:
			b.WriteString(" " + name + "…")
		default:
			b.WriteString(" [" + name + "…]")
		}
	}
	return b.String()
}
