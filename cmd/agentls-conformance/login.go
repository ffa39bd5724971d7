package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"agentls/mcp"
)

// maxLogins bounds the logins of a scenario: a server that is never content
// must not keep a host busy.
const maxLogins = 3

// client is who the suite says that we are registered as, and the metadata
// document that its servers know, which nobody fetches.
func (g given) client() mcp.OAuthConfig {
	return mcp.OAuthConfig{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret,
		ClientMetadata: "https://conformance-test.local/client-metadata.json",
	}
}

// login logs in for as long as the server wants that.
func (h *host) login(ctx context.Context) (info mcp.ServerInfo, err error) {
	if h.logins++; h.logins > maxLogins {
		return info, fmt.Errorf("the server still wants a login after %d of them", maxLogins)
	}
	return h.manager.Login(ctx, server)
}

// signedIn does what may want a login, and does it again after one.
func (h *host) signedIn(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !errors.Is(err, mcp.ErrNeedsLogin) {
			return err
		}
		if _, failed := h.login(ctx); failed != nil {
			return fmt.Errorf("%w; the login failed: %w", err, failed)
		}
	}
}

// open is the person with a browser: the suite's authorization servers ask
// nothing and send it back at once.
func (h *host) open(ctx context.Context, r mcp.Request) {
	r.Reply(mcp.RequestAnswer{Accept: true})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Login.URL, nil)
	if err != nil {
		h.tolerate(err)
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.tolerate(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		h.tolerate(fmt.Errorf("the login's page: %s", resp.Status))
	}
}
