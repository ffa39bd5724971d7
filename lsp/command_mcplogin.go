package lsp

import (
	"context"
	"errors"
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
	return s.aboutLogin(in.command, arg, func(ctx context.Context, info mcp.ServerInfo) (any, error) {
		if redirect == "" && beside {
			if r, err := s.withoutLogin(in.command, info); r != nil || err != nil {
				return r, err
			}
			return s.loginBeside(ctx, in.command, info)
		}
		return answered(s.loginTo(ctx, in.command, info, redirect))
	})
}

// answered is a result as a command answers it.
func answered(r loginResult, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

// withoutLogin answers for a remote server whose standing no login would
// change; nil: one would.
func (s *Server) withoutLogin(command string, info mcp.ServerInfo) (*loginResult, error) {
	name := s.tell(info.Name)
	switch {
	case hasToken(info) && info.Status == mcp.StatusReady:
		return &loginResult{ServerInfo: info, Note: name + " is ready: it is shown " + headers(info) + " of " + s.sourceOf(info)}, nil
	case hasToken(info) && info.Status == mcp.StatusNeedsLogin:
		return nil, failed("%s: %s does not take %s of %s: what it says has run out or is wrong. Put a new one there, then run agentls.mcp.restart; or take it out, and log in", command, name, headers(info), s.sourceOf(info))
	case info.Status == mcp.StatusReady && !s.o.Manager.LoginWanted(info.Name):
		return &loginResult{ServerInfo: info, Note: name + " is ready and wants no login" + s.shownToo(info)}, nil
	case info.Status != mcp.StatusReady && info.Status != mcp.StatusNeedsLogin:
		return nil, failed("%s: %s is %s, which a login does not change: %s%s", command, name, info.Status, orUnknown(s.tell(info.Error)), s.remedy(info.Name))
	}
	return nil, nil //nolint:nilnil // see above
}

// loginTo logs into a remote server, and returns when that has ended. redirect
// is the address that the browser ended on; empty: the login begins.
func (s *Server) loginTo(ctx context.Context, command string, info mcp.ServerInfo, redirect string) (loginResult, error) {
	if redirect == "" || hasToken(info) {
		if r, err := s.withoutLogin(command, info); err != nil {
			return loginResult{}, err
		} else if r != nil {
			return *r, nil
		}
	}
	now, err := s.login(ctx, info.Name, redirect)
	if now.Name == "" {
		now = info
	}
	return s.loggedIn(ctx, command, now, info.Name, err)
}

// prepareLogout ends the login of a server.
func prepareLogout(s *Server, _ context.Context, arg loginArg, in invocation) (serveFunc, error) {
	if arg.RedirectURL != nil && s.server(in.command, arg.Server) == nil {
		return nil, badf("%s: redirectUrl is of agentls.mcp.login; leave it out", in.command)
	}
	return s.aboutLogin(in.command, arg, func(ctx context.Context, info mcp.ServerInfo) (any, error) {
		return answered(s.logout(ctx, in.command, info))
	})
}

// logout ends the login of a remote server.
func (s *Server) logout(ctx context.Context, command string, info mcp.ServerInfo) (loginResult, error) {
	name := s.tell(info.Name)
	if hasToken(info) {
		return loginResult{}, failed("%s: agentls keeps no login of %s; it is shown %s of %s: take that out there and run agentls.mcp.restart, or run agentls.mcp.disable", command, name, headers(info), s.sourceOf(info))
	}
	start := time.Now()
	now, was, rest, err := s.o.Manager.Logout(ctx, info.Name)
	switch {
	case err != nil && !errors.Is(err, mcp.ErrNoLogin):
		return loginResult{}, s.mcpError(ctx, command, info.Name, err)
	case !was:
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
}

// aboutLogin answers for a remote server; of others there is no login.
func (s *Server) aboutLogin(command string, arg loginArg, remote func(context.Context, mcp.ServerInfo) (any, error)) (serveFunc, error) {
	if err := s.server(command, arg.Server); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		info, ok := s.serverInfo(*arg.Server)
		if !ok { // it was taken out a moment ago
			return nil, s.mcpError(ctx, command, *arg.Server, mcp.ErrUnknownServer)
		}
		info = s.told(info)
		switch note := s.noLogin(info); {
		case note == "":
			return remote(ctx, info)
		case arg.RedirectURL != nil:
			return nil, badf("%s: %s; leave redirectUrl out", command, note)
		default:
			return loginResult{ServerInfo: info, Note: note}, nil
		}
	}, nil
}

// noLogin says why there is no login of a server; empty: it is a remote one.
func (s *Server) noLogin(info mcp.ServerInfo) string {
	switch name := s.tell(info.Name); {
	case info.URL != "":
		return ""
	case info.Command == "":
		return name + " is part of agentls and wants no login"
	default:
		return name + ` is a program and wants no login; what it must know stands in "env" of ` + s.sourceOf(info)
	}
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
