package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Ways to authenticate at the token endpoint (RFC 8414, 2).
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// authorizing is a login that is being prepared: with whom, as whom.
type authorizing struct {
	found
	client
	listener *listener
	reused   bool // the client is of an earlier login
}

// choose finds the client to log in as and listens for its redirect, in MCP's
// order: one registered beforehand, a client ID metadata document, one that we
// registered with this issuer before, dynamic registration.
func (g *Guard) choose(ctx context.Context, f found, via *http.Client) (a authorizing, err error) {
	a.found = f
	all := g.logins.store.read()
	if was := all.Issuers[g.server+" "+g.client.ID]; g.client.ID != "" && was != "" && was != f.meta.Issuer {
		return a, fmt.Errorf("the server's authorization server was %s and is %s by now; the client that you configured is of the first one. If that is right, log out first (agentls.mcp.logout)", was, clip(f.meta.Issuer))
	}
	configured := g.client.ID != "" || g.client.Metadata != "" && f.meta.ClientIDMetadataDocumentSupported
	kept, known := all.Clients[f.meta.Issuer]
	port := g.client.Port
	reuse := !configured && known && !kept.expired(time.Now())
	if reuse && port == 0 {
		port = kept.port()
	}
	a.listener, err = listen(port)
	if err != nil && reuse && g.client.Port == 0 { // another program has the port by now
		a.listener, err = listen(0)
	}
	if err != nil {
		return a, err
	}
	redirect := a.listener.redirect
	switch {
	case g.client.ID != "":
		a.client = client{Issuer: f.meta.Issuer, ID: g.client.ID, Secret: g.client.Secret, Redirect: redirect}
		a.Method, err = tokenAuth(f.meta.TokenEndpointAuthMethodsSupported, g.client.Secret != "")
	case configured:
		a.client = client{Issuer: f.meta.Issuer, ID: g.client.Metadata, Method: authNone, Redirect: redirect}
	case reuse && kept.Redirect == redirect:
		a.client, a.reused = kept, true
	default:
		a.client, err = g.register(ctx, f.meta, redirect, via)
	}
	if err != nil {
		a.listener.close()
	}
	return a, err
}

func (c client) expired(now time.Time) bool { return !c.Expires.IsZero() && now.After(c.Expires) }

func (c client) port() int {
	u, err := url.Parse(c.Redirect)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(u.Port())
	return n
}

// tokenAuth chooses how to authenticate at the token endpoint; supported is
// RFC 8414's list, which counts as client_secret_basic where it is missing.
func tokenAuth(supported []string, secret bool) (string, error) {
	if !secret {
		return authNone, nil
	}
	if len(supported) == 0 {
		return authBasic, nil
	}
	for _, method := range []string{authBasic, authPost} {
		if slices.Contains(supported, method) {
			return method, nil
		}
	}
	return "", fmt.Errorf("its token endpoint takes %q only, and agentls can send a client's secret as %s or %s", supported, authBasic, authPost)
}

// style is oauth2's word for a method.
func style(method string) oauth2.AuthStyle {
	if method == authBasic {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// register registers a native client (RFC 7591) that keeps no secret where the
// server allows it, and remembers it by its issuer: it is no other's business.
func (g *Guard) register(ctx context.Context, meta *oauthex.AuthServerMeta, redirect string, via *http.Client) (client, error) {
	at := host(meta.Issuer)
	if meta.RegistrationEndpoint == "" {
		return client{}, fmt.Errorf(`%s registers no clients by itself: register agentls there, with the redirect address http://127.0.0.1/callback, and give "oauth": {"clientId": …} of the server in your configuration`, at)
	}
	if _, err := parseURL(meta.RegistrationEndpoint); err != nil {
		return client{}, fmt.Errorf("%s: registration_endpoint: %w", at, err)
	}
	method := authNone
	if all := meta.TokenEndpointAuthMethodsSupported; len(all) > 0 && !slices.Contains(all, authNone) {
		var err error
		if method, err = tokenAuth(all, true); err != nil {
			return client{}, fmt.Errorf("%s: %w", at, err)
		}
	}
	grants := []string{"authorization_code"}
	if all := meta.GrantTypesSupported; len(all) == 0 || slices.Contains(all, "refresh_token") {
		grants = append(grants, "refresh_token")
	}
	r, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: method, GrantTypes: grants, ResponseTypes: []string{"code"},
		ClientName: g.logins.o.Name, SoftwareVersion: g.logins.o.Version, ApplicationType: "native",
	}, via)
	if err != nil {
		return client{}, registrationError(ctx, at, err)
	}
	c := client{
		Issuer: meta.Issuer, ID: r.ClientID, Secret: r.ClientSecret, Expires: r.ClientSecretExpiresAt, Method: r.TokenEndpointAuthMethod,
		Redirect: redirect, Registered: time.Now().UTC().Truncate(time.Second),
	}
	switch {
	case c.Secret == "":
		c.Method = authNone
	case c.Method == "" && len(meta.TokenEndpointAuthMethodsSupported) == 0:
		c.Method = authBasic // the default of RFC 7591, 2
	case c.Method == "":
		c.Method = method
	case c.Method != authNone && c.Method != authBasic && c.Method != authPost:
		return client{}, fmt.Errorf("%s wants agentls to authenticate by %q, which it cannot", at, clip(c.Method))
	}
	g.logins.o.Learn(c.Secret)
	// One that is not kept is registered again; the login tells of the reason.
	_ = g.logins.store.change(func(f file) { f.Clients[c.Issuer] = c })
	return c, nil
}

// registrationError words why there is no client. The answer of a registration
// that worked may hold the client's secret, and the library's error all of it.
func registrationError(ctx context.Context, at string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*oauthex.ClientRegistrationError](err); ok {
		return fmt.Errorf("%s does not register agentls: %s %s", at, clip(e.ErrorCode), clip(e.ErrorDescription))
	}
	why := "its answer cannot be read"
	if _, ok := errors.AsType[*url.Error](err); ok || strings.HasPrefix(err.Error(), "registration failed with status ") {
		why = err.Error()
	}
	return fmt.Errorf("%w: agentls cannot register at %s: %s", ErrNoOAuth, at, clip(why))
}
