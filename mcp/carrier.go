package mcp

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"
)

// carrier is what a connection runs on: a child process, or a server in this
// process.
type carrier struct {
	transport transport.Interface
	lost      <-chan struct{}             // closed when the other end is gone
	reason    func() string               // why it is gone
	words     func() string               // what the server wrote to stderr last; may be empty
	room      func(context.Context) error // waits until a request can be queued
	close     func()                      // ends it and waits for it
	live      bool                        // reads cost nothing: bodies are never taken from the cache
}

// carryProcess starts the session's command as a child.
func (s *session) carryProcess() (carrier, error) {
	if t := s.cfg.Type; t != "" && t != "stdio" {
		return carrier{}, fmt.Errorf("remote servers (type %q) are not supported in this version yet", t)
	}
	dir := s.cfg.Cwd
	if dir == "" {
		dir = s.cfg.Folder
	}
	p, err := startProcess(processSpec{command: s.cfg.Command, args: s.cfg.Args, env: childEnv(s.environ, s.cfg), dir: dir, reaper: s.reaper, problem: s.problem})
	if err != nil {
		return carrier{}, err
	}
	return carrier{transport: transport.NewIO(p.out, p.in, nil), lost: p.ended, reason: p.reason, words: p.words, room: p.in.waitRoom, close: p.close}, nil
}
