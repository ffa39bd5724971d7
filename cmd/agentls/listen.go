package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"agentls/lsp"
)

// listen serves one client after the other on a Unix socket, until ctx ends.
// Each has a server of its own, with its own children.
func listen(ctx context.Context, p program, path string) error {
	s, err := openSocket(ctx, path, filepath.Join(p.paths().state, "listen.lock"))
	if err != nil {
		fmt.Fprintln(p.stderr, "agentls: "+err.Error())
		return exitError(exitFailed)
	}
	q := &clients{p: p, turn: make(chan struct{}, 1)}
	stop := context.AfterFunc(ctx, func() { _ = s.UnixListener.Close() })
	defer stop()
	fmt.Fprintf(p.stderr, "agentls: serves one client at a time on %s; Ctrl-C ends it\n", word(s.path))
	err = q.accept(ctx, s)
	q.all.Wait()
	return errors.Join(err, s.Close())
}

// clients are those of a socket, of whom one is served.
type clients struct {
	p    program
	turn chan struct{}  // 1 slot, of who is served
	all  sync.WaitGroup // one goroutine each; they end with ctx
	came atomic.Int64
}

// retryAccept is waited where the system gives no connection, as when it has no
// more files.
const retryAccept = 100 * time.Millisecond

func (q *clients) accept(ctx context.Context, s *socket) error {
	for {
		conn, err := s.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			fmt.Fprintf(q.p.stderr, "agentls: no client can be taken (%v); trying again\n", err)
			select {
			case <-time.After(retryAccept):
			case <-ctx.Done():
			}
			continue
		}
		q.all.Go(func() { q.serve(ctx, conn) })
	}
}

// serve waits for the client's turn and serves it until it leaves.
func (q *clients) serve(ctx context.Context, conn net.Conn) {
	unwatch := context.AfterFunc(ctx, func() { _ = conn.Close() }) // as long as it waits
	r := bufio.NewReader(conn)
	// One that says nothing wants to know whether somebody is here, as another
	// agentls does.
	if _, err := r.Peek(1); err != nil {
		unwatch()
		_ = conn.Close()
		return
	}
	n := q.came.Add(1)
	select {
	case q.turn <- struct{}{}:
	default:
		fmt.Fprintf(q.p.stderr, "agentls: client %d waits for its turn\n", n)
		_ = lsp.TellWaiting(conn) // one that is gone is found out below
		select {
		case q.turn <- struct{}{}:
		case <-ctx.Done():
			unwatch()
			_ = conn.Close()
			return // without a turn to give back
		}
	}
	defer func() { <-q.turn }()
	if !unwatch() {
		return // ctx has ended
	}
	fmt.Fprintf(q.p.stderr, "agentls: client %d is served\n", n)
	code, _ := serveOn(ctx, q.p, struct {
		io.Reader
		io.Closer
	}{r, conn}, conn)
	how := ""
	if code != 0 {
		how = ", not by shutdown and exit"
	}
	fmt.Fprintf(q.p.stderr, "agentls: client %d left%s\n", n, how)
}
