package openai

import (
	"net/http"

	"agentls/mcp"
)

// maxRedirects within the provider's own origin.
const maxRedirects = 5

// newHTTPClient returns a client with connections of its own. It has no
// overall timeout: an answer may stream for an hour; silence is bounded by
// idle.
func newHTTPClient(base *http.Transport) *http.Client {
	if base == nil {
		base = http.DefaultTransport.(*http.Transport)
	}
	return &http.Client{Transport: base.Clone(), CheckRedirect: withinOrigin}
}

// withinOrigin follows a redirect within the origin that keeps the method. Any
// other 3xx is given back as the answer: the key and the conversation go only
// where the user sent them.
func withinOrigin(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || !mcp.SameOrigin(req.URL, first.URL) || req.Method != first.Method {
		return http.ErrUseLastResponse
	}
	return nil
}
