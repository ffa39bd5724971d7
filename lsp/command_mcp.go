package lsp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentls/agent"
	"agentls/mcp"
)

func prepareServers(s *Server, _ context.Context, _ none, _ invocation) (serveFunc, error) {
	list := s.o.Manager.Servers()
	for i := range list {
		list[i].Error = s.o.Secrets.Redact(list[i].Error)
	}
	return answerNow(list), nil
}

// serverArg is the argument of the commands that take a server alone.
type serverArg struct {
	Server *string `json:"server"`
}

// server checks that a server is configured.
func (s *Server) server(command string, name *string) error {
	if err := required(command, "server", name); err != nil {
		return err
	}
	var names []string
	for _, info := range s.o.Manager.Servers() {
		if info.Name == *name {
			return nil
		}
		names = append(names, info.Name)
	}
	return &unknownServerError{badf("%s: no server is named %q%s", command, clip(*name, 100), suggest(*name, names))}
}

// unknownServerError says that no server has the name that a command gave.
type unknownServerError struct{ error }

func (e *unknownServerError) Unwrap() error { return e.error }

// namesTime is how long a command waits for the configuration that may name its
// server: the client may be slow to give its settings, a command in it to run.
const namesTime = clientTime + 5*time.Second

// onceNamed prepares a command that names a server which is not known while the
// configuration is still being read: once that is known, or names the server. A
// client may send commands right after initialized. Where the wait is too long
// the server stays unknown.
func (s *Server) onceNamed(ctx context.Context, prepare func() (serveFunc, error)) (serve serveFunc, err error) {
	waiting, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	for _, read := range []<-chan struct{}{s.settings.begun, s.settings.whole, s.settings.known} {
		select {
		case <-read:
		case <-waiting.Done():
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return prepare()
		}
		serve, err = prepare()
		if _, unknown := errors.AsType[*unknownServerError](err); !unknown {
			break
		}
	}
	return serve, err
}

// mcpError sorts an error of the manager: a bad argument, a cancel, or a
// request that failed.
func (s *Server) mcpError(ctx context.Context, command, server string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, mcp.ErrFingerprint):
		return badf("%s: the configuration of %s changed since it was shown; look at it again with agentls.mcp.servers", command, clip(server, 100))
	case errors.Is(err, mcp.ErrNotReady):
		return failed("%s%s", s.tell(err.Error()), s.remedy(server))
	case errors.Is(err, mcp.ErrUnknownServer), errors.Is(err, mcp.ErrUnknownResource), errors.Is(err, mcp.ErrUnknownPrompt),
		errors.Is(err, mcp.ErrPromptArgument), errors.Is(err, mcp.ErrBuiltIn):
		return badf("%s: %s: %s", command, clip(server, 100), s.tell(err.Error()))
	case errors.Is(err, mcp.ErrUntrustedFolder):
		s.asks.askFolder(true)
		return badf("%s: %s comes from a project file and its folder is not trusted; trust the folder first, the question for it is being asked", command, clip(server, 100))
	}
	return failed("%s: %s", clip(server, 100), s.tell(err.Error()))
}

// remedy says what to do about a server that is not ready, where that is a
// person's doing.
func (s *Server) remedy(server string) string {
	switch info, _ := s.serverInfo(server); info.Status {
	case mcp.StatusUntrusted:
		return "; look at it with agentls.mcp.servers and trust it with agentls.mcp.trust"
	case mcp.StatusDisabled:
		return "; enable it with agentls.mcp.enable, or for good in " + s.sourceOf(info)
	case mcp.StatusNeedsLogin:
		return "; agentls.mcp.login logs in"
	case mcp.StatusFailed, mcp.StatusRestarting:
		return "; agentls.mcp.logs has its last words, agentls.mcp.restart starts it anew"
	}
	return ""
}

// readArg is the argument of agentls.mcp.read.
type readArg struct {
	Server *string `json:"server"`
	URI    *string `json:"uri"`
}

// contentInfo is one content of agentls.mcp.read.
type contentInfo struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType"`
	Text     *string `json:"text,omitzero"`
	Blob     *string `json:"blob,omitzero"` // base64
}

// readResult is the result of agentls.mcp.read.
type readResult struct {
	Contents []contentInfo `json:"contents"`
	Stale    string        `json:"stale,omitzero"` // why this is not what the server has now
}

func prepareRead(s *Server, _ context.Context, arg readArg, in invocation) (serveFunc, error) {
	if err := s.server(in.command, arg.Server); err != nil {
		return nil, err
	}
	if err := required(in.command, "uri", arg.URI); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		start := time.Now()
		contents, err := s.o.Manager.Read(ctx, *arg.Server, *arg.URI)
		s.auditRead(ctx, *arg.Server, *arg.URI, start, err)
		var result readResult
		if stale, ok := errors.AsType[*mcp.StaleError](err); ok && ctx.Err() == nil {
			result.Stale = s.tell(stale.Error())
		} else if errors.Is(err, mcp.ErrUnknownResource) {
			known, _ := s.o.Manager.Resources(*arg.Server)
			return nil, s.mcpError(ctx, in.command, *arg.Server, fmt.Errorf("%w%s", err, agent.PerhapsMeant(*arg.URI, known.Resources)))
		} else if err != nil {
			return nil, s.mcpError(ctx, in.command, *arg.Server, err)
		}
		list := make([]contentInfo, len(contents))
		for i, c := range contents {
			list[i] = contentInfo{URI: c.URI, MIMEType: c.MIMEType, Text: &c.Text}
			if c.Blob != "" {
				list[i].Text, list[i].Blob = nil, &c.Blob
			}
		}
		result.Contents = list
		return result, nil
	}, nil
}

// auditRead writes down what a command read (CONTRACT §8).
func (s *Server) auditRead(ctx context.Context, server, uri string, start time.Time, err error) {
	s.o.Audit.Write(agent.CommandEntry(ctx, server, "read_resource", map[string]string{"uri": uri}, start, err))
}

func prepareRestart(s *Server, _ context.Context, arg serverArg, in invocation) (serveFunc, error) {
	if err := s.server(in.command, arg.Server); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		info, err := s.restart(*arg.Server)
		return info, s.mcpError(ctx, in.command, *arg.Server, err)
	}, nil
}

// restart restarts a server. One that waits for a person's trust is asked about
// again, which is no error.
func (s *Server) restart(server string) (mcp.ServerInfo, error) {
	s.settings.files.askAnew() // what a run changed may be why
	info, err := s.o.Manager.Restart(server)
	if info.Status == mcp.StatusUntrusted {
		s.asks.askServer(server)
		return info, nil
	}
	return info, err
}

// trustArg is the argument of agentls.mcp.trust.
type trustArg struct {
	Server      *string `json:"server"`
	Trust       *bool   `json:"trust"`
	Fingerprint *string `json:"fingerprint"`
}

func prepareTrust(s *Server, _ context.Context, arg trustArg, in invocation) (serveFunc, error) {
	if err := s.server(in.command, arg.Server); err != nil {
		return nil, err
	}
	if arg.Trust == nil {
		return nil, badf("%s: trust is missing; give {\"server\": …, \"trust\": true} or false", in.command)
	}
	return func(ctx context.Context) (any, error) {
		info, err := s.o.Manager.Trust(*arg.Server, *arg.Trust, deref(arg.Fingerprint))
		return info, s.mcpError(ctx, in.command, *arg.Server, err)
	}, nil
}
