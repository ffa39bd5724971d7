package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agentls/agent"
	"agentls/mcp"
)

// login logs into a server: with the person's browser, which comes back by
// itself, or whose address is pasted where it runs on another machine. redirect
// is such an address for a login that another process waits for.
func (s *shell) login(name, redirect string) error {
	if redirect != "" {
		text, err := mcp.DeliverLogin(s.ctx, redirect)
		if err != nil {
			return s.fail("%s: %v", name, err)
		}
		_, err = fmt.Fprintln(s.out, oneLine(s.parts.secrets.Redact(text), 300))
		return err
	}
	info, err := s.remote(name)
	switch {
	case err != nil:
		return err
	case info.Status == mcp.StatusReady && !s.parts.manager.LoginWanted(name):
		_, err = fmt.Fprintf(s.out, "%s is ready and wants no login\n", name)
		return err
	case info.Status != mcp.StatusReady && info.Status != mcp.StatusNeedsLogin:
		return s.ready(name)
	}
	began := time.Now()
	now, err := s.parts.manager.Login(s.ctx, name)
	if errors.Is(err, mcp.ErrNoLogin) {
		return s.fail(`%s is shown a header Authorization that is configured in %s, and does not take it; put a new one there, or take it out and log in`, name, info.Source)
	}
	s.auditLogin("login", info, began, err)
	switch {
	case err != nil:
		return s.fail("%s: %v", name, err)
	case now.Status != mcp.StatusReady:
		return s.fail("%s: you are logged in, but it is %s: %s", name, now.Status, now.Error)
	}
	_, err = fmt.Fprintf(s.out, "%s: you are logged in, and it is ready\n", name)
	return err
}

// logout ends the login of a server.
func (s *shell) logout(name string) error {
	info, err := s.remote(name)
	if err != nil {
		return err
	}
	began := time.Now()
	_, was, rest, err := s.parts.manager.Logout(s.ctx, name)
	switch {
	case errors.Is(err, mcp.ErrNotReady):
		return s.ready(name)
	case err != nil && !errors.Is(err, mcp.ErrNoLogin):
		return s.fail("%s: %v", name, err)
	case !was:
		_, err = fmt.Fprintf(s.out, "agentls keeps no login of %s\n", name)
		return err
	}
	s.auditLogin("logout", info, began, nil)
	fmt.Fprintf(s.out, "agentls keeps no login of %s any more\n", name)
	if rest != nil {
		fmt.Fprintln(s.host.notes, "agentls: "+oneLine(s.parts.secrets.Redact(rest.Error()), 1000))
	}
	return nil
}

// remote finds a server that there may be a login of. The others are not waited for.
func (s *shell) remote(name string) (mcp.ServerInfo, error) {
	for _, info := range s.settled(name) {
		switch {
		case info.URL != "":
			return info, nil
		case info.Command == "":
			return info, s.fail("%s is part of agentls and wants no login", name)
		default:
			return info, s.fail(`%s is a program and wants no login; what it must know stands in "env" of %s`, name, info.Source)
		}
	}
	return mcp.ServerInfo{}, s.fail("no server is called %q; `agentls mcp list` shows those of this folder", name)
}

func (s *shell) auditLogin(tool string, info mcp.ServerInfo, began time.Time, err error) {
	s.parts.audit.Write(agent.CommandEntry(s.ctx, info.Name, tool, map[string]string{"url": info.URL}, began, err))
}

// login shows the page of a login, whole, and takes the address of a browser
// on another machine until the login has ended. No program is started for it.
func (t *terminal) login(ctx context.Context, q mcp.Request, finish func(address string) error) {
	l := q.Login
	t.mu.Lock()
	t.note("Log in to %s at %s. Open this page in your browser:", word(q.Server), word(l.Host))
	fmt.Fprintln(t.notes, "  "+l.URL)
	if l.Decoded != "" {
		t.note("Look closely: the name of this host reads as %s, and may look like another one's.", l.Decoded)
	}
	if len(l.Scopes) > 0 {
		t.note("It asks for: %s", strings.Join(l.Scopes, ", "))
	}
	t.mu.Unlock()
	q.Reply(mcp.RequestAnswer{Accept: true})
	if t.tty == nil {
		return
	}
	for {
		fmt.Fprint(t.tty, "  If it ends on a page that cannot be reached, paste that page's address here: ")
		line, err := t.tty.readLine(ctx)
		if err != nil || line == "" { // the login has ended, or nobody can type
			fmt.Fprintln(t.tty)
			return
		}
		if err := finish(line); err == nil {
			return
		} else if ctx.Err() == nil {
			fmt.Fprintln(t.tty, "  "+oneLine(t.secrets.Redact(err.Error()), 1000))
		}
	}
}
