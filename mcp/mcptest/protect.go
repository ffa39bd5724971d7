package mcptest

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Protection says what a protected server wants of a token.
type Protection struct {
	Scopes   []string            // of each request
	Of       map[string][]string // of calls of a tool, besides
	Resource string              // in its metadata; empty: its URL
	Issuers  []string            // in its metadata; nil: the authorization server's
	Named    []string            // scopes_supported in its metadata
	NoHint   bool                // its challenges do not name its metadata
	NoScopes bool                // nor the scopes
	Nothing  bool                // it has no metadata
	Origin   bool                // its metadata is at the origin's well-known place, not at the path's
	Free     Match               // requests that need no token
}

// Protect lets only those in who have a token of an authorization server for
// this one, as RFC 9728 and MCP's authorization specification have it.
func (a *AuthServer) Protect(s *HTTPServer, p Protection) {
	const wellKnown = "/.well-known/oauth-protected-resource"
	at, err := url.Parse(s.URL)
	if err != nil {
		panic(err) // it is ours
	}
	place, base := wellKnown+at.Path, at.Scheme+"://"+at.Host
	if p.Origin {
		place = wellKnown
	}
	if p.Resource == "" {
		p.Resource = s.URL
	}
	if p.Issuers == nil {
		p.Issuers = []string{a.URL}
	}
	challenge := func(more string, scopes []string) string {
		var parts []string
		if more != "" {
			parts = append(parts, `error="`+more+`"`)
		}
		if !p.NoHint && !p.Nothing {
			parts = append(parts, `resource_metadata="`+base+place+`"`)
		}
		if len(scopes) > 0 && !p.NoScopes {
			parts = append(parts, `scope="`+strings.Join(scopes, " ")+`"`)
		}
		return strings.TrimSpace("Bearer " + strings.Join(parts, ", "))
	}
	s.Break(Any, func(s *HTTPServer, w http.ResponseWriter, r *http.Request, in HTTPRequest) {
		path, _, _ := strings.Cut(in.Path, "?")
		if strings.HasPrefix(path, "/.well-known/") {
			if path != place || p.Nothing {
				http.NotFound(w, r)
				return
			}
			m := object{"resource": p.Resource, "authorization_servers": p.Issuers}
			if p.Named != nil {
				m["scopes_supported"] = p.Named
			}
			writeJSON(w, http.StatusOK, m)
			return
		}
		if p.Free != nil && p.Free(in) {
			s.proper(w, r, in)
			return
		}
		token, _ := strings.CutPrefix(in.Header.Get("Authorization"), "Bearer ")
		has, ok := a.Allows(token, p.Resource)
		if !ok {
			w.Header().Set("WWW-Authenticate", challenge("", p.Scopes))
			writeJSON(w, http.StatusUnauthorized, object{"error": "invalid_token"})
			return
		}
		wants := p.Scopes
		if tool := in.Tool(); in.Method == "tools/call" {
			wants = append(slices.Clone(wants), p.Of[tool]...)
		}
		for _, scope := range wants {
			if !slices.Contains(has, scope) {
				w.Header().Set("WWW-Authenticate", challenge("insufficient_scope", wants))
				writeJSON(w, http.StatusForbidden, object{"error": "insufficient_scope"})
				return
			}
		}
		s.proper(w, r, in)
	})
}

// Browse opens a login's page as a person's browser does, and returns where it
// came to and what was shown there.
func Browse(tb testing.TB, page string) (at *url.URL, status int, text string) {
	tb.Helper()
	resp, err := http.Get(page) //nolint:gosec // the test's own
	if err != nil {
		tb.Errorf("the browser: %v", err)
		return &url.URL{}, 0, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.Request.URL, resp.StatusCode, string(body)
}

// Elsewhere opens a login's page in a browser on another machine, and returns
// the address that it is sent back to and cannot reach.
func Elsewhere(tb testing.TB, page string) string {
	tb.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(page)
	if err != nil {
		tb.Errorf("the browser: %v", err)
		return ""
	}
	defer resp.Body.Close()
	return resp.Header.Get("Location")
}
