package mcp

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/client/transport"
)

// carrier is what a connection runs on: a child process, or a server in this
// process.
type carrier struct {
	transport transport.Interface
	lost      <-chan struct{}                           // closed when the other end is gone
	reason    func() string                             // why it is gone
	words     func() string                             // what the server wrote to stderr last; may be empty
	room      func(context.Context) error               // waits until a request can be queued
	close     func()                                    // ends it and waits for it
	live      bool                                      // reads cost nothing: bodies are never taken from the cache
	updates   func(func(uri string))                    // gives resources/updated past mcp-go; nil: they come through it
	requests  func(func(m json.RawMessage))             // gives the server's requests, as they come; nil: it has none
	reply     func(ctx context.Context, m []byte) error // sends the answer to one
	peer      *peer                                     // what HTTP knows of the other end; nil: it is not HTTP
}

// way is how a server is spoken to.
type way struct {
	modern bool // the protocol since 2026-07-28
	sse    bool // over the transport HTTP+SSE of 2024-11-05
}

// carryLocal makes a carry of one that knows one way only.
func carryLocal(start func() (carrier, error)) func(way) (carrier, error) {
	return func(way) (carrier, error) { return start() }
}

// carryConfigured starts what the configuration names.
func (s *session) carryConfigured(w way) (carrier, error) {
	if s.cfg.remote() {
		return s.carryRemote(w)
	}
	return s.carryProcess()
}

// carryProcess starts the session's command as a child.
func (s *session) carryProcess() (carrier, error) {
	dir := s.cfg.Cwd
	if dir == "" {
		dir = s.cfg.Folder
	}
	p, err := startProcess(processSpec{
		command: s.cfg.Command, args: s.cfg.Args, env: childEnv(s.environ, s.cfg), dir: dir, reaper: s.reaper, problem: s.problem,
		stderr: func(line string) { s.logs.add(logStderr, "info", line) },
	})
	if err != nil {
		return carrier{}, err
	}
	return carrier{transport: transport.NewIO(p.out, p.in, nil), lost: p.ended, reason: p.reason, words: p.words, room: p.in.waitRoom, close: p.close, updates: p.onUpdated, requests: p.onRequest, reply: p.reply}, nil
}

// carryRemote makes what a connection over HTTP runs on. Nothing is sent yet.
func (s *session) carryRemote(w way) (carrier, error) {
	if s.address == nil {
		r, err := newAddress(s.cfg, s.http.get(), s.problem)
		if err != nil {
			return carrier{}, err
		}
		s.address = r
		s.loginGuard.Store(r.guarded(s.cfg.OAuth, s.logins, s.http.get()))
	}
	s.address.cookies.forget()
	if s.dialed != nil {
		s.http.closeIdle() // what took the last one may have taken them: each would cost a start
	}
	p := newPeer(s.address, s.log.With("server", s.cfg.Name), s.problem)
	c := carrier{
		lost: p.lost, reason: p.reason, words: func() string { return "" },
		room: func(context.Context) error { return nil }, peer: p,
		requests: func(take func(json.RawMessage)) { p.asked = take }, reply: p.reply,
	}
	if w.sse {
		t := newSSE(p, s.timing.acknowledge)
		c.transport, c.close = t, t.shut
	} else {
		t := newStreamable(p, s.timing.backoff)
		c.transport, c.close = t, t.shut
	}
	return c, nil
}
