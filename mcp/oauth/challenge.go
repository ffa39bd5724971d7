package oauth

import (
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// challenge is what a server said of the login that it wants (RFC 6750, 3, and
// RFC 9728, 5.1).
type challenge struct {
	metadata string // URL of its metadata; empty: where it is expected
	scopes   []string
	more     bool // the login there is does not reach (insufficient_scope)
}

// challengeOf reads the challenges of an answer. One that cannot be read is
// none: a login finds its way without.
func challengeOf(resp *http.Response) (c challenge) {
	for _, header := range resp.Header.Values("WWW-Authenticate") {
		all, err := oauthex.ParseWWWAuthenticate([]string{header})
		if err != nil {
			continue
		}
		for _, one := range all {
			if at := one.Params["resource_metadata"]; at != "" && c.metadata == "" {
				c.metadata = at
			}
			if one.Scheme != "bearer" {
				continue
			}
			if len(c.scopes) == 0 {
				c.scopes = strings.Fields(one.Params["scope"])
			}
			c.more = c.more || one.Params["error"] == "insufficient_scope"
		}
	}
	return c
}

// union is a and what of b is not in it, in that order.
func union(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	seen := map[string]bool{}
	for _, list := range [][]string{a, b} {
		for _, scope := range list {
			if !seen[scope] {
				seen[scope] = true
				out = append(out, scope)
			}
		}
	}
	return out
}

// without is what of a is not in b.
func without(a, b []string) (out []string) {
	have := map[string]bool{}
	for _, scope := range b {
		have[scope] = true
	}
	for _, scope := range a {
		if !have[scope] {
			out = append(out, scope)
		}
	}
	return out
}
