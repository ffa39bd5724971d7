package lsp

import (
	"context"
	"strings"

	"agentls/mcp"
)

// loginArg is the argument of agentls.mcp.login and .logout.
type loginArg struct {
	Server      *string `json:"server"`
	RedirectURL *string `json:"redirectUrl"`
}

// loginResult is a server's status, and what there is to say of its login.
type loginResult struct {
	mcp.ServerInfo
	Note string `json:"note"`
}

// prepareLogin answers what a login takes. agentls has no dialogue for one yet:
// what a server wants to be shown stands in its configuration.
func prepareLogin(s *Server, _ context.Context, arg loginArg, in invocation) (serveFunc, error) {
	if arg.RedirectURL != nil && s.server(in.command, arg.Server) == nil {
		return nil, badf("%s: no login of %s waits for an address; leave redirectUrl out", in.command, clip(*arg.Server, 100))
	}
	return s.aboutLogin(in.command, arg, func(name string, info mcp.ServerInfo) (any, error) {
		switch {
		case info.Status == mcp.StatusReady && len(info.Headers) > 0:
			return loginResult{info, name + " is ready: it is shown " + headers(info) + " of " + info.Source}, nil
		case info.Status == mcp.StatusReady:
			return loginResult{info, name + " is ready and wants no login"}, nil
		case info.Status == mcp.StatusNeedsLogin:
			return nil, failed("%s: %s", in.command, loginRemedy(name, info))
		}
		return nil, failed("%s: %s is %s, which a login does not change: %s%s", in.command, name, info.Status, orUnknown(s.tell(info.Error)), s.remedy(info.Name))
	})
}

// prepareLogout answers where the login of a server stands; agentls keeps none.
func prepareLogout(s *Server, _ context.Context, arg loginArg, in invocation) (serveFunc, error) {
	if arg.RedirectURL != nil && s.server(in.command, arg.Server) == nil {
		return nil, badf("%s: redirectUrl is of agentls.mcp.login; leave it out", in.command)
	}
	return s.aboutLogin(in.command, arg, func(name string, info mcp.ServerInfo) (any, error) {
		if len(info.Headers) == 0 {
			return loginResult{info, "agentls keeps no login of " + name}, nil
		}
		return nil, failed("%s: agentls keeps no login of %s; it is shown %s of %s: take that out there and run agentls.mcp.restart, or run agentls.mcp.disable", in.command, name, headers(info), info.Source)
	})
}

// aboutLogin answers for a remote server, by its name fit to be shown; of
// others there is no login.
func (s *Server) aboutLogin(command string, arg loginArg, remote func(name string, info mcp.ServerInfo) (any, error)) (serveFunc, error) {
	if err := s.server(command, arg.Server); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		info, ok := s.serverInfo(*arg.Server)
		if !ok { // it was taken out a moment ago
			return nil, s.mcpError(ctx, command, *arg.Server, mcp.ErrUnknownServer)
		}
		info = s.told(info)
		name := s.tell(info.Name)
		if info.URL == "" {
			return loginResult{info, noLogin(name, info)}, nil
		}
		return remote(name, info)
	}, nil
}

func noLogin(name string, info mcp.ServerInfo) string {
	if info.Command == "" {
		return name + " is part of agentls and wants no login"
	}
	return name + ` is a program and wants no login; what it must know stands in "env" of ` + info.Source
}

// headers names the headers that a server is configured with.
func headers(info mcp.ServerInfo) string {
	word := "the header "
	if len(info.Headers) > 1 {
		word = "the headers "
	}
	return word + clean(strings.Join(info.Headers, ", "))
}

// loginRemedy says what to do for a server that wants a login.
func loginRemedy(name string, info mcp.ServerInfo) string {
	if len(info.Headers) > 0 {
		return name + " does not take " + headers(info) + " of " + info.Source + ": what it says has run out or is wrong. Put a new one there, then run agentls.mcp.restart"
	}
	return name + ` wants a login. Ask its provider for a token and give it as "headers": {"Authorization": "Bearer ${TOKEN}"} of the server in ` + info.Source + `, with TOKEN set where the editor is started; then run agentls.mcp.restart`
}

func orUnknown(text string) string {
	if text == "" {
		return "it gives no reason"
	}
	return text
}
