package lsp

import (
	"context"
	"slices"
	"strings"
	"time"

	"agentls/mcp"
)

// loginArg is the argument of agentls.mcp.login and .logout.
type loginArg struct {
	Server      *string `json:"server"`
	RedirectURL *string `json:"redirectUrl"`
	Detached    *bool   `json:"detached"`
}

// loginResult is a server's status, and what there is to say of its login.
type loginResult struct {
	mcp.ServerInfo
	Note     string `json:"note"`
	LoginURL string `json:"loginUrl,omitempty"` // the page, while the login goes on
}

// prepareLogin logs into a remote server in the person's browser, or takes the
// address that the browser ended on.
func prepareLogin(s *Server, _ context.Context, arg loginArg, in invocation) (serveFunc, error) {
	beside := s.isDetached(arg.Detached, in.token != nil)
	redirect := strings.TrimSpace(deref(arg.RedirectURL))
	if arg.RedirectURL != nil && redirect == "" {
		return nil, badf("%s: redirectUrl is empty; give the address that the browser ended on, or leave it out", in.command)
	}
	return s.aboutLogin(in.command, arg, func(ctx context.Context, name string, info mcp.ServerInfo) (any, error) {
		switch {
		case hasToken(info) && info.Status == mcp.StatusReady:
			return loginResult{ServerInfo: info, Note: name + " is ready: it is shown " + headers(info) + " of " + s.sourceOf(info)}, nil
		case hasToken(info) && info.Status == mcp.StatusNeedsLogin:
			return nil, failed("%s: %s does not take %s of %s: what it says has run out or is wrong. Put a new one there, then run agentls.mcp.restart; or take it out, and log in", in.command, name, headers(info), s.sourceOf(info))
		case redirect != "":
			now, err := s.login(ctx, info.Name, redirect)
			return s.loginAnswer(ctx, in.command, now, info, err)
		case info.Status == mcp.StatusReady && !s.o.Manager.LoginWanted(info.Name):
			return loginResult{ServerInfo: info, Note: name + " is ready and wants no login" + s.shownToo(info)}, nil
		case info.Status != mcp.StatusReady && info.Status != mcp.StatusNeedsLogin:
			return nil, failed("%s: %s is %s, which a login does not change: %s%s", in.command, name, info.Status, orUnknown(s.tell(info.Error)), s.remedy(info.Name))
		case beside:
			return s.loginBeside(ctx, in.command, info)
		}
		now, err := s.login(ctx, info.Name, "")
		return s.loginAnswer(ctx, in.command, now, info, err)
	})
}

// loginAnswer is loggedIn as a command answers it.
func (s *Server) loginAnswer(ctx context.Context, command string, now, before mcp.ServerInfo, err error) (any, error) {
	if now.Name == "" {
		now = before
	}
	result, err := s.loggedIn(ctx, command, now, before.Name, err)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// prepareLogout ends the login of a server.
func prepareLogout(s *Server, _ context.Context, arg loginArg, in invocation) (serveFunc, error) {
	if arg.RedirectURL != nil && s.server(in.command, arg.Server) == nil {
		return nil, badf("%s: redirectUrl is of agentls.mcp.login; leave it out", in.command)
	}
	return s.aboutLogin(in.command, arg, func(ctx context.Context, name string, info mcp.ServerInfo) (any, error) {
		if hasToken(info) {
			return nil, failed("%s: agentls keeps no login of %s; it is shown %s of %s: take that out there and run agentls.mcp.restart, or run agentls.mcp.disable", in.command, name, headers(info), s.sourceOf(info))
		}
		start := time.Now()
		now, was, rest, err := s.o.Manager.Logout(ctx, info.Name)
		switch {
		case err != nil && ctx.Err() == nil || !was:
			return loginResult{ServerInfo: info, Note: "agentls keeps no login of " + name}, nil
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		}
		s.auditLogin(ctx, "logout", now, info.Name, start, err)
		note := "agentls keeps no login of " + name + " any more"
		if rest != nil {
			note += "; but " + s.tell(rest.Error())
		}
		return loginResult{ServerInfo: s.told(now), Note: note}, err
	})
}

// aboutLogin answers for a remote server, by its name fit to be shown; of
// others there is no login.
func (s *Server) aboutLogin(command string, arg loginArg, remote func(ctx context.Context, name string, info mcp.ServerInfo) (any, error)) (serveFunc, error) {
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
		if info.URL == "" && arg.RedirectURL != nil {
			return nil, badf("%s: %s; leave redirectUrl out", command, noLogin(name, info))
		}
		if info.URL == "" {
			return loginResult{ServerInfo: info, Note: noLogin(name, info)}, nil
		}
		return remote(ctx, name, info)
	}, nil
}

func noLogin(name string, info mcp.ServerInfo) string {
	if info.Command == "" {
		return name + " is part of agentls and wants no login"
	}
	return name + ` is a program and wants no login; what it must know stands in "env" of ` + info.Source
}

// hasToken reports whether a header is configured for the server to know us
// by, which counts in place of a login.
func hasToken(info mcp.ServerInfo) bool {
	return slices.ContainsFunc(info.Headers, func(h string) bool { return strings.EqualFold(h, "Authorization") })
}

// shownToo tells of the headers of a server that is ready.
func (s *Server) shownToo(info mcp.ServerInfo) string {
	if len(info.Headers) == 0 {
		return ""
	}
	return "; it is shown " + headers(info) + " of " + s.sourceOf(info)
}

// headers names the headers that a server is configured with.
func headers(info mcp.ServerInfo) string {
	word := "the header "
	if len(info.Headers) > 1 {
		word = "the headers "
	}
	return word + clean(strings.Join(info.Headers, ", "))
}

// tokenRemedy says what to do for a server that is not logged into by OAuth.
func tokenRemedy(source string) string {
	return `Ask its provider for a token and give it as "headers": {"Authorization": "Bearer ${TOKEN}"} of the server in ` + source + `, with TOKEN set where the editor is started; then run agentls.mcp.restart`
}

func orUnknown(text string) string {
	if text == "" {
		return "it gives no reason"
	}
	return text
}
