package oauth

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// callback is the path that the browser comes back to.
const callback = "/callback"

// listener is where the browser comes back to (RFC 8252, 7.3): on 127.0.0.1
// alone, for one login. What does not hold the login's state is sent away, and
// the login waits on.
type listener struct {
	redirect string // redirect_uri
	server   *http.Server
	served   sync.WaitGroup

	mu    sync.Mutex
	state string // of the login; empty: it is not known yet

	back  chan url.Values // capacity 1: what came with the state
	told  chan struct{}   // closed when outcome is known
	once  sync.Once
	final string      // what the page says
	taken atomic.Bool // a browser came back
}

//go:embed page.html
var pageHTML string

func listen(port int) (*listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // it does not wait
	if err != nil {
		if port != 0 {
			return nil, fmt.Errorf(`the port %d of this login is in use: end what uses it, or set "redirectPort" in "oauth" of the server (%w)`, port, err)
		}
		return nil, fmt.Errorf("no port can be opened on 127.0.0.1 for the browser to come back to: %w", err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	s := &listener{redirect: fmt.Sprintf("http://127.0.0.1:%d%s", port, callback), back: make(chan url.Values, 1), told: make(chan struct{})}
	s.server = &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), //nolint:forbidigo // http.Server takes no other; nothing is said
	}
	s.served.Go(func() { _ = s.server.Serve(l) }) // ends by close
	return s, nil
}

func (l *listener) expect(state string) {
	l.mu.Lock()
	l.state = state
	l.mu.Unlock()
}

// take takes what came back, by the browser or by hand. False: it is of
// another login.
func (l *listener) take(values url.Values) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == "" || values.Get("state") != l.state {
		return false
	}
	select {
	case l.back <- values:
	default: // a page that is loaded again
	}
	return true
}

func (l *listener) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != callback || r.Method != http.MethodGet:
		http.NotFound(w, r)
	case !l.take(r.URL.Query()):
		page(w, http.StatusBadRequest, "This page belongs to no login that agentls waits for. Start the login again in your editor.")
	default:
		l.taken.Store(true)
		select {
		case <-l.told:
			page(w, http.StatusOK, l.final)
		case <-r.Context().Done():
		}
	}
}

// page answers with a page that loads nothing and tells nobody its address.
func page(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, strings.Replace(pageHTML, "{{text}}", html.EscapeString(text), 1))
}

// tell lets the page say how the login ended.
func (l *listener) tell(text string) {
	l.once.Do(func() {
		l.final = text
		close(l.told)
	})
}

// close ends it, once the page has been answered.
func (l *listener) close() {
	l.tell("The login has ended. You can close this page.")
	if l.taken.Load() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.server.Shutdown(ctx)
	}
	_ = l.server.Close()
	l.served.Wait()
}

// Deliver brings the address that a browser ended on to the login that another
// process on this machine waits for, as a browser here would have. It gives
// what the page says.
func Deliver(ctx context.Context, address string) (text string, err error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || u.Port() == "" || u.Path != callback || u.RawQuery == "" {
		return "", errNoAddress
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", errNoAddress
	}
	direct := &http.Transport{DisableKeepAlives: true} // no proxy: it is this machine
	resp, err := direct.RoundTrip(req)
	if err != nil {
		return "", errors.New("no login waits at that address on this machine; start it again")
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_, after, _ := strings.Cut(string(body), "<p>")
	text, _, found := strings.Cut(after, "</p>")
	switch {
	case !found:
		return "", errors.New("what answers at that address is not agentls; start the login again")
	case resp.StatusCode != http.StatusOK:
		return "", errors.New(html.UnescapeString(text))
	}
	return html.UnescapeString(text), nil
}
