package openai

import (
	"net/http"
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
	return &http.Client{Transport: base.Clone(), CheckRedirect: sameOrigin}
}

// sameOrigin follows a redirect within the origin that keeps the method. Any
// other 3xx is given back as the answer: the key and the conversation go only
// where the user sent them.
func sameOrigin(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || req.Method != first.Method {
		return http.ErrUseLastResponse
	}
	return nil
}
