package lsp

import (
	"context"
	"errors"
	"slices"

	"agentls/agent"
)

// sessionArg is the argument of the agentls.session commands.
type sessionArg struct {
	Session *string `json:"session"`
}

// sessionRef names the session that a command was about, or made.
type sessionRef struct {
	Session string `json:"session"`
}

// sessionFolders are the folders whose sessions this client sees.
func (s *Server) sessionFolders() []string {
	if all := s.folders(); len(all) > 0 {
		return all
	}
	return []string{""} // without a workspace they have a place too
}

// prepareSessionList lists the sessions of the workspace, the newest first; with
// a session that one alone.
func prepareSessionList(s *Server, _ context.Context, arg sessionArg, in invocation) (serveFunc, error) {
	if err := label(in.command, "session", arg.Session); err != nil {
		return nil, err
	}
	folders := s.sessionFolders()
	return func(ctx context.Context) (any, error) {
		list, err := s.o.Agent.Sessions(ctx, folders)
		if err != nil {
			return nil, s.sessionFailed(in.command, "", err)
		}
		if arg.Session != nil {
			list = slices.DeleteFunc(list, func(i agent.SessionInfo) bool { return i.Session != *arg.Session })
		}
		for i := range list {
			list[i].Title, list[i].Status = s.tell(list[i].Title), clean(list[i].Status)
		}
		return list, nil
	}, nil
}

// prepareSessionShow reads a session. Its messages are content and go as they
// are.
func prepareSessionShow(s *Server, _ context.Context, arg sessionArg, in invocation) (serveFunc, error) {
	return onSession(s, arg, in, func(ctx context.Context, folders []string, id string) (any, error) {
		text, err := s.o.Agent.ShowSession(ctx, folders, id)
		text.Title, text.Status = s.tell(text.Title), clean(text.Status)
		return text, err
	})
}

func prepareSessionFork(s *Server, _ context.Context, arg sessionArg, in invocation) (serveFunc, error) {
	return onSession(s, arg, in, func(ctx context.Context, folders []string, id string) (any, error) {
		to, err := s.o.Agent.ForkSession(ctx, folders, id)
		return sessionRef{to}, err
	})
}

func prepareSessionClear(s *Server, _ context.Context, arg sessionArg, in invocation) (serveFunc, error) {
	return onIdleSession(s, arg, in, s.o.Agent.ClearSession)
}

// prepareSessionDelete deletes a session. Its prompt buffer and its answer
// document are the user's own and stay.
func prepareSessionDelete(s *Server, _ context.Context, arg sessionArg, in invocation) (serveFunc, error) {
	return onIdleSession(s, arg, in, s.o.Agent.DeleteSession)
}

// onIdleSession is onSession for what no run may see happen. A prompt that
// waits is a run, and one that was asked for before counts.
func onIdleSession(s *Server, arg sessionArg, in invocation, do func(folders []string, id string) error) (serveFunc, error) {
	if s.runs.hasLive(deref(arg.Session)) {
		return nil, s.sessionFailed(in.command, *arg.Session, agent.ErrSessionBusy)
	}
	return onSession(s, arg, in, func(_ context.Context, folders []string, id string) (any, error) {
		return sessionRef{id}, do(folders, id)
	})
}

// onSession does something about one session.
func onSession(s *Server, arg sessionArg, in invocation, do func(ctx context.Context, folders []string, id string) (any, error)) (serveFunc, error) {
	if err := required(in.command, "session", arg.Session); err != nil {
		return nil, err
	}
	if err := label(in.command, "session", arg.Session); err != nil {
		return nil, err
	}
	folders := s.sessionFolders()
	return func(ctx context.Context) (any, error) {
		result, err := do(ctx, folders, *arg.Session)
		if err != nil {
			return nil, s.sessionFailed(in.command, *arg.Session, err)
		}
		return result, nil
	}, nil
}

// sessionFailed says why a command about a session failed.
func (s *Server) sessionFailed(command, id string, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, agent.ErrCancelled):
		return err
	case errors.Is(err, agent.ErrNoSession):
		return badf("%s: there is no session %q in this folder; agentls.session.list lists them", command, clip(id, 128))
	case errors.Is(err, agent.ErrSessionBusy):
		return badf("%s: %v; wait until it has ended, or cancel it with agentls.cancel", command, err)
	}
	return failed("%s: %s", command, s.tell(err.Error()))
}

// hasLive reports whether a run of a session runs or waits.
func (r *runs) hasLive(session string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queues[session]) > 0
}
