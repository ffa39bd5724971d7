package mcptest

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// AuthOptions script a fake authorization server of OAuth 2.1. The zero value
// registers clients, knows no scopes, and gives tokens for an hour that can be
// renewed.
type AuthOptions struct {
	Path     string            // of the issuer; empty: none
	OIDC     bool              // its metadata is that of OpenID Connect alone
	Scopes   []string          // scopes_supported
	Methods  []string          // token_endpoint_auth_methods_supported; nil: none
	Clients  map[string]string // registered beforehand, id → secret
	Closed   bool              // registers nobody
	Document bool              // takes client ID metadata documents
	Life     time.Duration     // of access tokens; 0: an hour; negative: not told
	Lasting  bool              // gives no refresh tokens
	Metadata map[string]any    // members of the metadata to be replaced; nil: left out
	TLS      bool              // https, with httptest's certificate, which is for example.com too
	Outside  string            // the origin that it is known by, where that is not its own address

	// The answer of the login's page.
	Iss   string // iss=…; "own": the issuer
	Error string // in place of a code
	State string // in place of the one that was sent
}

// AuthServer is a fake authorization server in the test's process.
type AuthServer struct {
	URL string // the issuer
	o   AuthOptions

	srv    *httptest.Server
	origin string

	mu       sync.Mutex
	n        int
	clients  map[string]authClient
	codes    map[string]authCode
	access   map[string]authGrant
	refresh  map[string]authGrant
	requests []AuthRequest
	broken   map[string]http.HandlerFunc // by path
}

type authClient struct {
	secret, method, redirect string
}

type authCode struct {
	redirect, challenge string
	authGrant
}

// authGrant is what a token stands for.
type authGrant struct {
	client, resource string
	scopes           []string
	ends             time.Time
}

// AuthRequest is one request that a fake authorization server received.
type AuthRequest struct {
	Path   string
	Form   url.Values      // of the query and of a form
	JSON   json.RawMessage // of the body
	Header http.Header
}

// ServeAuth starts a fake authorization server on a free port of 127.0.0.1.
func ServeAuth(tb testing.TB, o AuthOptions) *AuthServer {
	tb.Helper()
	a := &AuthServer{
		o: o, clients: map[string]authClient{}, codes: map[string]authCode{}, access: map[string]authGrant{}, refresh: map[string]authGrant{},
		broken: map[string]http.HandlerFunc{},
	}
	for id, secret := range o.Clients {
		a.clients[id] = authClient{secret: secret}
	}
	if o.TLS {
		a.srv = httptest.NewTLSServer(a)
	} else {
		a.srv = httptest.NewServer(a)
	}
	tb.Cleanup(a.srv.Close)
	a.origin = cmp.Or(o.Outside, a.srv.URL)
	a.URL = a.origin + o.Path
	return a
}

// Address is where it listens, as host:port.
func (a *AuthServer) Address() string { return a.srv.Listener.Addr().String() }

// Break answers the requests for a path in the server's place; nil mends it.
func (a *AuthServer) Break(path string, f http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken[path] = f
}

// Requests returns what was received at a path, or (empty) at all.
func (a *AuthServer) Requests(path string) (out []AuthRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.requests {
		if path == "" || r.Path == path {
			out = append(out, r)
		}
	}
	return out
}

// Renewals returns the requests for new tokens by a refresh token.
func (a *AuthServer) Renewals() []AuthRequest {
	return slices.DeleteFunc(a.Requests("/token"), func(r AuthRequest) bool { return r.Form.Get("grant_type") != "refresh_token" })
}

// Expire ends all access tokens; refresh tokens too where dead is true.
func (a *AuthServer) Expire(dead bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.access)
	if dead {
		clear(a.refresh)
	}
}

// Forget takes away every client that was registered.
func (a *AuthServer) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.clients {
		if _, before := a.o.Clients[id]; !before {
			delete(a.clients, id)
		}
	}
}

// Allows reports whether a token is good for a resource, and its scopes.
func (a *AuthServer) Allows(token, resource string) (scopes []string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, ok := a.access[token]
	return g.scopes, ok && (g.ends.IsZero() || time.Now().Before(g.ends)) && g.resource == resource
}

// ServeHTTP takes one request.
func (a *AuthServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	rec := AuthRequest{Path: r.URL.Path, Form: r.URL.Query(), Header: r.Header}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		rec.Form, _ = url.ParseQuery(string(body))
	} else {
		rec.JSON = body
	}
	a.mu.Lock()
	a.requests = append(a.requests, rec)
	broken := a.broken[r.URL.Path]
	a.mu.Unlock()
	if broken != nil {
		broken(w, r)
		return
	}
	path := strings.TrimSuffix(a.o.Path, "/")
	wellKnown := "/.well-known/oauth-authorization-server" + path
	if a.o.OIDC {
		wellKnown = path + "/.well-known/openid-configuration"
	}
	switch r.URL.Path {
	case wellKnown:
		writeJSON(w, http.StatusOK, a.metadata())
	case "/register":
		a.register(w, rec)
	case "/authorize":
		a.authorize(w, r, rec)
	case "/token":
		a.token(w, rec)
	case "/revoke":
		a.revoke(w, rec)
	default:
		http.NotFound(w, r)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (a *AuthServer) metadata() object {
	m := object{
		"issuer": a.URL, "authorization_endpoint": a.origin + "/authorize", "token_endpoint": a.origin + "/token", "revocation_endpoint": a.origin + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
	}
	if a.o.Methods != nil {
		m["token_endpoint_auth_methods_supported"] = a.o.Methods
	}
	if a.o.Scopes != nil {
		m["scopes_supported"] = a.o.Scopes
	}
	if !a.o.Closed {
		m["registration_endpoint"] = a.origin + "/register"
	}
	if a.o.Document {
		m["client_id_metadata_document_supported"] = true
	}
	if a.o.Iss != "" {
		m["authorization_response_iss_parameter_supported"] = true
	}
	for name, value := range a.o.Metadata {
		if value == nil {
			delete(m, name)
		} else {
			m[name] = value
		}
	}
	return m
}

// name makes a name that nothing had before; a.mu is held.
func (a *AuthServer) name(kind string) string {
	a.n++
	return fmt.Sprintf("%s-%d-%x", kind, a.n, sha256.Sum256([]byte(a.srv.URL+kind)))[:len(kind)+24]
}

func (a *AuthServer) register(w http.ResponseWriter, r AuthRequest) {
	var m struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
		Type      string   `json:"application_type"`
	}
	if a.o.Closed || json.Unmarshal(r.JSON, &m) != nil || len(m.Redirects) != 1 || m.Type != "native" {
		writeJSON(w, http.StatusBadRequest, object{"error": "invalid_client_metadata"})
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	id := a.name("client")
	c := authClient{method: m.Method, redirect: m.Redirects[0]}
	out := object{"client_id": id, "redirect_uris": m.Redirects, "token_endpoint_auth_method": m.Method}
	if m.Method != "none" {
		c.secret = a.name("client-secret")
		out["client_secret"], out["client_secret_expires_at"] = c.secret, 0
	}
	a.clients[id] = c
	writeJSON(w, http.StatusCreated, out)
}

// authorize is the login's page, of a person who says yes at once.
func (a *AuthServer) authorize(w http.ResponseWriter, r *http.Request, in AuthRequest) {
	q := in.Form
	a.mu.Lock()
	defer a.mu.Unlock()
	c, known := a.clients[q.Get("client_id")]
	known = known && (c.redirect == "" || c.redirect == q.Get("redirect_uri")) || a.o.Document && strings.HasPrefix(q.Get("client_id"), "https://")
	if !known || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" {
		http.Error(w, "the client is not known, or asks for something else", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	if a.o.State != "" {
		back.Set("state", a.o.State)
	}
	switch a.o.Iss {
	case "":
	case "own":
		back.Set("iss", a.URL)
	case "none":
	default:
		back.Set("iss", a.o.Iss)
	}
	if a.o.Error != "" {
		back.Set("error", a.o.Error)
	} else {
		code := a.name("code")
		a.codes[code] = authCode{
			q.Get("redirect_uri"), q.Get("code_challenge"),
			authGrant{client: q.Get("client_id"), resource: q.Get("resource"), scopes: strings.Fields(q.Get("scope"))},
		}
		back.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// authenticated checks who asks at the token endpoint; a.mu is held.
func (a *AuthServer) authenticated(r AuthRequest) (id string, ok bool) {
	id, secret := r.Form.Get("client_id"), r.Form.Get("client_secret")
	method := "client_secret_post"
	if user, password, basic := (&http.Request{Header: r.Header}).BasicAuth(); basic {
		method = "client_secret_basic"
		id, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(password)
	}
	if secret == "" {
		method = "none"
	}
	if a.o.Document && strings.HasPrefix(id, "https://") {
		return id, true
	}
	c, known := a.clients[id]
	allowed := a.o.Methods == nil && method == "none" || slices.Contains(a.o.Methods, method)
	return id, known && c.secret == secret && allowed
}

func (a *AuthServer) token(w http.ResponseWriter, r AuthRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	refuse := func(status int, code string) { writeJSON(w, status, object{"error": code}) }
	id, ok := a.authenticated(r)
	if !ok {
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	}
	var g authGrant
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		c, known := a.codes[r.Form.Get("code")]
		delete(a.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !known || c.client != id || c.redirect != r.Form.Get("redirect_uri") || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge {
			refuse(http.StatusBadRequest, "invalid_grant")
			return
		}
		g = c.authGrant
	case "refresh_token":
		if g, ok = a.refresh[r.Form.Get("refresh_token")]; !ok || g.client != id {
			refuse(http.StatusBadRequest, "invalid_grant")
			return
		}
		delete(a.refresh, r.Form.Get("refresh_token")) // each is good once
	default:
		refuse(http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	if r.Form.Get("resource") != g.resource {
		refuse(http.StatusBadRequest, "invalid_target")
		return
	}
	writeJSON(w, http.StatusOK, a.grant(g))
}

// grant gives tokens; a.mu is held.
func (a *AuthServer) grant(g authGrant) object {
	token := a.name("access")
	out := object{"access_token": token, "token_type": "Bearer"}
	life := a.o.Life
	if life == 0 {
		life = time.Hour
	}
	if life > 0 {
		g.ends = time.Now().Add(life)
		out["expires_in"] = int(life.Seconds())
	}
	a.access[token] = g
	if len(g.scopes) > 0 {
		out["scope"] = strings.Join(g.scopes, " ")
	}
	if !a.o.Lasting {
		again := a.name("refresh")
		g.ends = time.Time{}
		a.refresh[again] = g
		out["refresh_token"] = again
	}
	return out
}

func (a *AuthServer) revoke(w http.ResponseWriter, r AuthRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.authenticated(r); !ok {
		writeJSON(w, http.StatusUnauthorized, object{"error": "invalid_client"})
		return
	}
	delete(a.access, r.Form.Get("token"))
	delete(a.refresh, r.Form.Get("token"))
}
