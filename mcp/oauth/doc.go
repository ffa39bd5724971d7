// Package oauth logs into remote MCP servers by OAuth 2.1, as MCP's
// authorization specification has it (2025-11-25 and 2026-07-28): a
// [http.RoundTripper] that adds a token to what goes to a server, the login that
// gets one, and the file that keeps it.
//
// The parts of github.com/modelcontextprotocol/go-sdk do what they can: the
// metadata of authorization servers, registration, challenges; golang.org/x/oauth2
// the token endpoint. Its AuthorizationCodeHandler is not used: it registers a
// client at each login, keeps nothing, tells no issuer by which to keep it,
// renews without `resource`, and takes a server without S256.
package oauth
