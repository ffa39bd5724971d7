package openai

import (
	"net"
	"net/http"
	"time"
)

// maxRedirects within the provider's own origin.
const maxRedirects = 5

// newHTTPClient returns a client with connections of its own. It has no
// overall timeout: an answer may stream for an hour; silence is bounded by
// idle. The proxy is the environment's, which loopback addresses bypass.
func newHTTPClient() *http.Client {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           d.DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ExpectContinueTimeout: time.Second,
			MaxIdleConnsPerHost:   8,
			IdleConnTimeout:       90 * time.Second,
			ForceAttemptHTTP2:     true,
			// A connection that died while the machine slept is found out by a ping.
			HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		},
		CheckRedirect: sameOrigin,
	}
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
