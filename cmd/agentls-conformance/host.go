package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"agentls/mcp"
)

// host is a manager with the suite's server, and who answers its questions.
type host struct {
	manager *mcp.Manager
	log     *slog.Logger
	wg      sync.WaitGroup // the readers of the manager's channels
	logins  int            // that were made
}

// connect starts the manager and waits until the server is ready.
func (s scenario) connect(ctx context.Context) (*host, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	h := &host{log: log, manager: mcp.NewManager(mcp.Options{Name: "agentls", Version: "conformance", Environ: os.Environ(), Log: log})}
	h.wg.Go(func() {
		for e := range h.manager.Events() {
			log.Info("event", "kind", string(e.Kind), "err", e.Err, "text", e.Text)
		}
	})
	h.wg.Go(func() {
		for r := range h.manager.Requests() {
			h.wg.Go(func() { h.answer(ctx, r) })
		}
	})
	h.manager.Configure([]mcp.ServerConfig{s.server()})
	missing := h.manager.WaitStarted(ctx)
	for _, i := range h.manager.Servers() {
		if i.Name != server {
			continue
		}
		for i.Status == mcp.StatusNeedsLogin {
			var err error
			if i, err = h.login(ctx); err != nil {
				h.close()
				return nil, err
			}
		}
		if i.Status != mcp.StatusReady || len(missing) > 0 {
			h.close()
			return nil, fmt.Errorf("the server is %s: %s", i.Status, i.Error)
		}
	}
	return h, nil
}

// server is the suite's server, as a user configures one.
func (s scenario) server() mcp.ServerConfig {
	return mcp.ServerConfig{Name: server, Source: "user", Type: "http", URL: s.url, OAuth: s.given.client(), Protocol: s.protocol(), Fingerprint: server, Timeout: patience, StartupTimeout: patience}
}

func (h *host) close() {
	h.manager.Close()
	h.wg.Wait()
}

func (h *host) tools() (out []mcp.Tool) {
	for _, t := range h.manager.Tools() {
		if t.Server == server {
			out = append(out, t)
		}
	}
	return out
}

// call calls a tool with a JSON object.
func (h *host) call(ctx context.Context, tool, arguments string) error {
	var r mcp.ToolResult
	err := h.signedIn(ctx, func() (err error) {
		r, err = h.manager.CallTool(ctx, server, tool, json.RawMessage(arguments), nil)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("the tool %q: %w", tool, err)
	case r.IsError && len(r.Content) > 0:
		return fmt.Errorf("the tool %q failed: %s", tool, r.Content[0].Text)
	case r.IsError:
		return errors.New("the tool failed: " + tool)
	}
	return nil
}

// tolerate notes an error that is no failure of the scenario.
func (h *host) tolerate(err error) {
	if err != nil {
		h.log.Info("refused", "err", err)
	}
}
