package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// renewBefore is how long before its end a token is renewed, at most.
const renewBefore = 30 * time.Second

// exchange gets the tokens for a code, and keeps them.
func (g *Guard) exchange(ctx context.Context, f *flow, code string, via *http.Client) error {
	config := oauth2.Config{
		ClientID: f.ID, ClientSecret: f.client.Secret, RedirectURL: f.Redirect,
		Endpoint: oauth2.Endpoint{TokenURL: f.meta.TokenEndpoint, AuthStyle: style(f.Method)},
	}
	t, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, via), code,
		oauth2.VerifierOption(f.verifier), oauth2.SetAuthURLParam("resource", f.resource))
	if err == nil {
		err = usableToken(t)
	}
	if err != nil {
		if isCode(err, "invalid_client") {
			g.doubt(&flow{authorizing: authorizing{found: f.found, client: f.client, reused: true}})
		}
		return tokenError(ctx, host(f.meta.TokenEndpoint), err)
	}
	l := login{
		Server: g.server, Resource: f.resource, Issuer: f.meta.Issuer, ClientID: f.ID, Method: f.Method,
		Token: f.meta.TokenEndpoint, Scopes: f.scopes, Configured: g.client.name(),
	}
	if _, err := parseURL(f.meta.RevocationEndpoint); err == nil {
		l.Revocation = f.meta.RevocationEndpoint
	}
	if f.ID != g.client.ID {
		l.Secret = f.client.Secret
	}
	return g.keep(l.with(t))
}

// with is the login with new tokens; a server that gives no new refresh token
// means the old one (RFC 6749, 6).
func (l login) with(t *oauth2.Token) login {
	l.Access, l.Expires, l.Obtained = t.AccessToken, t.Expiry.UTC(), time.Now().UTC()
	if t.Expiry.IsZero() {
		l.Expires = time.Time{}
	}
	if t.RefreshToken != "" {
		l.Refresh = t.RefreshToken
	}
	if granted, ok := t.Extra("scope").(string); ok {
		l.Scopes = union(l.Scopes, strings.Fields(granted))
	}
	return l
}

func (g *Guard) keep(l login) error {
	g.logins.o.Learn(l.Access, l.Refresh, l.Secret)
	return g.logins.store.change(func(f file) {
		f.put(l)
		if l.ClientID == g.client.ID {
			f.Issuers[l.Server+" "+l.ClientID] = l.Issuer
		}
	})
}

// secret is that of a login's client. A configured one is not in the file.
func (g *Guard) secret(l login) string {
	if l.ClientID == g.client.ID {
		return g.client.Secret
	}
	return l.Secret
}

// refresh asks for new tokens once.
func (g *Guard) refresh(ctx context.Context, l login) (login, error) {
	via, done := g.outside(ctx)
	defer done()
	config := clientcredentials.Config{ // which may be told the grant
		ClientID: l.ClientID, ClientSecret: g.secret(l), TokenURL: l.Token, AuthStyle: style(l.Method),
		EndpointParams: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}, "resource": {l.Resource}},
	}
	t, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, via))
	if err == nil {
		err = usableToken(t)
	}
	if err != nil {
		return login{}, err
	}
	return l.with(t), nil
}

func usableToken(t *oauth2.Token) error {
	switch {
	case !strings.EqualFold(t.Type(), "bearer"):
		return fmt.Errorf("it gives a token of the kind %q, and agentls knows Bearer only", clip(t.TokenType))
	case strings.ContainsFunc(t.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it gives a token that cannot be sent")
	}
	return nil
}

// isCode reports an error of the token endpoint (RFC 6749, 5.2).
func isCode(err error, codes ...string) bool {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok && slices.Contains(codes, e.ErrorCode)
}

// tokenError words what went wrong at a token endpoint. What oauth2 says of it
// holds the whole answer, which may hold tokens.
func tokenError(ctx context.Context, at string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		if u, is := errors.AsType[*url.Error](err); is {
			err = u.Err
		}
		return fmt.Errorf("%s gives no token: %s", at, clip(err.Error()))
	}
	text := clip(e.ErrorCode)
	if text == "" && e.Response != nil {
		text = e.Response.Status
	}
	if e.ErrorDescription != "" {
		text += ": " + clip(e.ErrorDescription)
	}
	return fmt.Errorf("%s gives no token (%s)", at, text)
}
