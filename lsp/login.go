package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"agentls/agent"
	"agentls/mcp"
)

// logins tells commands of the pages of the logins that they started.
type logins struct {
	mu    sync.Mutex
	pages map[string][]chan mcp.LoginRequest // by server
}

// expect gives the next page of a server's login, until forget.
func (l *logins) expect(server string) (page <-chan mcp.LoginRequest, forget func()) {
	c := make(chan mcp.LoginRequest, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == nil {
		l.pages = map[string][]chan mcp.LoginRequest{}
	}
	l.pages[server] = append(l.pages[server], c)
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, other := range l.pages[server] {
			if other == c {
				l.pages[server] = append(l.pages[server][:i], l.pages[server][i+1:]...)
				break
			}
		}
	}
}

func (l *logins) tell(server string, page mcp.LoginRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.pages[server] {
		select {
		case c <- page:
		default:
		}
	}
}

// showLogin shows the page of a login: whole in a message, and in the browser
// where the client can. A host that reads as another one is not opened unasked.
func (s *Server) showLogin(ctx context.Context, r mcp.Request) mcp.RequestAnswer {
	s.logins.tell(r.Server, r.Login)
	text := s.loginMessage(r.Server, r.Login)
	s.logMessage(protocol.MessageTypeInfo, text) // some editors show a message for a moment, or a part of it
	s.showMessage(protocol.MessageTypeInfo, text)
	if r.Login.Decoded == "" {
		if err := s.openExternal(ctx, r.Login.URL); err != nil && !errors.Is(err, errCannotShow) {
			s.o.Log.Warn("the page of a login was not opened", "server", r.Server, "err", err)
		}
	}
	return mcp.RequestAnswer{Accept: true}
}

// loginMessage tells where to log in. The address is whole: it is what a person
// has to open, or to judge.
func (s *Server) loginMessage(server string, l mcp.LoginRequest) string {
	text := s.tell(server) + ": log in at " + hostShown(l.Link) + ", with this page in your browser: " + l.URL
	if l.Decoded != "" {
		text += " · Look closely, it was not opened: the name of its host is spelled with letters that can pass for others."
	}
	if len(l.Scopes) > 0 {
		text += " · It asks for: " + s.tell(strings.Join(l.Scopes, ", ")) + "."
	}
	return text + " · Should the browser end on a page that it cannot reach, as it is on another machine, then copy that page's address and give it to agentls.mcp.login as redirectUrl."
}

// login logs into a server and writes it down.
func (s *Server) login(ctx context.Context, server, redirect string) (info mcp.ServerInfo, err error) {
	start := time.Now()
	if redirect != "" {
		info, err = s.o.Manager.FinishLogin(ctx, server, redirect)
	} else {
		info, err = s.o.Manager.Login(ctx, server)
	}
	s.auditLogin(ctx, "login", info, server, start, err)
	return s.told(info), err
}

// auditLogin writes down a login or a logout (CONTRACT §8).
func (s *Server) auditLogin(ctx context.Context, tool string, info mcp.ServerInfo, server string, start time.Time, err error) {
	s.o.Audit.Write(agent.CommandEntry(ctx, server, tool, map[string]string{"url": info.URL}, start, err))
}

// pageWait is how long a command that does not wait for the login waits for
// its page: those that ask so give up on a command after some seconds.
const pageWait = 8 * time.Second

// loginBeside starts a login that goes on when the command is answered: some
// editors block or give up while one runs (CONTRACT §4, detached). How it ends
// is told by a message.
func (s *Server) loginBeside(ctx context.Context, command string, info mcp.ServerInfo) (any, error) {
	page, forget := s.logins.expect(info.Name)
	defer forget()
	type outcome struct {
		result loginResult
		err    error
	}
	ended := make(chan outcome, 1)
	var mu sync.Mutex // over: whether the command has been answered
	over := false
	s.inBackground(command, func(alive context.Context) {
		now, err := s.login(alive, info.Name, "")
		result, err := s.loggedIn(alive, command, now, info.Name, err)
		mu.Lock()
		defer mu.Unlock()
		if !over {
			ended <- outcome{result, err}
			return
		}
		switch {
		case alive.Err() != nil:
		case err != nil:
			s.showMessage(protocol.MessageTypeError, err.Error())
		default:
			s.showMessage(protocol.MessageTypeInfo, result.Note)
		}
	})
	answer := func(r loginResult, err error) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		over = true
		select {
		case o := <-ended: // just now
			return o.result, o.err
		default:
			return r, err
		}
	}
	timer := time.NewTimer(pageWait)
	defer timer.Stop()
	select {
	case p := <-page:
		return answer(loginResult{ServerInfo: info, Note: s.loginMessage(info.Name, p), LoginURL: p.URL}, nil)
	case o := <-ended:
		return o.result, o.err
	case <-timer.C:
		return answer(loginResult{ServerInfo: info, Note: s.tell(info.Name) + ": where to log in is being looked up; a message will say it"}, nil)
	case <-ctx.Done():
		return answer(loginResult{}, context.Cause(ctx))
	}
}

// loggedIn words how a login ended.
func (s *Server) loggedIn(ctx context.Context, command string, info mcp.ServerInfo, server string, err error) (loginResult, error) {
	name := s.tell(server)
	switch {
	case err != nil && ctx.Err() != nil:
		return loginResult{}, context.Cause(ctx)
	case errors.Is(err, mcp.ErrNoOAuth):
		return loginResult{}, failed("%s: %s: %s. %s", command, name, s.tell(err.Error()), tokenRemedy(s.sourceOf(info)))
	case errors.Is(err, mcp.ErrOtherLogin):
		return loginResult{}, badf("%s: %s: %s; start the login again with agentls.mcp.login, and paste the address that its own page ends on", command, name, err)
	case errors.Is(err, mcp.ErrNotReady):
		return loginResult{}, failed("%s: %s%s", command, s.tell(err.Error()), s.remedy(server))
	case err != nil:
		return loginResult{}, failed("%s: %s: %s", command, name, s.tell(err.Error()))
	case info.Status == mcp.StatusReady:
		return loginResult{ServerInfo: info, Note: name + ": you are logged in, and it is ready"}, nil
	case info.Status == mcp.StatusNeedsLogin:
		return loginResult{}, failed("%s: %s does not take the login that was made just now; ask who runs it, or log in as somebody else", command, name)
	}
	return loginResult{ServerInfo: info, Note: fmt.Sprintf("%s: you are logged in, but it %s", name, s.standing(info))}, nil
}
