package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Page is what a person is to open, to log in.
type Page struct {
	URL      string // foreign, whole
	Issuer   string // who is behind it
	Scopes   []string
	Redirect string // where the browser comes back to, on this machine
}

// flow is a login that waits for a person.
type flow struct {
	authorizing
	page     Page
	scopes   []string
	verifier string
}

// LoginTime is how long a login waits for a person.
const LoginTime = 10 * time.Minute

var (
	errNoAddress = errors.New("that is no address with the answer of a login: copy it whole from the browser's address bar, after the login, as http://127.0.0.1:…/callback?code=…&state=…")
	errLoginTime = errors.New("nobody logged in within 10 minutes; start the login again")
	// ErrOtherLogin says of an address that it is of no login that waits.
	ErrOtherLogin = errors.New("the address belongs to no login that waits: its state is another one")
)

// Login logs in: it finds out how, lets show show the page, and waits until the
// browser has come back, or a person hands in its address by [Guard.Finish].
// ErrNotKept means that it worked. One at a time.
func (g *Guard) Login(ctx context.Context, show func(Page) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, LoginTime, errLoginTime)
	defer cancel()
	if !safe(g.at) {
		return fmt.Errorf(`the server's "url" begins with %s://: what a login gives would be open to the network. Use its https:// address`, g.at.Scheme)
	}
	via, done := g.outside(ctx)
	defer done()
	f, err := g.prepare(ctx, via)
	if err != nil {
		return err
	}
	defer f.listener.close()
	g.set(f)
	defer g.set(nil)
	if err := show(f.page); err != nil {
		return err
	}
	select {
	case values := <-f.listener.back:
		err = g.redeem(ctx, f, values, via)
	case <-ctx.Done():
		g.doubt(f)
		return context.Cause(ctx)
	}
	if err != nil && !errors.Is(err, ErrNotKept) {
		f.listener.tell("The login did not work. Your editor says why; you can close this page.")
		return err
	}
	g.mu.Lock()
	g.wanted = false
	g.mu.Unlock()
	f.listener.tell("You are logged in. You can close this page and go back to your editor.")
	return err
}

func (g *Guard) set(f *flow) {
	g.mu.Lock()
	g.flow = f
	g.mu.Unlock()
}

// prepare makes the page.
func (g *Guard) prepare(ctx context.Context, via *http.Client) (*flow, error) {
	g.mu.Lock()
	want := g.want
	g.mu.Unlock()
	how, err := g.discover(ctx, want, via)
	if err != nil {
		return nil, err
	}
	a, err := g.choose(ctx, how, via)
	if err != nil {
		return nil, err
	}
	f := &flow{authorizing: a, verifier: oauth2.GenerateVerifier(), scopes: g.scopes(want, a)}
	g.logins.o.Learn(f.verifier)
	state := rand.Text()
	f.listener.expect(state)
	config := oauth2.Config{
		ClientID: f.ID, RedirectURL: f.Redirect, Scopes: f.scopes, Endpoint: oauth2.Endpoint{AuthURL: f.meta.AuthorizationEndpoint},
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(f.verifier), oauth2.SetAuthURLParam("resource", f.resource)}
	if slices.Contains(f.scopes, offline) { // OpenID Connect Core, 11
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent"))
	}
	f.page = Page{URL: config.AuthCodeURL(state, options...), Issuer: f.meta.Issuer, Scopes: f.scopes, Redirect: f.Redirect}
	return f, nil
}

const offline = "offline_access"

// scopes chooses what to ask for (MCP, Scope Selection Strategy): what is
// configured, else what the challenge names, else what the metadata does; with
// what the login has had so far, so that a step up takes nothing away; and
// offline_access where the authorization server knows it.
func (g *Guard) scopes(want challenge, a authorizing) []string {
	scopes := a.found.scopes
	if len(want.scopes) > 0 {
		scopes = want.scopes
	}
	switch {
	case len(g.client.Scopes) == 0:
	case want.more:
		scopes = union(g.client.Scopes, scopes)
	default:
		scopes = g.client.Scopes
	}
	if l, ok := g.login(); ok && l.Issuer == a.Issuer && l.ClientID == a.ID {
		scopes = union(l.Scopes, scopes)
	}
	// Alone it would take the place of what the server gives by itself.
	if len(scopes) > 0 && slices.Contains(a.meta.ScopesSupported, offline) {
		scopes = union(scopes, []string{offline})
	}
	return scopes
}

// doubt forgets a client of an earlier login that nobody came back from: the
// authorization server may have forgotten it, and shows that in the browser.
func (g *Guard) doubt(f *flow) {
	if f.reused {
		_ = g.logins.store.change(func(all file) {
			if all.Clients[f.Issuer].ID == f.ID {
				delete(all.Clients, f.Issuer)
			}
		})
	}
}

// Finish takes the address that the browser came back to, where that could not
// reach us: pasted by a person. It must hold the state of the login that waits.
func (g *Guard) Finish(address string) error {
	address = strings.TrimSpace(address)
	u, err := url.Parse(address)
	if err != nil || u.RawQuery == "" {
		return errNoAddress
	}
	g.mu.Lock()
	f := g.flow
	g.mu.Unlock()
	if f == nil {
		return errors.New("no login of this server waits for an address; start one first")
	}
	if !f.listener.take(u.Query()) {
		return ErrOtherLogin
	}
	return nil
}

// redeem checks what came back and gets the tokens for it.
func (g *Guard) redeem(ctx context.Context, f *flow, values url.Values, via *http.Client) error {
	g.logins.o.Learn(values.Get("code"))
	// Before anything else is believed (RFC 9207, 2.4); as it is, without any
	// normalization.
	iss, sent := values.Get("iss"), values.Has("iss")
	switch {
	case sent && iss != f.meta.Issuer:
		return fmt.Errorf("the answer names %q as who gave it, and not %s: it may be an attempt to mix up two logins. Nothing of it was used", clip(iss), f.meta.Issuer)
	case !sent && f.meta.AuthorizationResponseIssParameterSupported:
		return fmt.Errorf("the answer does not say who gave it, as %s always does: it may be an attempt to mix up two logins. Nothing of it was used", f.meta.Issuer)
	}
	if code := values.Get("error"); code != "" {
		return refusal(host(f.meta.Issuer), code, values.Get("error_description"))
	}
	if values.Get("code") == "" {
		return fmt.Errorf("%s sent the browser back without a code", host(f.meta.Issuer))
	}
	return g.exchange(ctx, f, values.Get("code"), via)
}

// refusal words an error of the authorization endpoint (RFC 6749, 4.1.2.1).
func refusal(at, code, description string) error {
	words := map[string]string{
		"access_denied":             "the login was refused, by you or by " + at,
		"invalid_scope":             at + ` does not give what was asked for; "scopes" in "oauth" of the server can ask for less`,
		"unauthorized_client":       at + " does not let agentls log in this way",
		"invalid_target":            at + " knows nothing of this server",
		"server_error":              at + " had an error; try again later",
		"temporarily_unavailable":   at + " is not available just now; try again later",
		"unsupported_response_type": at + " gives no authorization codes",
	}
	text := words[code]
	if text == "" {
		text = at + " did not let you log in"
	}
	text += " (" + clip(code)
	if description != "" {
		text += ": " + clip(description)
	}
	return errors.New(text + ")")
}
