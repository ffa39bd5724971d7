package mcp

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"sync"
)

const (
	maxCookies = 20      // of one server
	maxCookie  = 4 << 10 // bytes of one, as browsers have it
)

// cookies keeps what a server, or the balancer before it, wants to be given
// back: where several servers share an address, a session is known to one of
// them alone. They last as long as the connection, stay in memory, and go back
// to the host that set them and to none beside it, whatever their domain and
// their path say.
type cookies struct {
	mu    sync.Mutex
	jar   *cookiejar.Jar // nil: none yet
	names map[string]bool
}

// forget drops all: a new session may begin anywhere.
func (c *cookies) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jar, c.names = nil, nil
}

// SetCookies keeps those of an answer, as far as there is room.
func (c *cookies) SetCookies(u *url.URL, set []*http.Cookie) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jar == nil {
		c.jar, _ = cookiejar.New(nil) // without options it does not fail
		c.names = map[string]bool{}
	}
	for _, cookie := range set {
		if len(cookie.Name)+len(cookie.Value) > maxCookie || !c.names[cookie.Name] && len(c.names) >= maxCookies {
			continue
		}
		c.names[cookie.Name] = true
		cookie.Domain, cookie.Path = "", "/" // or one name would have room for any number of paths
		c.jar.SetCookies(u, []*http.Cookie{cookie})
	}
}

// Cookies returns those of a request.
func (c *cookies) Cookies(u *url.URL) []*http.Cookie {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jar == nil {
		return nil
	}
	return c.jar.Cookies(u)
}
