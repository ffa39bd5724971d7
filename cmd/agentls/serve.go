package main

import (
	"context"
	"io"
	"runtime"

	"agentls/lsp"
)

// gcHeadroom is memory that is never touched, so that it takes none. The
// collector counts it: with the small heap of an editor's server it would
// otherwise run every few completions, and take a third of their time.
const gcHeadroom = 8 << 20

// serve speaks LSP on standard input and output until the editor is gone. The
// exit code is LSP's: 0 after shutdown and exit.
func serve(ctx context.Context, p program) error {
	code, _ := serveOn(ctx, p, p.stdin, p.stdout) // an error is logged, and has its code
	if code != 0 {
		return exitError(code)
	}
	return nil
}

// serveOn serves one client; the code is LSP's.
func serveOn(ctx context.Context, p program, r io.Reader, w io.Writer) (code int, err error) {
	headroom := make([]byte, gcHeadroom)
	defer runtime.KeepAlive(headroom)
	parts := newParts(p, true)
	defer parts.close()
	parts.source.Alone = true // the terminal, if any, is the editor's
	code, err = lsp.New(parts.serverOptions()).Serve(ctx, r, w)
	if err != nil {
		parts.log.Error("serving ended", "err", err)
	}
	return code, err
}

// serverOptions are what a server for one editor is made of.
func (p *parts) serverOptions() lsp.Options {
	return lsp.Options{
		Version: version, Agent: p.agent, Audit: p.audit, Manager: p.manager, State: p.state,
		Config: p.source, NewLLM: p.newLLM, Models: p.models, StateDir: p.paths.state, Secrets: p.secrets,
		Log: p.log, Alive: alive,
	}
}
