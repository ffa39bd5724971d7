package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// logoutTime bounds the revocation of one login.
const logoutTime = 15 * time.Second

// Logout forgets the login of the server and revokes its tokens, where the
// authorization server takes that (RFC 7009). was says whether there was one;
// err, why it may hold on at the authorization server, or on disk.
func (g *Guard) Logout(ctx context.Context) (was bool, err error) {
	l, ok := g.login()
	if !ok {
		return false, nil
	}
	// First here: what is revoked is not sent any more.
	err = g.logins.store.change(func(f file) {
		delete(f.Issuers, l.Server+" "+l.ClientID)
		for {
			next, ok := f.of(g.server, g.client.name())
			if !ok {
				break
			}
			delete(f.Logins, next.key())
		}
		// A client that the authorization server has forgotten would be of no
		// use for the next login; one that another login has stays.
		for _, other := range f.Logins {
			if other.Issuer == l.Issuer && other.ClientID == l.ClientID {
				return
			}
		}
		if f.Clients[l.Issuer].ID == l.ClientID {
			delete(f.Clients, l.Issuer)
		}
	})
	if e, ok := errors.AsType[*notKeptError](err); ok {
		err = fmt.Errorf("it may be there again when agentls starts anew, since the file of logins cannot be changed: %w", e.error)
	}
	return true, errors.Join(err, g.revoke(ctx, l))
}

func (g *Guard) revoke(ctx context.Context, l login) error {
	if l.Revocation == "" {
		return fmt.Errorf("%s takes no token back: it ends by itself, or where you manage your account there", host(l.Issuer))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, logoutTime, fmt.Errorf("no answer within %v", logoutTime))
	defer cancel()
	via, done := g.outside(ctx)
	defer done()
	var first error
	for _, t := range []struct{ token, hint string }{{l.Refresh, "refresh_token"}, {l.Access, "access_token"}} {
		if t.token == "" {
			continue
		}
		if err := g.revokeOne(ctx, l, t.token, t.hint, via); err != nil && first == nil {
			first = fmt.Errorf("%s did not take the %s back: %w", host(l.Revocation), strings.ReplaceAll(t.hint, "_", " "), err)
		}
	}
	return first
}

func (g *Guard) revokeOne(ctx context.Context, l login, token, hint string, via *http.Client) error {
	form := url.Values{"token": {token}, "token_type_hint": {hint}}
	secret := g.secret(l)
	if l.Method != authBasic {
		form.Set("client_id", l.ClientID)
		if secret != "" {
			form.Set("client_secret", secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if l.Method == authBasic {
		req.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(secret))
	}
	resp, err := via.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return nil
}
