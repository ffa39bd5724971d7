package oauth

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzChallenge: whatever a server says of the login that it wants, and names
// as its own, is read or left out.
func FuzzChallenge(f *testing.F) {
	for _, s := range []string{
		`Bearer`, `Bearer resource_metadata="https://a.example/x", scope="a b"`, `Basic realm="x", Bearer error="insufficient_scope"`,
		`Bearer scope=a,Bearer scope="b\"c`, `Bearer error="insufficient_scope`, `"`, `,`, `Bearer =`, `Bearer a="\`, "Bearer a=\x00",
	} {
		f.Add(s, "https://a.example/mcp")
	}
	server, err := url.Parse("https://a.example/mcp?x=1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header, resource string) {
		c := challengeOf(&http.Response{Header: http.Header{"Www-Authenticate": {header, "Bearer scope=last"}}})
		for _, scope := range c.scopes {
			if scope == "" || strings.ContainsAny(scope, " \t\n") {
				t.Errorf("a scope %q of %q", scope, header)
			}
		}
		if covers(resource, server) {
			u, err := url.Parse(resource)
			if err != nil || !SameOrigin(u, server) || u.User != nil {
				t.Errorf("%q covers %s", resource, server)
			}
		}
		g := &Guard{at: server}
		for _, at := range g.metadataURLs(c.metadata) {
			if u, err := parseURL(at); err == nil && !safe(u) {
				t.Errorf("%q would be asked", at)
			}
		}
	})
}
