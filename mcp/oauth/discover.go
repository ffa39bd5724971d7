package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// found is what a server's login takes.
type found struct {
	resource string // RFC 8707
	meta     *oauthex.AuthServerMeta
	scopes   []string // that the server names
}

// ErrNoOAuth says that a server wants a login of another kind.
var ErrNoOAuth = errors.New("the server names no way to log in by OAuth")

// maxIssuers is how many authorization servers of a server are looked at.
const maxIssuers = 5

// discover finds the authorization server (MCP, Authorization Server Discovery):
// by the resource metadata that the challenge names, else at its well-known
// places; else, as up to 2025-03-26, the server's origin is its own.
func (g *Guard) discover(ctx context.Context, c challenge, via *http.Client) (found, error) {
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	resource, err := g.resourceMetadata(ctx, c.metadata, via)
	switch {
	case err != nil:
		return found{}, err
	case resource == nil:
		return g.byOrigin(ctx, via)
	case len(resource.AuthorizationServers) == 0:
		return found{}, fmt.Errorf("%w: its metadata names no authorization server", ErrNoOAuth)
	}
	var first error
	for i, issuer := range resource.AuthorizationServers {
		if i == maxIssuers {
			break
		}
		meta, err := issuerMetadata(ctx, issuer, via)
		if err == nil && meta == nil {
			err = fmt.Errorf("the authorization server %s shows no metadata", host(issuer))
		}
		if err == nil {
			return found{resource.Resource, meta, resource.ScopesSupported}, nil
		}
		first = errors.Join(first, err)
	}
	return found{}, first
}

// resourceMetadata gets the protected resource metadata (RFC 9728, 3); nil:
// there is none. What names another resource is refused (3.3).
func (g *Guard) resourceMetadata(ctx context.Context, named string, via *http.Client) (*oauthex.ProtectedResourceMetadata, error) {
	var refused error
	for _, at := range g.metadataURLs(named) {
		m, err := getDocument(ctx, via, at)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			refused = errors.Join(refused, err)
		case m == nil:
		case !covers(m.Resource, g.at):
			refused = errors.Join(refused, fmt.Errorf("its metadata is of another resource, %q", clip(m.Resource)))
		default:
			return m, nil
		}
	}
	if refused != nil {
		return nil, fmt.Errorf("the server's login cannot be looked up: %w", refused)
	}
	return nil, nil //nolint:nilnil // none is no error
}

// metadataURLs are the places of the resource metadata, in order.
func (g *Guard) metadataURLs(named string) (all []string) {
	add := func(at string) {
		if at != "" && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	add(named)
	at := *g.at
	if path := g.at.EscapedPath(); path != "" && path != "/" {
		for _, path := range []string{path, strings.TrimRight(path, "/")} { // servers differ over the last slash
			at.RawPath = wellKnown + path
			at.Path, _ = url.PathUnescape(at.RawPath) // it was one
			add(at.String())
		}
	}
	at.Path, at.RawPath, at.RawQuery = wellKnown, "", ""
	add(at.String())
	return all
}

// covers reports whether a server's own resource identifier is that of the
// address we know it by: the same, or what the address lies in.
func covers(resource string, server *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || !SameOrigin(u, server) || u.Fragment != "" || u.User != nil || u.RawQuery != "" && u.RawQuery != server.RawQuery {
		return false
	}
	path, under := strings.TrimSuffix(u.EscapedPath(), "/"), strings.TrimSuffix(server.EscapedPath(), "/")
	return path == under || strings.HasPrefix(under, path+"/")
}

// getDocument gets resource metadata; nil: it is not there.
func getDocument(ctx context.Context, via *http.Client, at string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := parseURL(at)
	if err != nil {
		return nil, fmt.Errorf("the address of its metadata, %q, cannot be used: %w", clip(at), err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := via.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, nil //nolint:nilnil // none is no error
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return nil, err
	}
	var m oauthex.ProtectedResourceMetadata
	if len(data) > maxDocument || json.Unmarshal(data, &m) != nil {
		return nil, fmt.Errorf("its metadata at %s is no JSON that can be used", host(at))
	}
	return &m, nil
}

// issuerMetadata gets the metadata of an authorization server (RFC 8414, or
// OpenID Connect Discovery); nil: it shows none. Its issuer must be the one
// that it was asked for, and it must do PKCE with S256.
func issuerMetadata(ctx context.Context, issuer string, via *http.Client) (*oauthex.AuthServerMeta, error) {
	fail := func(err error) (*oauthex.AuthServerMeta, error) {
		return nil, fmt.Errorf("the authorization server %s cannot be used: %w", host(issuer), err)
	}
	if _, err := parseURL(issuer); err != nil {
		return fail(err)
	}
	m, err := auth.GetAuthServerMetadata(ctx, strings.TrimSuffix(issuer, "/"), via) // RFC 8414, 3.1
	switch {
	case err != nil:
		return fail(errors.New(clip(err.Error())))
	case m == nil:
		return nil, nil //nolint:nilnil // none is no error
	case !slices.Contains(m.CodeChallengeMethodsSupported, "S256"):
		return fail(errors.New("it does not do PKCE with S256"))
	case len(m.ResponseTypesSupported) > 0 && !slices.Contains(m.ResponseTypesSupported, "code"):
		return fail(errors.New("it gives no authorization codes"))
	}
	for name, at := range map[string]string{"authorization_endpoint": m.AuthorizationEndpoint, "token_endpoint": m.TokenEndpoint} {
		u, err := parseURL(at)
		if o, ok := via.Transport.(*outside); err == nil && ok { // a browser must not be sent there either
			err = o.may(u)
		}
		if err != nil {
			return fail(fmt.Errorf("%s: %w", name, err))
		}
	}
	return m, nil
}

// byOrigin is the way of 2025-03-26: the server's origin is its authorization
// server, with metadata or with the endpoints that the revision gives.
func (g *Guard) byOrigin(ctx context.Context, via *http.Client) (found, error) {
	origin := g.at.Scheme + "://" + g.at.Host
	meta, err := issuerMetadata(ctx, origin, via)
	if err != nil {
		return found{}, err
	}
	if meta == nil {
		meta = &oauthex.AuthServerMeta{
			Issuer: origin, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token", RegistrationEndpoint: origin + "/register",
		}
	}
	resource := *g.at
	resource.RawQuery, resource.ForceQuery = "", false // RFC 8707, 2; and it may hold a key that is nobody else's business
	return found{resource: resource.String(), meta: meta}, nil
}

// host is what errors say of an address.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Sprintf("%q", clip(address))
	}
	return clip(u.Scheme + "://" + u.Host)
}

// clip bounds foreign text in an error.
func clip(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
