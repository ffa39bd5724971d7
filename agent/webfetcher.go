package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/time/rate"
)

// fetcher gets pages. Its zero value reaches nothing.
type fetcher struct {
	base     func() *http.Transport // cloned for its proxies and certificates; nil: none
	agent    string                 // User-Agent
	check    func(netip.Addr) error // refuses an address
	resolver *net.Resolver
	turns    *rate.Limiter
	most     time.Duration // of a call
	once     sync.Once
	direct   http.RoundTripper // dials checked addresses only
	proxied  http.RoundTripper
	proxy    func(*http.Request) (*url.URL, error)
}

func newFetcher(base func() *http.Transport, version string, check func(netip.Addr) error) *fetcher {
	if version == "" {
		version = "dev"
	}
	return &fetcher{
		base: base, agent: "agentls/" + version, check: check, resolver: net.DefaultResolver,
		most:  fetchTimeout,
		turns: rate.NewLimiter(rate.Every(time.Minute/25), 5), // 30 in any minute
	}
}

// connect makes the transports. A connection is never used twice: whoever it
// was checked for, it serves no other call.
func (f *fetcher) connect() {
	base := &http.Transport{}
	if f.base != nil {
		base = f.base()
	}
	f.proxy = base.Proxy
	make := func() *http.Transport {
		t := base.Clone()
		t.DisableKeepAlives, t.MaxResponseHeaderBytes = true, 256<<10
		return t
	}
	f.proxied = make()
	direct := make()
	direct.Proxy = nil
	// Here the name is resolved already: an answer that changes after a check
	// (DNS rebinding) does not pass.
	dialer := &net.Dialer{Timeout: 10 * time.Second, Resolver: f.resolver, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return errNotPublic
		}
		return f.check(at.Addr())
	}}
	direct.DialContext = dialer.DialContext
	f.direct = direct
}

// get gets a page, and follows redirects on its host. Each hop is checked.
func (f *fetcher) get(ctx context.Context, at *url.URL) (page, error) {
	f.once.Do(f.connect)
	for hop := 0; ; hop++ {
		if err := f.turns.Wait(ctx); err != nil {
			if ctx.Err() != nil {
				return page{}, context.Cause(ctx)
			}
			return page{}, errors.New("too many requests: at most 30 a minute are made; wait before the next one")
		}
		resp, err := f.send(ctx, at)
		if err != nil {
			return page{}, err
		}
		to, err := redirect(resp, at)
		if to == nil && err == nil {
			return f.read(resp, at)
		}
		_ = resp.Body.Close()
		switch {
		case err != nil:
			return page{}, err
		case to.Hostname() != at.Hostname():
			return page{url: at, status: resp.Status, elsewhere: to.String()}, nil
		case hop == maxHops:
			return page{}, fmt.Errorf("it redirects more than %d times", maxHops)
		}
		at = to
	}
}

// redirect returns where an answer sends us; nil: nowhere.
func redirect(resp *http.Response, at *url.URL) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil //nolint:nilnil // no redirect is no error
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, nil //nolint:nilnil // likewise: its text is shown
	}
	ref, err := at.Parse(location)
	if err != nil {
		return nil, errors.New("it redirects to what is no URL")
	}
	to, err := fetchURL(ref.String())
	if err != nil {
		return nil, fmt.Errorf("it redirects to what is not fetched: %w", err)
	}
	if at.Scheme == "https" && to.Scheme == "http" {
		return nil, errors.New("it redirects from https to http, which is not followed")
	}
	return to, nil
}

// send asks for one URL.
func (f *fetcher) send(ctx context.Context, at *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, errors.New("the URL cannot be asked for")
	}
	req.Header.Set("User-Agent", f.agent)
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.9, */*;q=0.1")
	via := f.direct
	if addr, err := netip.ParseAddr(at.Hostname()); err == nil {
		if err := f.check(addr); err != nil {
			return nil, err
		}
	}
	if f.proxy != nil {
		proxy, err := f.proxy(req)
		if err != nil {
			return nil, errors.New("the proxy of the environment cannot be used")
		}
		if proxy != nil {
			if err := f.checkName(ctx, at.Hostname()); err != nil {
				return nil, err
			}
			via = f.proxied
		}
	}
	resp, err := via.RoundTrip(req)
	if err != nil {
		return nil, fetchFailure(ctx, err)
	}
	return resp, nil
}

// checkName checks all addresses of a name: behind a proxy nobody sees which
// one is dialled.
func (f *fetcher) checkName(ctx context.Context, host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return f.check(addr)
	}
	addrs, err := f.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return fetchFailure(ctx, err)
	}
	for _, addr := range addrs {
		if err := f.check(addr); err != nil {
			return err
		}
	}
	return nil
}

// fetchFailure words an error of the network, without the URL.
func fetchFailure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errNotPublic):
		return errNotPublic
	}
	if de, ok := errors.AsType[*net.DNSError](err); ok {
		if de.IsNotFound {
			return fmt.Errorf("there is no host %q", oneLine(de.Name, 200))
		}
		return fmt.Errorf("the host %q cannot be found: %s", oneLine(de.Name, 200), oneLine(de.Err, 200))
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return fmt.Errorf("it cannot be reached: %w", err)
}

// read reads the text of an answer.
func (f *fetcher) read(resp *http.Response, at *url.URL) (page, error) {
	defer func() { _ = resp.Body.Close() }() // only read from
	p := page{url: at, status: resp.Status}
	header := resp.Header.Get("Content-Type")
	var err error
	if p.kind, _, err = mime.ParseMediaType(header); err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		header, p.kind = "", ""
	}
	if p.kind != "" && !isTextual(p.kind) {
		return page{}, notText(p.kind, resp.ContentLength)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, fetchMost+1))
	if err != nil {
		return page{}, fmt.Errorf("it broke off after %d bytes: %w", len(body), err)
	}
	if p.long = len(body) > fetchMost; p.long {
		body = body[:fetchMost]
	}
	if p.kind == "" && len(body) > 0 {
		header = http.DetectContentType(body)
		if p.kind, _, _ = mime.ParseMediaType(header); !isTextual(p.kind) {
			return page{}, notText(p.kind, int64(len(body)))
		}
		header = p.kind // the charset is a guess, made better below
	}
	text := decodeText(body, header)
	if strings.ContainsRune(text[:min(len(text), 8000)], 0) {
		return page{}, notText(p.kind+" with NUL bytes", int64(len(body)))
	}
	if p.kind == "text/html" || p.kind == "application/xhtml+xml" {
		p.title, text = htmlText(text, at)
	}
	p.text = text
	if p.kind == "" {
		p.kind = "no content"
	}
	return p, nil
}

func isTextual(kind string) bool {
	switch kind {
	case "application/json", "application/xml", "application/xhtml+xml":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

func notText(kind string, size int64) error {
	if size < 0 {
		return fmt.Errorf("it is no text (%s, of unknown size) and is not fetched", oneLine(kind, 100))
	}
	return fmt.Errorf("it is no text (%s, %d bytes) and is not fetched", oneLine(kind, 100), size)
}

// decodeText returns a body as UTF-8: by its byte order mark, by the header, by
// what HTML says itself.
func decodeText(body []byte, header string) string {
	enc, _, certain := charset.DetermineEncoding(body[:min(len(body), 1024)], header)
	if certain || !utf8.Valid(body) {
		if decoded, err := enc.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(body), "\uFFFD"), "\uFEFF")
}
