package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http/httpguts"

	"agentls/mcp/oauth"
)

// maxRedirects within a server's own origin.
const maxRedirects = 10

// address is a server's address and what every request to it carries.
type address struct {
	url     *url.URL
	client  *http.Client
	headers http.Header
	host    string       // the configured Host; empty: the URL's
	cookies *cookies     // of the connection
	guard   *oauth.Guard // adds the token of a login; nil: a header is configured for that
}

// newAddress checks what is configured. What it passes over is told to problem.
func newAddress(c ServerConfig, base http.RoundTripper, problem func(string)) (*address, error) {
	u, err := url.Parse(strings.TrimSpace(c.URL))
	switch {
	case err != nil:
		return nil, errors.New(`"url" is no URL`) // the error of Parse quotes all of it
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf(`"url" has to begin with http:// or https://, and name a host; it begins with %q`, clip(u.Scheme, 20))
	}
	u.Fragment = ""
	r := &address{url: u, headers: http.Header{}, cookies: &cookies{}}
	r.client = &http.Client{Transport: base, CheckRedirect: sameOrigin, Jar: r.cookies}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		value := strings.TrimSpace(c.Headers[name])
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("headers: %q cannot be the name of a header", clip(name, 100))
		case !headerValue(value):
			return nil, fmt.Errorf("headers.%s: the value cannot be sent: it holds a line break or another control character", name)
		case strings.EqualFold(name, "Host"):
			r.host = value
		case reservedHeader(name):
			problem(fmt.Sprintf("headers.%s is passed over: the protocol sets it", name))
		case value != "":
			r.headers.Set(name, value)
		}
	}
	return r, nil
}

// remoteTransport holds the connections to all remote servers. It is made for
// the first of them: it may have certificates to read.
type remoteTransport struct {
	base func() *http.Transport // see [Options]
	mu   sync.Mutex
	t    *http.Transport // nil: not made yet
}

func (r *remoteTransport) get() *http.Transport {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.t != nil:
	case r.base != nil:
		r.t = r.base().Clone()
	default:
		r.t = &http.Transport{ForceAttemptHTTP2: true}
	}
	return r.t
}

// closeIdle closes the connections that wait for their next use.
func (r *remoteTransport) closeIdle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.t != nil {
		r.t.CloseIdleConnections()
	}
}

func headerValue(s string) bool { return httpguts.ValidHeaderFieldValue(s) }

// reservedHeader reports whether the protocol, or HTTP itself, sets a header.
func reservedHeader(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "accept", "content-type", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "last-event-id", "accept-encoding":
		return true
	}
	return strings.HasPrefix(name, "mcp-") && name != "mcp-"
}

// origin is what errors say of an address: its path and query may hold secrets.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// do sends one request. ours are the headers of the protocol. The caller
// closes the body. A server that cannot be reached gives *unreachableError, a
// redirect that is not followed *redirectError.
func (r *address) do(ctx context.Context, method string, to *url.URL, body []byte, ours http.Header) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), content)
	if err != nil {
		return nil, errors.New("the server's URL cannot be used")
	}
	req.Header = r.headers.Clone()
	maps.Copy(req.Header, ours)
	req.Host = r.host
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err := r.client.Do(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err == nil {
		return resp, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if e, ok := errors.AsType[*redirectError](err); ok {
		return nil, e
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // it quotes the whole URL
	}
	return nil, &unreachableError{origin(to), !connected.Load(), err}
}

// sameOrigin follows a redirect within the server's own origin, if the
// request stays what it is: the headers of the configuration and what the
// model sends are meant for that origin alone (CONTRACT §8).
func sameOrigin(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case !SameOrigin(req.URL, first.URL):
		return &redirectError{"another origin, " + origin(req.URL) + `; if that is the right one, put it into "url"`}
	case req.Method != first.Method:
		return &redirectError{"a page, as for a browser"}
	case len(via) > maxRedirects:
		return &redirectError{fmt.Sprintf("its own origin more than %d times", maxRedirects)}
	}
	return nil
}

// SameOrigin compares origins (RFC 6454, 5): a port may be left out.
func SameOrigin(a, b *url.URL) bool { return oauth.SameOrigin(a, b) }

// redirectError is a redirect that is not followed.
type redirectError struct{ to string }

func (e *redirectError) Error() string { return "the server redirects to " + e.to }

// unreachableError says that no answer came for want of a connection.
type unreachableError struct {
	origin string
	dial   bool // there was no connection at all
	err    error
}

func (e *unreachableError) Error() string {
	if e.dial {
		return fmt.Sprintf("cannot reach %s: %v", e.origin, e.err)
	}
	return fmt.Sprintf("the connection to %s broke: %v", e.origin, e.err)
}

func (e *unreachableError) Unwrap() error { return e.err }

// statusError is an HTTP answer that is no message of MCP.
type statusError struct {
	status int
	text   string // the start of its body, on one line
}

func (e *statusError) Error() string {
	out := fmt.Sprintf("HTTP %d %s", e.status, http.StatusText(e.status))
	if e.text != "" {
		out += ": " + e.text
	}
	return out
}

// loginError says that the server wants to know who asks.
type loginError struct {
	status int
	text   string         // the start of the body of a 403
	oauth  bool           // a login can be made
	lacks  *oauth.Refusal // of a 403 for want of a scope
}

// loginError words an answer 401 or 403. text is the start of the latter's body.
func (r *address) loginError(resp *http.Response, text string) *loginError {
	e := &loginError{status: resp.StatusCode, text: text, oauth: r.guard != nil}
	if r.guard != nil && resp.StatusCode == http.StatusForbidden {
		if lacks, ok := r.guard.Refused(resp); ok {
			e.lacks = &lacks
		}
	}
	return e
}

func (e *loginError) Error() string {
	switch {
	case e.lacks != nil && e.lacks.Futile:
		return "the server refuses the request (HTTP 403) although the login was asked for all that it wants; another one is of no use: ask who runs the server for the right to this"
	case e.lacks != nil:
		scopes := ""
		if len(e.lacks.Scopes) > 0 {
			scopes = fmt.Sprintf(": it lacks the scope %s", clip(strings.Join(e.lacks.Scopes, " "), 300))
		}
		return "the login does not reach for this (HTTP 403)" + scopes + "; log in once more with agentls.mcp.login"
	case e.status == http.StatusForbidden:
		return fmt.Sprintf(`the server refuses the request (HTTP 403: %s); if it is for want of a login, look at "headers" in its configuration`, e.text)
	case e.oauth:
		return `the server wants a login (HTTP 401); log in with agentls.mcp.login, or give what it asks for in "headers" of its configuration`
	}
	return `the server wants a login (HTTP 401); set what it asks for in "headers" of its configuration, as {"Authorization": "Bearer ${TOKEN}"}`
}

// Is makes it ErrNeedsLogin where a login would mend it.
func (e *loginError) Is(target error) bool {
	return target == ErrNeedsLogin && (e.status == http.StatusUnauthorized || e.lacks != nil && !e.lacks.Futile)
}

func wantsLogin(err error) bool { return errors.Is(err, ErrNeedsLogin) }

// unauthorized reports an answer 401, which the whole connection gets.
func unauthorized(err error) bool {
	e, ok := errors.AsType[*loginError](err)
	return ok && e.status == http.StatusUnauthorized
}

// excerpt reads the start of an answer that is no message, for an error.
func excerpt(body io.Reader) string {
	const most = 300
	start, _ := io.ReadAll(io.LimitReader(body, 4<<10))
	return clip(strings.Join(strings.Fields(strings.ToValidUTF8(string(start), "")), " "), most)
}
